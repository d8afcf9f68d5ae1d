/** What hangs or breaks off under an agent: it costs one error at most, and the next prompt works. */
import { readFileSync } from 'node:fs';
import { hastened } from '../support/hastened';
import type { Json } from '../support/inbox';
import { Editor } from './editor';
import { freezingEngine, type FreezingEngine } from './engine-proxy';
import { childrenOf, containerOf, measured, processesIn, untilEnded, untilOnly, untilRuns, type InnerProcess } from './inside'; // prettier-ignore
import { modelConfig, modelEnv, provideImages, startModel } from './model';
import { buildTimeoutMs, Place } from './place';
import { Cai, docker, newWorkspace } from './support';

/** From the fault to the error, in milliseconds. */
const inTimeMs = 30_000;
const tool = '[[shell setsid sleep 620 & sleep 621]]';
const endTurn = { result: { stopReason: 'end_turn' } };
const agentProgram = 'node /usr/local/lib/cai/agent/bin/claude-agent-acp';

beforeAll(() => provideImages('claude'), buildTimeoutMs);

describe('claude, in its container', () => {
  const cai = new Cai(modelConfig);
  const workspace = newWorkspace();
  let container: string;
  /** What runs besides the agent. */
  let before: InnerProcess[];
  let editor: Editor;
  let session: string;

  beforeAll(async () => {
    await startModel(cai, workspace, 'claude');
    container = await containerOf(workspace, 'claude');
    before = await processesIn(container);
  });

  afterEach(async () => {
    editor.proxy.child.stdin.end();
    await editor.proxy.ends();
    await untilOnly(container, before, inTimeMs);
  });

  /** Opens a session that has had a turn. */
  async function open(env: NodeJS.ProcessEnv = {}): Promise<void> {
    editor = await Editor.open(cai, 'claude', { cwd: workspace, env: { ...modelEnv, ...env } });
    session = await editor.newSession(workspace);
    expect(await editor.prompt(session, 'begin')).toMatchObject(endTurn);
  }

  /** A turn in which a tool runs. */
  async function startTool(): Promise<Promise<Json>[]> {
    const answer = editor.prompt(session, tool);
    await untilRuns(container, 'sleep 621');
    return [answer];
  }

  function parentOf(pid: number): number {
    return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
  }

  async function agentPid(): Promise<number> {
    const found = (await processesIn(container)).find(({ command }) => command === agentProgram);
    if (found === undefined) throw new Error(`${agentProgram} does not run`);
    return found.pid;
  }

  async function expectStopped(answer: Promise<Json>, what: string, message: RegExp): Promise<void> {
    const { result, tookMs } = await measured(what, () => answer);
    expect(result).toMatchObject({
      error: { code: -32603, message: expect.stringMatching(message) as string },
    });
    expect(tookMs).toBeLessThan(inTimeMs);
    expect(await editor.prompt(session, 'go on')).toMatchObject(endTurn);
    expect(editor.said(session)).toContain('Echo: go on');
    expect(editor.messages.filter(({ error }) => error !== undefined)).toHaveLength(1);
  }

  test('is stopped while nothing is asked of it, and given up: the next prompt works', async () => {
    await open();
    const pid = await agentPid();

    process.kill(pid, 'SIGSTOP');
    await editor.proxy.complains('agent given up', inTimeMs);

    expect(await editor.prompt(session, 'go on')).toMatchObject(endTurn);
    expect(editor.messages.filter(({ error }) => error !== undefined)).toEqual([]);
  });

  test.each(['in a turn', 'while nothing is asked'])(
    'its cai exec is stopped %s: one error in time',
    async (when) => {
      await open({ ...hastened, CAI_HASTEN_ONLY: '--acp' });
      const answers = when === 'in a turn' ? await startTool() : [];
      const [exec] = childrenOf(editor.proxy.pid);

      process.kill(exec!, 'SIGSTOP');

      // A prompt that is short is answered past it.
      const answer = answers[0] ?? editor.prompt(session, tool);
      const message = new RegExp(`cai exec, process ${exec}\\) does not answer.*next prompt`);
      await expectStopped(answer, `cai exec stopped ${when}, 10 times as fast`, message);
    },
  );

  test('loses its SSH session: the next prompt works, and there is no error at all', async () => {
    await open();
    const sshd = parentOf(parentOf(await agentPid()));

    process.kill(sshd, 'SIGKILL');
    // The end of the session ends it: by then the connection is closed.
    await untilEnded(container, agentProgram);

    expect(await editor.prompt(session, 'go on')).toMatchObject(endTurn);
    expect(editor.said(session)).toContain('Echo: go on');
    expect(editor.messages.filter(({ error }) => error !== undefined)).toEqual([]);
  });
});

describe('an engine that freezes while it makes a container', () => {
  let engine: FreezingEngine;
  beforeEach(async () => {
    engine = await freezingEngine();
    engine.freezeAt(/^POST \/containers\/create/);
  });

  test('is told of by cai exec, with status 11, and what it has half made is no hindrance', async () => {
    const place = new Place();
    const env = { DOCKER_HOST: engine.address };

    const { result, tookMs } = await measured('cai exec, engine frozen, 10 times as fast', () =>
      place.run(['true'], { env: { ...env, ...hastened } }),
    );

    expect(result).toMatchObject({
      status: 11,
      stderr: expect.stringMatching(
        /^cai: the engine at .* was to create the container .* does not answer/,
      ) as string,
    });
    expect(tookMs).toBeLessThan(inTimeMs);
    const half = await place.containers();
    expect(await docker('inspect', '--format', '{{.State.Status}}', ...half)).toBe('created');
    engine.thaw();
    expect(await place.prints(['echo', 'again'], { env })).toBe('again');
    expect(await place.containers()).not.toEqual(half);
  });

  test('fails session/new in time, once, and the next one works', async () => {
    const workspace = newWorkspace();
    const env = { ...modelEnv, ...hastened, DOCKER_HOST: engine.address };
    const editor = Editor.start(new Cai(`${modelConfig}[acp]\nstart_timeout = "20m"\n`), 'claude', {
      cwd: workspace,
      env,
    });
    const params = { cwd: workspace, mcpServers: [] };
    await editor.initialize();

    const { result, tookMs } = await measured('session/new, engine frozen, 10 times as fast', () =>
      editor.request('session/new', params),
    );

    const message = expect.stringMatching(/agent "claude": the engine at .* does not answer/) as string;
    expect(result).toMatchObject({ error: { code: -32603, message } });
    expect(tookMs).toBeLessThan(inTimeMs);
    engine.thaw();
    expect(await editor.newSession(workspace)).toEqual(expect.any(String));
  });
});
