import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  backDoors,
  crowdedFolders,
  importCycles,
  longFiles,
  parse,
  staticImports,
  strayUses,
  undocumented,
  untested,
  upwardImports,
  type Layers,
} from './architecture-rules';

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

/** Source files without a test file of the same name, each with the reason. */
const withoutTest: Readonly<Record<string, string>> = {
  'rpc/json/bytes': 'names',
  'rpc/json': 'a door',
  'acp/index': 'a door',
  'network/index': 'a door',
  'served/client/index': 'a door',
  'served/server/index': 'a door',
  'served/server/door/index': 'a door',
  'rpc/json/brackets': 'test/rpc/json/walk.test.ts',
  'rpc/protocol/fields': 'data; test/rpc/protocol/schema.test.ts compares it with the schemas of ACP',
  'rpc/protocol/methods': 'as rpc/protocol/fields',
  ...Object.fromEntries(
    [
      ...[
        'acp/agent-requests',
        'acp/sessions/call',
        'acp/relay/child-start',
        'acp/relay/children',
        'acp/relay/core',
      ],
      ...['acp/calls/editor-calls', 'acp/calls/end-session', 'acp/calls/fan-out', 'acp/calls/greeting'],
      ...['acp/mcp/mcp-messages', 'acp/sessions/observer', 'acp/sessions/session-update', 'acp/relay/call'],
      ...['acp/calls/open-session', 'acp/proxy', 'acp/calls/restore-session', 'rpc/repeated-requests'],
      'rpc/session-state',
      ...['acp/calls/unremembered-session', 'acp/calls/remembered-sessions', 'acp/calls/session-list'],
      ...['acp/sessions/session-ids', 'acp/calls/session-places', 'acp/sessions/session-settings'],
      ...['acp/shutdown', 'acp/usage/usage-observer'],
    ].map((path) => [path, 'the flow: test/conformance and test/flow play it whole, with real processes']),
  ),
  ...Object.fromEntries(
    ['failures', 'main', 'offers', 'program', 'prompt-text', 'shapes', 'turn'].map((path) => [
      `cursor/${path}`,
      'test/cursor/agent.test.ts plays the adapter whole, as a process',
    ]),
  ),
  'acp/cursor/requests': 'test/flow/cursor-requests.test.ts',
  'commands/acp/connection': 'the flow, as acp/proxy',
  'commands/acp/surroundings': 'the flow, as acp/proxy',
  'commands/acp/common-options': 'test/commands/acp/acp.test.ts, and the flow, as acp/proxy',
  'embed/message': 'types',
  'agent/cai-program': 'test/agent/editor-token.test.ts; test/engine/ runs what it names',
  'served/client/guard': 'test/served/client/bridge.test.ts',
  'container/ssh/ssh-target': 'test/container/ssh/ssh.test.ts',
  'system/builtin': 'a name for a function of Node',
  'system/files/open-file': 'its users: test/workspace/protect/, test/acp/usage/, test/acp/sessions/',
  'config/rows': 'test/config/config.test.ts',
  'container/image/build': 'test/container/image/image.test.ts',
  'container/image/build-lock': 'test/container/image/image.test.ts',
  'container/image/proxy-variables': 'test/container/environment.test.ts',
  'commands/workspace/network-rules': 'test/commands/workspace/network.test.ts',
  'commands/run/way-out': 'test/engine/ runs commands that use it',
  'commands/containers/prune': 'test/engine/prune.test.ts, test/container/image/unused-images.test.ts',
  'commands/support/end-signals': 'names',
  'commands/support/named-root':
    'test/commands/records/sessions.test.ts, and test/engine/ for what works without a workspace',
  'acp/proxy-options': 'types',
  'acp/relay/children-options': 'types',
  'agent/process-event': 'types',
  'served/server/door/visitor': 'types; test/served/server/door/door.test.ts',
  ...Object.fromEntries(
    [
      ...['acp-client', 'agent-link', 'conversation', 'dom', 'main', 'permissions', 'prompt-box', 'server'],
      ...['sessions', 'settings', 'shown/block', 'shown/follow', 'shown/plan-view', 'shown/text-view'],
      ...['shown/tool-view', 'shown/transcript'],
    ].map((path) => [`served/page/${path}`, 'needs a browser: test/browser/']),
  ),
  'commands/serve/qr-code': 'test/commands/serve/link.test.ts',
  'commands/serve/serve': 'test/commands/serve/token.test.ts',
  'served/client/editor-connection': 'test/commands/serve/connect.test.ts',
  'served/client/kept-sessions': 'test/served/client/bridge.test.ts',
  'served/client/link': 'test/served/client/remote.test.ts',
  'commands/setup/editors': 'test/commands/setup/setup.test.ts',
  'commands/setup/settings-file': 'as commands/setup/editors',
  'commands/support/editor-command': 'test/commands/setup/setup.test.ts, test/commands/doctor/doctor.test.ts',
  'served/server/last-words': 'test/served/server/limits.test.ts',
  'served/carried': 'test/served/server/outbox.test.ts, test/served/client/remote.test.ts',
  'served/server/client-stream': 'test/served/server/served-connection.test.ts',
  'served/server/chat/chat-agent': 'test/served/server/chat.test.ts',
  'served/server/chat/chat-bridge': 'test/served/server/chat.test.ts',
  'workspace/records': 'test/workspace/trust.test.ts',
  'served/server/traffic/agent-requests': 'as served/server/traffic/guest',
  'served/server/traffic/guest': 'test/served/server/traffic/traffic.test.ts',
  'served/server/traffic/history': 'as served/server/traffic/guest',
  'served/server/traffic/live-session': 'as served/server/traffic/guest',
  'served/server/traffic/own-sessions': 'as served/server/traffic/guest',
  'served/server/traffic/transitions': 'as served/server/traffic/guest',
  'network/egress/dial': 'test/network/egress/proxy.test.ts',
  'network/requests': 'test/container/registry/registry.test.ts, test/agent/registry/update.test.ts',
  'network/own-proxy': 'test/network/egress/proxy.test.ts, test/container/registry/registry.test.ts',
  'container/registry/authorization': 'test/container/registry/registry.test.ts',
  'network/egress/http-message': 'test/network/egress/proxy.test.ts, test/network/egress/keyed-host.test.ts',
  'network/keys/services': 'test/network/keys/swap.test.ts',
  ...Object.fromEntries(
    ['agent-connection', 'host-key', 'requests', 'wire'].map((path) => [
      `network/ssh-agent/${path}`,
      'test/network/ssh-agent/agent-proxy.test.ts',
    ]),
  ),
  'agent/secret-files': 'test/agent/host-settings.test.ts',
  'agent/settings-catalog': 'data; test/agent/host-settings.test.ts',
  'commands/run/agent-socket': 'needs an engine: test/engine/ssh-agent.test.ts',

  'acp/sessions/call-budget': 'test/acp/sessions/session.test.ts',
  'acp/child/child-data': 'data; test/acp/child/workspace-child.test.ts',
  'acp/child/child-failures': 'test/acp/child/workspace-child.test.ts',
  'agent/agent-end': 'test/agent/process.test.ts, test/acp/child/retry.test.ts',
  'commands/support/command': 'every command; test/commands/registry.test.ts has the usage errors of all',
  'system/paths/look-inside': 'test/workspace/protect/protected-paths.test.ts',
  'workspace/protect/protected-git': 'test/workspace/protect/protected-paths.test.ts',
  ...Object.fromEntries(
    ['difference', 'records'].map((path) => [`container/copy/${path}`, 'test/container/copy/copy.test.ts']),
  ),
  'config/repository/judge': 'test/config/effective-config.test.ts',
  'workspace/devcontainer/build-settings': 'test/workspace/devcontainer/devcontainer.test.ts',
  'workspace/devcontainer/describe': 'test/workspace/devcontainer/devcontainer.test.ts',
  'commands/run/set-up':
    'test/engine/devcontainer.test.ts; what runs when: test/workspace/devcontainer/hooks.test.ts',
  'container/image/devcontainer-image': 'test/engine/devcontainer.test.ts',
  'workspace/devcontainer/cli': 'test/engine/devcontainer.test.ts',
  'commands/run/pull': 'needs a cluster: test/kubernetes/copy.test.ts',
  'container/engine/engine': 'types; test/engine/engine.test.ts has what every engine must do',
  'container/engine/silence': 'test/container/engine/docker/watch.test.ts',
  'container/engine/engine-info': 'test/docs.test.ts',
  'container/engine/container-info': 'types',
  'container/engine/docker/docker-images': 'test/container/engine/docker/docker-engine.test.ts',
  'container/engine/docker/tar': 'test/engine/engine.test.ts',
  ...Object.fromEntries(
    [
      ...['claims', 'kubernetes-engine', 'namespace', 'api/exec', 'pod/labels', 'pod/pod-files'],
      ...['pod/pod-inside', 'pod/pod-mounts', 'pod/pod'],
    ].map((path) => [
      `container/engine/kubernetes/${path}`,
      'test/engine/engine.test.ts on a cluster; what a pod is asked for: pod/pod-body.test.ts',
    ]),
  ),
  'container/engine/kubernetes/api/kubeconfig-file':
    'test/container/engine/kubernetes/api/kubeconfig.test.ts',
  'container/engine/find-engine': 'test/container/engine/docker/context.test.ts',
  'workspace/git': 'test/workspace/root.test.ts, and test/engine/ for the author',
  ...Object.fromEntries(
    [
      ...['commands/run/bridge', 'commands/doctor/container', 'commands/doctor/engine'],
      ...['commands/doctor/machine', 'commands/containers/end-containers', 'commands/run/guard'],
      ...['commands/run/forward', 'commands/run/login', 'commands/run/logout', 'commands/containers/ps'],
      ...['commands/containers/selection', 'commands/run/shell', 'commands/containers/stop'],
      ...['commands/containers/target', 'commands/containers/voice'],
    ].map((path) => [path, 'needs an engine: test/engine/']),
  ),
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
          'agent/process',
          'workspace/devcontainer/cli',
        ],
        ...['system/process-group', 'agent/editor-token', 'agent/cai-program', 'system/process-identity'],
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
        'commands/acp/agent-on-terminal',
        'cursor/program',
        'workspace/git',
        'commands/run/exec',
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
      'served/server/plain-socket',
      'served/server/http/event-stream',
      'served/server/chat/chat-bridge',
    ];
    const ofFiles = ['acp/recording/recorder'];
    expect(
      strayUses(sources, 'write', [
        'rpc/writer',
        'agent/process',
        'rpc/status',
        'commands/',
        'cursor/main',
        'embed/message-stream',
        'main',
        'system/log',
        ...ofCommands,
        ...ofServers,
        ...ofFiles,
      ]),
    ).toEqual([]);
  });

  test('never use the console', () => expect(strayUses(sources, 'console', [])).toEqual([]));

  test('have a test file each, or a reason why not', () => {
    const hasTest = (path: string): boolean => existsSync(join(__dirname, `${path}.test.ts`));

    expect(untested(paths, hasTest, withoutTest)).toEqual([]);
  });
});

describe('the rules', () => {
  const some: Layers = [
    ['errors'],
    ['log'],
    ['rpc/', 'acp/fields'],
    ['acp/methods'],
    ['acp/'],
    ['commands/'],
    ['main'],
  ];

  test('tell an import that goes up, sideways or to no layer, however it is written', () => {
    const tree = parse({
      log: "import type { Proxy } from './acp/proxy';",
      'rpc/message': "import { sessionSetup } from '../acp/fields'; import './line';",
      'rpc/line': "import { readFileSync } from 'node:fs'; import '../errors';",
      'rpc/splice': "import '../acp';",
      'acp/index': "export * from './fields';",
      'acp/fields': "export type Message = import('../rpc/message').Message;",
      'acp/methods': "export * from './fields';",
      'acp/proxy': "import './methods'; const later = () => import('../commands/exec');",
      'commands/exec': "const acp = require('../main');",
      main: "void import('./commands/exec');",
      errors: '',
      'lib/misc': '',
    });

    expect(upwardImports(tree, some)).toEqual([
      'lib/misc is in no layer',
      'log imports acp/proxy, which is not below it',
      'rpc/message imports acp/fields, which is not below it',
      'rpc/splice imports acp/index, which is not below it',
      'acp/fields imports rpc/message, which is not below it',
      'acp/proxy imports commands/exec, which is not below it',
      'commands/exec imports main, which is not below it',
    ]);
  });

  test('let only an entry of its own out of the folder rule', () => {
    const tree = parse({
      'acp/fields': "import './proxy';",
      'acp/proxy': "import './fields'; import './initialize';",
      'acp/initialize': '',
    });

    expect(upwardImports(tree, some)).toEqual(['acp/fields imports acp/proxy, which is not below it']);
  });

  test('tell a folder with too many files of its own', () => {
    expect(crowdedFolders(['a/b', 'a/c', 'a/d/e', 'f'], 1)).toEqual(['a has 2 files']);
  });

  test('tell who goes past a door', () => {
    const tree = parse({
      'rpc/json': "export { walk } from './json/walk';",
      'rpc/json/walk': "import './bytes';",
      'rpc/json/bytes': '',
      'rpc/line': "import './json/bytes';",
      'relay/core': "import '../rpc/json'; import type { Walk } from '../rpc/json/walk';",
    });

    expect(backDoors(tree, { 'rpc/json/': 'rpc/json' })).toEqual([
      'relay/core imports rpc/json/walk, and not rpc/json',
    ]);
  });

  test('tell who goes past the door of a room at the top', () => {
    const tree = parse({
      'acp/index': "export { proxy } from './proxy';",
      'acp/proxy': "import './calls/route';",
      'acp/calls/route': '',
      'commands/acp': "import '../acp'; import '../acp/proxy';",
    });

    expect(backDoors(tree, { 'acp/': 'acp/index' })).toEqual([
      'commands/acp imports acp/proxy, and not acp/index',
    ]);
  });

  test('tell a circle once, also one of types', () => {
    const tree = parse({
      'rpc/a': "import './b';",
      'rpc/b': "import type { C } from './c';",
      'rpc/c': "import { b } from './b'; import './d';",
      'rpc/d': '',
    });

    expect(importCycles(tree)).toEqual(['rpc/b > rpc/c > rpc/b']);
  });

  test('tell a command that main loads at once', () => {
    const tree = parse({
      main: "import './commands/shell'; void import('./commands/exec');",
      'commands/shell': '',
      'commands/exec': '',
    });

    expect(staticImports(tree, 'main', 'commands/')).toEqual([
      'main loads commands/shell before it is wanted',
    ]);
  });

  test('tell a file that is too long', () => {
    const tree = parse({ short: 'a;\n'.repeat(3), long: 'a;\n'.repeat(4) });

    expect(longFiles(tree, 3)).toEqual(['long has 4 lines']);
  });

  test('want a doc comment on what other rooms use, and no names of others but in doors', () => {
    const tree = parse({
      'a/a': `
        export const bare = 1;
        export interface Plain { b: string }
        export function run(): void {}
        export function inRoom(): void {}
        /** Good. */
        export class Thing { field = 1; }
        function own(): void {}
        export { own };
      `,
      'a/beside': `import { inRoom } from './a';`,
      'a/index': `export { run } from './a';`,
      'b/user': `import { bare as other, Thing, type Plain } from '../a/a';`,
    });

    expect(undocumented(tree, ['a/index'])).toEqual([
      'a/a: bare has no doc comment',
      'a/a: Plain has no doc comment',
      'a/a: run has no doc comment',
      'a/a: exports something that is declared elsewhere',
    ]);
  });

  test.each([
    ['process', 'const home = process.env.HOME;'],
    ['process', "process['exit'](1);"],
    ['process', "import { env } from 'node:process';"],
    ['process.env', 'const { HOME } = process.env;'],
    ['process.env', 'const { stdout, env: variables } = process;'],
    ['console', 'console.log(1);'],
    ['child_process', "import { spawn } from 'child_process';"],
    ['child_process', "import type { ChildProcess } from 'node:child_process';"],
    ['child_process', "const { spawn } = require('node:child_process');"],
    ['write', 'stream.write(line);'],
    ['write', 'this.#child.stdin?.write(line);'],
  ] as const)('tell a use of %s in: %s', (use, text) => {
    const tree = parse({ 'a/here': `\n${text}`, 'a/there': text, 'b/all': text });

    expect(strayUses(tree, use, ['a/there', 'b/'])).toEqual([`a/here:2 uses ${use}`]);
  });

  test('leave alone what only has the name', () => {
    const tree = parse({
      a: 'this.process.kill(); options.console.open(); writer.writeLine(1); const write = 1;',
    });

    expect((['process', 'console', 'write'] as const).flatMap((use) => strayUses(tree, use, []))).toEqual([]);
  });

  test('tell a source without a test, and an exclusion that nothing needs', () => {
    const hasTest = (path: string): boolean => path === 'a';

    expect(untested(['a', 'b', 'c'], hasTest, { a: 'tested', c: 'data', d: 'gone' })).toEqual([
      'b has no test file',
      'a is excluded for nothing',
      'd is excluded for nothing',
    ]);
  });
});
