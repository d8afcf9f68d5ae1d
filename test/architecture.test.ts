import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  backDoors,
  crowdedFolders,
  importCycles,
  longFiles,
  parse,
  slowExpressions,
  staticImports,
  strayUses,
  undocumented,
  upwardImports,
  walkFaults,
  type Layers,
} from './architecture-rules';
import { walks } from './architecture-walks';

/** From the lowest to the highest. An import goes to a lower layer or stays in its own folder. */
const layers: Layers = [
  ['errors'],
  ['system/'],
  ['rpc/', 'workspace/'],
  ['config/'],
  ['network/'],
  ['agent/', 'cursor/'],
  ['acp/', 'container/', 'served/'],
  ['commands/'],
  ['embed/', 'main'],
];

/** Rooms, also inside rooms, with what others may import of them. */
const doors = {
  'acp/': 'acp/index',
  'network/': 'network/index',
  'served/client/': 'served/client/index',
  'served/server/': 'served/server/index',
  'served/server/door/': 'served/server/door/index',
  'rpc/json/': 'rpc/json',
  'rpc/webassembly/': 'rpc/webassembly/repeated-lines',
  'container/engine/docker/': 'container/engine/docker/docker-engine',
  'container/engine/kubernetes/': 'container/engine/kubernetes/kubernetes-engine',
  'container/registry/': 'container/registry/registry',
  'container/copy/': 'container/copy/copy',
};

const sourceFolder = join(__dirname, '../src');
const paths = readdirSync(sourceFolder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => name.replace(/\.ts$/, ''));
const sources = parse(
  Object.fromEntries(paths.map((path) => [path, readFileSync(join(sourceFolder, `${path}.ts`), 'utf8')])),
);

describe('the sources', () => {
  test('import downwards only', () => expect(upwardImports(sources, layers)).toEqual([]));

  test('do not import each other in circles, not even for types', () => {
    expect(importCycles(sources)).toEqual([]);
  });

  test('load a command only when it is wanted', () => {
    expect(staticImports(sources, 'main', 'commands/')).toEqual([]);
  });

  test('go into a room inside a room through its door', () => expect(backDoors(sources, doors)).toEqual([]));

  // Agents, repositories and strangers write much of what is matched.
  test('match texts in a time that grows with their length alone', () => {
    expect(slowExpressions(sources)).toEqual([]);
    const slow = ['/^\\s*x/m', '/x+$/', '/^\\d+(\\.\\d+)*[\\w.]*$/'];
    expect(slowExpressions(parse({ a: slow.join(';\n') }))).toHaveLength(slow.length);
  });

  test('have at most 300 lines a file', () => expect(longFiles(sources, 300)).toEqual([]));

  test('are at most 14 in a folder', () => expect(crowdedFolders(paths, 14)).toEqual([]));

  test('document what other rooms use', () => {
    expect(undocumented(sources, [...Object.values(doors), 'embed/index'])).toEqual([]);
  });

  test('read and change the process only where it is composed', () => {
    expect(
      strayUses(sources, 'process', [
        ...[
          'main',
          'embed/connect',
          'cursor/main',
          'system/host',
          'system/builtin',
          'commands/',
          'system/log',
          'workspace/devcontainer/cli',
        ],
        ...['system/process-group', 'agent/editor-token', 'agent/cai-program', 'system/process-identity'],
        'system/streams/printed',
      ]),
    ).toEqual([]);
  });

  test('look at the environment in one place', () => {
    expect(strayUses(sources, 'process.env', ['main', 'cursor/main', 'embed/connect'])).toEqual([]);
  });

  test('start programs in named places', () => {
    expect(
      strayUses(sources, 'child_process', [
        'agent/process',
        'agent/process-end',
        'agent/agent-streams',
        'commands/acp/agent-on-terminal',
        'commands/try/client',
        'cursor/program',
        'workspace/git',
        'commands/run/exec',
        'commands/run/login',
        'commands/support/update-notice',
        'system/program-output',
        'network/keys/keyring',
        'workspace/devcontainer/cli',
        'container/engine/docker/elsewhere/ssh-agent',
      ]),
    ).toEqual([]);
  });

  test('write to streams only through the writer, to agents, to the log, and for commands', () => {
    const ofCommands = [
      'container/image/progress',
      'container/engine/docker/elsewhere/ssh-agent',
      'container/engine/docker/exec-stream',
      'container/ssh/relay',
      'container/ssh/remote-process',
      'network/egress/ask',
      'network/egress/http-message',
      'network/egress/keyed-host',
      'network/egress/proxy',
      'network/ssh-agent/agent-connection',
      'network/ssh-agent/agent-proxy',
    ];
    const ofServers = [
      'served/client/socket/lines',
      'served/server/plain-socket',
      'served/server/http/event-stream',
      'served/server/chat/chat-bridge',
    ];
    const ofFiles = ['acp/recording/recorder', 'workspace/worktrees/copied'];
    expect(
      strayUses(sources, 'write', [
        'system/streams/turn-writer',
        'system/streams/printed',
        'rpc/status',
        'commands/',
        'cursor/main',
        'embed/web-streams',
        'main',
        'system/log',
        ...ofCommands,
        ...ofServers,
        ...ofFiles,
      ]),
    ).toEqual([]);
  });

  test('never use the console', () => expect(strayUses(sources, 'console', [])).toEqual([]));
});

describe('a reader who follows', () => {
  test.each(Object.entries(walks))(
    '%s opens these files, each from one before it, and no more',
    (_, walk) => {
      expect(walkFaults(sources, walk)).toEqual([]);
    },
  );
});

test('each rule finds a breach', () => {
  const tree = parse({
    low: "import './high/a'; const { HOME } = process.env;",
    'high/index': "export { a } from './a';",
    'high/a': "import { own } from '../low';\n\nexport function a() {}",
    'commands/x': "import { a } from '../high/a';\nconsole.log(1);",
    main: "import './commands/x';",
  });

  expect(upwardImports(tree, [['low'], ['high/'], ['commands/'], ['main']])).toEqual([
    'low imports high/a, which is not below it',
  ]);
  expect(importCycles(tree)).toHaveLength(1);
  expect(staticImports(tree, 'main', 'commands/')).toHaveLength(1);
  expect(backDoors(tree, { 'high/': 'high/index' })).toHaveLength(2);
  expect(longFiles(tree, 2)).toEqual(['high/a has 3 lines']);
  expect(crowdedFolders(['a/b', 'a/c', 'f'], 1)).toEqual(['a has 2 files']);
  expect(undocumented(tree, [])).toContain('high/a: a has no doc comment');
  expect(strayUses(tree, 'console', [])).toEqual(['commands/x:2 uses console']);
  expect(strayUses(tree, 'process.env', ['low'])).toEqual([]);
});

test('a walk with a gap, with files left out or set aside for nothing, or that is too long, is told', () => {
  const tree = parse({
    a: "import { b } from './b'; import { e } from './e'; import type { F } from './f';",
    b: "import { c } from './c/c';",
    'c/c': '',
    d: '',
    e: '',
    f: '',
  });
  const walk = {
    files: ['a', 'b', 'd', 'gone'],
    aside: { 'c/': 'small', d: 'rare' },
    most: { files: 3, lines: 2 },
  };

  expect(walkFaults(tree, walk)).toEqual([
    'gone does not exist',
    'nothing leads to d',
    'nothing leads to gone',
    'e, which a imports, is left out without a reason',
    'd is set aside for nothing',
    '4 files',
    '3 lines',
  ]);
});
