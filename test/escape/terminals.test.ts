/** Attacks by terminals: what the editor runs for an agent, and what an agent has the user's terminal show. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Place } from '../engine/place';
import { Cai, folder, newWorkspace, ownFile, ownFolder } from '../engine/support';
import { TerminalHost, ways, type Created } from '../engine/terminal-host';
import type { Json } from '../support/inbox';
import { attempt, reachedIf } from './attempt';
import { Canary } from './canary';
import { agent, hostileConfig, Scene, sceneFor } from './hostile-agent';

const scene = sceneFor();
let host: TerminalHost;
const canary = new Canary(scene.cai);

beforeAll(() => {
  // The editor that gives most to an attacker: it joins words without quotes into a line for a shell.
  host = new TerminalHost(
    scene.cai,
    scene.editor,
    ways['joined without quotes, in a terminal that it cannot read']!,
  );
});

/** The agent creates a terminal, waits for its end, and releases it; what the editor was told to create. */
async function run(params: Json): Promise<Created | undefined> {
  const before = host.all.length;
  const { result } = await scene.ask('terminal/create', params);
  const terminal = host.all[before];
  if (result == null || terminal === undefined) return undefined;
  await scene.ask('terminal/wait_for_exit', { terminalId: result.terminalId });
  await scene.ask('terminal/release', { terminalId: result.terminalId });
  return terminal.created;
}

describe('an agent that has the editor run commands', () => {
  attempt('an agent that writes a command for a shell has it run on the host', async () => {
    await run({ command: canary.sh });
    await run({
      command: 'true',
      args: [';', canary.sh, `$(${canary.sh})`, `\`${canary.sh}\``, `\n${canary.sh}`],
    });
    await run({ command: `true; ${canary.sh} #`, args: ['x'] });
    return canary.sung;
  });

  attempt('an agent that sets variables has its program loaded on the host', async () => {
    const load = join(scene.workspace, 'load.cjs');
    ownFile(load, `require('fs').writeFileSync('${canary.path}', '')`);
    const variables = { NODE_OPTIONS: `--require=${load}`, LD_PRELOAD: load, PATH: scene.workspace, BASH_ENV: load, DOCKER_HOST: 'tcp://evil:1', HOME: scene.workspace, XDG_CONFIG_HOME: scene.workspace, CAI_ACP_DIRECT_SPAWN: '1' }; // prettier-ignore
    const env = Object.entries(variables).map(([name, value]) => ({ name, value }));
    const created = await run({ command: 'true', args: [], env });
    return canary.sung ?? reachedIf((created?.env ?? []).length > 0, JSON.stringify(created));
  });

  attempt('an agent that names a folder has the editor start a program there', async () => {
    const evil = `${scene.workspace}/$(${canary.sh})`;
    const folders: string[] = [];
    for (const cwd of ['/', scene.cai.home, `${scene.workspace}/../..`, evil])
      folders.push((await run({ command: 'true', cwd }))?.cwd ?? scene.workspace);
    const outside = folders.filter((each) => each !== scene.workspace);
    return canary.sung ?? reachedIf(outside.length > 0, outside.join(', '));
  });

  attempt('an agent that says more than the protocol knows has something else run', async () => {
    const more = { shell: true, program: 'sh', executable: 'sh', cmd: canary.sh, argv: ['sh', '-c', canary.sh], _meta: { command: canary.sh } }; // prettier-ignore
    const created = await run({ command: 'true', args: [], ...more });
    const isOurs =
      created === undefined || (created.command === process.execPath && created.args[1] === 'terminal');
    return canary.sung ?? reachedIf(!isOurs, JSON.stringify(created));
  });

  attempt('a token runs a command a second time', async () => {
    const created = await run({ command: 'true', args: [] });
    const token = created?.args[2];
    if (token === undefined) throw new Error('the editor was asked for no terminal');
    const { status, stdout, stderr } = await scene.cai.run(['terminal', token]);
    return reachedIf(status === 0, `${stdout.toString()}${stderr}`);
  });

  attempt('a word that is no token has a command of the host’s run', async () => {
    const words = ['../../../x', '--require=x', '-e', '', '0'.repeat(32), `$(${canary.sh})`, '..%2f', 'a\0b'.replace('\0', '%00')]; // prettier-ignore
    for (const word of words) {
      const { status } = await scene.cai.run(['terminal', word]);
      if (status === 0) return `"${word}" ran something`;
    }
    return canary.sung;
  });

  attempt('an agent reads, kills or releases the terminal of another agent', async () => {
    const victim = await scene.another();
    const { result } = await victim.ask('terminal/create', { command: 'echo SECRET; sleep 100' });
    const terminalId = result?.terminalId;
    if (terminalId === undefined) throw new Error('the victim has no terminal');
    const asked = host.asked.length;
    const steps = ['output', 'kill', 'release', 'wait_for_exit'].flatMap((name) =>
      [scene.session, victim.session].map((sessionId) => ({
        ask: `terminal/${name}`,
        params: { terminalId, sessionId },
      })),
    );
    const outcomes = await scene.take(...steps);
    const reached = outcomes.filter(({ error }) => error === undefined);
    const told = host.asked.slice(asked);
    await victim.ask('terminal/release', { terminalId });
    return reachedIf(reached.length + told.length > 0, JSON.stringify([reached, told]));
  });

  attempt('an agent fills the editor with terminals', async () => {
    const greedy = await Scene.open({ cai: scene.cai });
    let count = 0;
    greedy.editor.serve('terminal/create', () => ({ terminalId: `greedy ${++count}` }));
    const create = { ask: 'terminal/create', params: { command: 'true' } };
    await greedy.take(...Array.from({ length: 80 }, () => create));
    await greedy.close();
    return reachedIf(count > 64, `${count} terminals at once`);
  });
});

describe('an agent and the terminal of the user', () => {
  /** Begins a control sequence for a terminal, or hides text in it. */
  // eslint-disable-next-line no-control-regex
  const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
  const paint = '\u001b]0;EVIL\u0007\u001b[2J\u009b31m\r\u202eEVIL';

  /** What a command of ours shows of the agent’s words with a control character. */
  async function shown(cai: Cai, args: readonly string[], cwd = cai.home): Promise<string | undefined> {
    const { stdout, stderr } = await cai.run(args, { cwd });
    const lines = `${stdout.toString()}\n${stderr}`.split('\n').filter((line) => controls.test(line));
    return reachedIf(lines.length > 0, `cai ${args.join(' ')}: ${JSON.stringify(lines)}`);
  }

  attempt('an agent paints the user’s terminal by the title of a session', async () => {
    const update = { sessionUpdate: 'session_info_update', title: `EVIL${paint}` };
    await scene.take({ tell: 'session/update', params: { update } });
    const { stdout } = await scene.cai.run(['sessions']);
    if (!stdout.includes('EVIL')) throw new Error(`no title is shown: ${stdout.toString()}`);
    return await shown(scene.cai, ['sessions']);
  });

  attempt('an agent paints the user’s terminal by how it fails', async () => {
    const script = `process.stderr.write(${JSON.stringify(`EVIL${paint}\n`)}); process.exit(3)`;
    const cai = new Cai(`[agents.${agent}]\ncommand = ["node", "-e", ${JSON.stringify(script)}]\n[restart]\nattempts = 1\n`); // prettier-ignore
    const cwd = newWorkspace();
    const lines = ['initialize', 'session/new'].map((method, id) =>
      JSON.stringify({ jsonrpc: '2.0', id, method, params: { protocolVersion: 1, cwd, mcpServers: [] } }),
    );
    const editor = cai.start(['--acp', agent], { cwd, env: { CAI_LOG_LEVEL: 'info' } });
    editor.child.stdin.write(`${lines.join('\n')}\n`);
    await editor.says('"id":1,');
    editor.child.stdin.end();
    const { stdout, stderr } = await editor.ends();
    if (!stdout.includes('EVIL')) throw new Error(`the failure is not told: ${stdout.toString()}`);
    const logs = await shown(cai, ['logs']);
    const doctor = await shown(cai, ['doctor'], cwd);
    return logs ?? doctor ?? reachedIf(controls.test(stderr), stderr);
  });

  attempt('an agent paints the user’s terminal by what it claims to be', async () => {
    const agentInfo = { name: `EVIL${paint}`, title: paint, version: paint };
    const cai = new Cai(hostileConfig({ initialize: { agentInfo } }));
    const painter = await Scene.open({ cai });
    await painter.close();
    for (const args of [['doctor', '-w', painter.workspace], ['ps'], ['usage'], ['sessions'], ['logs']]) {
      const reached = await shown(cai, args);
      if (reached !== undefined) return reached;
    }
    return undefined;
  });

  attempt('a repository paints the user’s terminal by the name of a folder', async () => {
    const cwd = join(folder, `odd${paint.replaceAll('/', '')}`);
    ownFolder(cwd);
    mkdirSync(join(cwd, '.git'));
    const cai = new Cai();
    for (const args of [
      ['exec', 'true'],
      ['doctor'],
      ['config'],
      ['trust'],
      ['ps'],
      ['stop'],
      ['rm', '--force'],
      ['exec', '-w', `${cwd}/none`, 'true'],
    ]) {
      // prettier-ignore
      const reached = await shown(cai, args, cwd);
      if (reached !== undefined) return reached;
    }
    return undefined;
  });

  attempt('a command types into the terminal that cai was started in', async () => {
    const place = new Place(scene.cai, scene.workspace);
    const type = `import fcntl, termios
for each in "echo EVIL\\n":
    try: fcntl.ioctl(0, termios.TIOCSTI, each)
    except OSError: pass
print("typed")`;
    ownFile(join(scene.workspace, 'type.py'), type);
    const words = [
      process.execPath,
      join(folder, 'package/bin/cai'),
      ...place.args(['python3', 'type.py'], ['-t']),
    ];
    const line = `${words.map((word) => `'${word}'`).join(' ')}; read -t 1 typed; echo "got:$typed"`;
    const terminal = scene.cai.startProgram('script', ['-qec', `bash -c "${line.replaceAll('"', '\\"').replaceAll('$', '\\$')}"`, '/dev/null']); // prettier-ignore
    await terminal.says('typed');
    await terminal.says('got:');
    terminal.child.kill('SIGKILL');
    const said = terminal.stdout.toString();
    return reachedIf(/got:.*EVIL/.test(said), said);
  });
});
