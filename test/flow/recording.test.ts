/** What `--record` writes down, and that `cai replay` says it again. */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readRecording, type Side } from '../../src/acp/recording/recording';
import { cai } from '../support/cli';
import { exchange, leave } from '../support/dialogue';
import { startTurn } from '../support/turn';
import { World } from '../support/world';
import { newFolder } from '../support/temp-folder';

const fixtures = resolve(__dirname, '../../fixtures');
const fixture = (path: string): string => join(fixtures, path);

/** A user's home, a workspace with a file, and a tee in front of what an editor starts. */
function desk(): { home: string; workspace: string; tee: string[]; seen: () => string[] } {
  const home = newFolder();
  const [workspace, taps] = [join(home, 'app'), join(home, 'taps')];
  for (const folder of [workspace, taps]) mkdirSync(folder);
  writeFileSync(join(workspace, 'note.txt'), 'on disk in app\n');
  const seen = (): string[] => {
    const text = readFileSync(join(taps, readdirSync(taps).sort().at(-1)!), 'utf8');
    return [...text.matchAll(/^\{"atMs":\d+,"from":"agent","message":(.*)\}$/gm)].map(([, line]) => line!);
  };
  return { home, workspace, tee: [process.execPath, fixture('clients/tap.mjs'), taps], seen };
}

function run(args: readonly string[], home: string, cwd: string): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, args, {
    cwd,
    env: { PATH: process.env.PATH, HOME: home, CAI_ACP_DIRECT_SPAWN: '1' },
    encoding: 'utf8',
  });
}

/** The recorded lines of a side. */
function recorded(file: string, side: Side): string[] {
  const lines = readRecording(readFileSync(file, 'utf8'), file);
  return lines.filter((line) => line.side === side).map(({ bytes }) => bytes.toString('utf8'));
}

describe('a recording', () => {
  let world: World;
  afterEach(() => world.end());

  test('has every line of both sides, by --record, which the agent is not told', async () => {
    const file = join(newFolder(), 'r.ndjson');
    world = await World.initialized({ args: ['--record', file, 'puppet', 'more'] });
    const session = await world.session(world.workspace('own'), 's1');
    const turn = await startTurn(world, session);
    session.agent.say('s1', 'hé\u2028');
    await turn.end();
    await leave(world);

    const lines = (side: Side): string[] => recorded(file, side);
    const received = (inbox: { lines: readonly Buffer[] }): string[] => inbox.lines.map(String);
    expect(session.agent.hello!.argv).toEqual(['more']);
    expect(lines('to editor')).toEqual(received(world.editor));
    expect(lines('to agent')).toEqual(received(session.agent.inbox));
    expect(lines('from editor').map((line) => (JSON.parse(line) as { method: string }).method)).toEqual([
      'initialize',
      'session/new',
      'session/prompt',
    ]);
    expect(lines('from agent').at(-2)).toContain('hé\u2028');
  });

  test('has of a long line that is no message only how it begins', async () => {
    const file = join(newFolder(), 'r.ndjson');
    world = await World.initialized({ args: ['puppet', '--record', file] });
    const agent = await world.agent();

    agent.send(`{${' '.repeat(10_000)}\n`);
    agent.send({ method: '_later', params: {} });
    await world.editor.next('_later');
    await leave(world);

    expect(recorded(file, 'from agent').at(-1)).toContain('_later');
    expect(readFileSync(file, 'utf8')).toContain(`"begins":"{${' '.repeat(4_095)}","bytes":10001}`);
  });

  test('has no secret of either side', async () => {
    const file = join(newFolder(), 'r.ndjson');
    world = await World.initialized({ args: ['puppet', '--record', file] });
    const opening = world.ask('session/new', {
      cwd: world.workspace('own'),
      mcpServers: [{ name: 'm', command: 'm', args: [], env: [{ name: 'A', value: 'hidden-1' }] }],
      _meta: { gateway: { headers: { 'X-Key': 'hidden-2' } } },
    });
    const agent = await world.agent();
    await agent.answer('session/new', { result: { sessionId: 's1', _meta: { access_token: 'hidden-3' } } });
    await world.editor.response(opening);
    const params = { methodId: 'key', _meta: { code: 'hidden-4' } };
    await exchange(world, agent, 'authenticate', params);
    await leave(world);

    expect(agent.inbox.lines.join('')).toContain('hidden-1');
    expect(readFileSync(file, 'utf8')).not.toContain('hidden');
  });
});

describe('a replay', () => {
  const prompt = 'say one two three four five six; read note.txt; permission Do it';

  test('says to the same editor, byte for byte, what a tee saw in the original run', () => {
    const { home, workspace, tee, seen } = desk();
    const file = join(home, 'r.ndjson');
    const editor = (...agent: string[]): SpawnSyncReturns<string> =>
      run(
        [fixture('clients/one-turn.mjs'), workspace, prompt, ...tee, process.execPath, cai, ...agent],
        home,
        workspace,
      );
    writeConfig(home, 'mock', [fixture('mock-acp-server')]);

    const original = editor('--acp', 'mock', '--record', file);
    const said = seen();
    const again = editor('replay', file);

    expect([original.status, again.status, again.stderr]).toEqual([0, 0, '']);
    expect(said.filter((line) => line.includes('agent_message_chunk')).length).toBeGreaterThan(3);
    expect(seen()).toEqual(said);
    expect(recorded(file, 'to editor')).toEqual(said);
    expect(readFileSync(file, 'utf8')).not.toContain('hidden');
  });

  // Recorded by `fixtures/clients/one-turn.mjs` from the real agents; see fixtures/transcripts/README.md.
  test.each(['claude', 'gemini'])(
    'of %s on both sides of the proxy brings the editor what it brought then',
    (agent) => {
      const { home, workspace, tee, seen } = desk();
      const file = join(home, 'r.ndjson');
      const recording = readFileSync(fixture(`transcripts/${agent}-recording.ndjson`), 'utf8');
      writeFileSync(file, recording.replaceAll('/workspace/app', workspace));
      writeConfig(home, agent, [process.execPath, cai, 'replay', file, '--child', '1', '--files']);

      const proxy = [...tee, process.execPath, cai, '--acp', agent];
      const { status, stderr } = run(
        [cai, 'replay', file, '--as', 'editor', '--', ...proxy],
        home,
        workspace,
      );

      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      // The session's id depends on the folder, and what is offered to sign in with on the proxy.
      const live = anonymous(seen()).slice(1);
      expect(live).toEqual(anonymous(recorded(file, 'to editor')).slice(1));
      expect(live.at(-1)).toContain('"stopReason":"end_turn"');
    },
  );
});

/** Lines in which the session that the second of them names has no id. */
function anonymous(lines: readonly string[]): string[] {
  const opened = lines.map((line) => JSON.parse(line) as { result?: { sessionId?: string } });
  const id = opened.find(({ result }) => result?.sessionId !== undefined)!.result!.sessionId!;
  return lines.map((line) => line.replaceAll(id, 'SESSION'));
}

function writeConfig(home: string, name: string, command: readonly string[]): void {
  mkdirSync(join(home, '.config/containai'), { recursive: true });
  const text = `[agents.${name}]\ncommand = ${JSON.stringify(command)}\n`;
  writeFileSync(join(home, '.config/containai/config.toml'), text);
}
