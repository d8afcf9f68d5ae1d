import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalog } from '../../../src/agent/catalog';
import { commands } from '../../../src/commands/commands';
import { keepDecision } from '../../../src/network/egress/decisions';
import { NetworkLog } from '../../../src/network/egress/network-log';
import { Host } from '../../../src/system/host';
import { record } from '../../../src/workspace/records';
import { fakeEngine } from '../../container/fake-engine';
import { cai, userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { newFolder } from '../../support/temp-folder';

const user = userWith('[agents.mine]\ncommand = ["mine"]\n');

/** What is offered behind `cai` and these words, the last of which is being typed. */
async function offered(words: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const { stdout, stderr } = await runHere(['complete', '--', ...words], {
    ...user,
    env: { ...user.env, ...env },
  });
  expect(stderr).toBe('');
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t')[0]!);
}

test('every command and agent is offered, once and with its help', async () => {
  const { stdout } = await runHere(['complete', '--', ''], user);

  const names = new Set([...Object.keys(commands), ...Object.keys(catalog), '--acp', 'acp']);
  expect((await offered([''])).sort()).toEqual([...names, '--help', '--version'].sort());
  expect(stdout).toContain('\nexec\trun a command\n');
});

test.each<[string[], string[]]>([
  [['exe'], ['exec']],
  [
    ['exec', '--w'],
    ['--workspace', '--writable'],
  ],
  [
    ['exec', '--workspace', '/tmp', '--quiet', '--w'],
    ['--workspace', '--writable'],
  ],
  [['exec', '--', '--w'], []],
  [['exec', 'ls', '--w'], []],
  [['exec', '--workspace', ''], []],
  [['exec', '--agent', 'm'], ['mine']],
  [
    ['exec', '-a', 'c'],
    ['claude', 'codex', 'copilot', 'cursor'],
  ],
  [
    ['--acp', 'mi'],
    ['mine', 'mistral-vibe'],
  ],
  [['--acp', 'claude-'], []],
  [['--acp', 'mine', ''], []],
  [['login', 'q'], ['qwen']],
  [['config', 'get', 'network.e'], ['network.egress']],
  [['config', 'set', 'agents'], []],
  [
    ['serve', ''],
    ['link', 'token'],
  ],
  [
    ['network', ''],
    ['list', 'allow', 'deny', 'forget', 'log'],
  ],
  [['network', 'allow', ''], []],
  [['image', 'add', 'go', 'r'], ['rust']],
  [['usage', '--by', 'a'], ['agent']],
  [['usage', '--since', '--by'], []],
  [['setup', 'z'], ['zed']],
  [['nope', ''], []],
  [['terminal', ''], []],
  [[], [...'--acp acp'.split(' ')]],
])('behind cai %j: %j', async (words, offers) => {
  const all = await offered(words);

  expect(words.length === 0 ? all.slice(0, 2) : all).toEqual(offers);
});

describe('what is recorded', () => {
  const own = userWith('');
  const { state } = new Host(own.env!).folders;
  const root = realpathSync(newFolder());
  record(state, 'roots', root, root);
  record(state, 'roots', `${root}/gone`, `${root}/gone`);
  const log = new NetworkLog(state, root, 'claude');
  log.note('early.example:443', 'refused', '');
  log.note('old.example:443', 'refused', '');
  log.note('new.example:443', 'refused', '');
  log.note('early.example:443', 'allowed', '');
  log.note('x\ty:1', 'refused', '');
  keepDecision(state, root, 'allow', '*.a.example');
  keepDecision(state, root, 'deny', 'b.example');

  test.each<[string[], string[]]>([
    [['exec', '--workspace', ''], [root]],
    [['sessions', '-w', '/nope'], []],
    [
      ['network', 'allow', ''],
      ['new.example:443', 'old.example:443'],
    ],
    [['network', 'allow', '--workspace', root, 'ol'], ['old.example:443']],
    [['network', 'allow', '--no-workspace', ''], []],
    [
      ['network', 'forget', ''],
      ['*.a.example', 'b.example'],
    ],
    [['network', 'forget', '*.a.example', 'b'], ['b.example']],
    [['network', 'deny', ''], []],
  ])('is offered behind cai %j: %j', async (words, offers) => {
    const { stdout } = await runHere(['complete', '--', ...words], { env: own.env!, cwd: root });

    expect(stdout.split('\n').map((line) => line.split('\t')[0])).toEqual([...offers, '']);
  });
});

test('containers are offered, with their workspaces', async () => {
  const labels = {
    'containai.managed': 'true',
    'containai.user': String(process.getuid!()),
    'containai.workspace': '/src/a\u001b[2J',
    'containai.agent': 'mine',
  };
  const container = { Id: '1', Names: ['/cai-a-1'], Labels: labels, State: 'running', Created: 0 };
  const { address } = await fakeEngine({
    'GET /_ping': { headers: { 'Api-Version': '1.41' } },
    'GET /containers/json': { body: [container] },
  });

  const { stdout } = await runHere(['complete', '--', 'stop', 'cai-'], {
    ...user,
    env: { ...user.env, DOCKER_HOST: address.endpoint },
  });

  expect(stdout).toMatch(/^cai-a-1\t\/src\/a/);
  expect(stdout).not.toContain('\u001b');
});

test.each(['stop', 'rm'])('nothing is offered, or said, without an engine: cai %s', async (command) => {
  expect(await offered([command, ''], { DOCKER_HOST: 'unix:///no/such/engine.sock' })).toEqual([]);
});

test('a shell that has no script is refused', async () => {
  expect(await runHere(['completion', 'tcsh'], user)).toEqual({
    status: 2,
    stdout: '',
    stderr: 'cai: "tcsh" is not one of bash, zsh, fish\n',
  });
});

describe.each([
  ['bash', 'bash --norc --noprofile -i', 'source <(cai completion bash)'],
  ['zsh', 'zsh -f -i', 'source <(cai completion zsh)'],
  // As a package installs it.
  [
    'zsh',
    'zsh -f -i',
    'mkdir f; cai completion zsh >f/_cai; fpath=($PWD/f $fpath); autoload -Uz compinit; compinit -u -D',
  ],
  ['fish', 'fish --no-config -i', 'cai completion fish | source'],
])('%s by %s, %s', (shell, start, load) => {
  const programs = newFolder();
  symlinkSync(cai, join(programs, 'cai'));
  const isMissing = spawnSync(shell, ['--version']).error !== undefined;
  if (isMissing) process.stderr.write(`completion is not tried in ${shell}, which is not installed\n`);
  const inShell = isMissing ? test.skip : test;

  /** What the terminal shows when somebody types this; `\t` is the key TAB. */
  async function typed(keys: string): Promise<string> {
    const cwd = newFolder();
    writeFileSync(join(cwd, 'recorded'), '');
    mkdirSync(join(cwd, 'other'));
    const env = {
      ...user.env,
      PATH: `${programs}:${process.env.PATH}`,
      TERM: 'dumb',
      CAI_NO_UPDATE_CHECK: '1',
    };
    const terminal = spawn('script', ['-qec', start, '/dev/null'], { cwd, env });
    let shown = '';
    terminal.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
    terminal.stdin.end(`${load}\n${keys}\nexit\n`);
    await once(terminal, 'close');
    return shown;
  }

  inShell(
    'completes commands and arguments, files where nothing else is known, and a workspace with quotes',
    async () => {
      const root = join(realpathSync(newFolder()), 'my shop');
      mkdirSync(root);
      record(new Host(user.env!).folders.state, 'roots', root, root);
      const lines = [
        `cai comple\t${shell.slice(0, 2)}\t`,
        'cai replay rec\t',
        `cai network -w ${root.slice(0, -' shop'.length)}\t`,
      ];

      const shown = await typed(lines.join('\n'));

      // The command that was completed prints the script.
      expect(shown).toMatch(/^complete -o default|^#compdef cai|^function __cai/m);
      expect(shown).toContain('cai: recorded');
      expect(shown).toContain(`decides, in "${root}", agent claude`);
    },
  );
});
