import type { StopLadder } from '../../src/agent/process-end';
import type { Log } from '../../src/system/log';
import { asOrdinaryUser, pathWithClosedFolder } from '../support/ordinary-user';
import { AgentRun, fixture, noFolder, noLog, program } from './agent-run';

const longLadder: StopLadder = { termAfterMs: 60_000, killAfterMs: 60_000 };

let run: AgentRun;

afterEach(async () => {
  const left = run.leftovers;
  await run.clear();
  expect(left).toEqual([]);
});

describe('AgentProcess', () => {
  test('hands lines to the agent and gives its lines, in order', async () => {
    run = new AgentRun(program('cat'));

    for (const text of ['one', 'é'.repeat(10), '{}']) run.send(text);
    await run.line('{}');

    expect(run.lines).toEqual(['one', 'é'.repeat(10), '{}']);
    await run.process.stop(longLadder);
  });

  test('sends a line that is in several pieces as one', async () => {
    run = new AgentRun(program('cat'));

    run.process.send([Buffer.from('a'), Buffer.from('b'), Buffer.from('\n')]);
    run.send('c');
    await run.line('c');

    expect(run.lines).toEqual(['ab', 'c']);
    await run.process.stop(longLadder);
  });

  test('carries lines of a megabyte both ways, and tells one that is longer', async () => {
    run = new AgentRun(program('cat'));
    const long = 'x'.repeat(1024 * 1024);

    run.send(long);
    run.send(`${long}y`);
    run.send('end');
    await run.line('end');

    expect(run.lines).toEqual([long, 'over-long', 'end']);
    await run.process.stop(longLadder);
  });

  test('knows how much the agent has not read', async () => {
    run = new AgentRun(program('sleep', '60'));

    expect(run.process.unreadBytes).toBe(0);
    for (let i = 0; i < 4; i++) run.send('x'.repeat(1024 * 1024));

    expect(run.process.unreadBytes).toBeGreaterThan(3 * 1024 * 1024);
    await run.process.stop({ termAfterMs: 0, killAfterMs: 60_000 });
  });

  test('starts the agent in its folder, with its environment and no other', async () => {
    run = new AgentRun(program('sh', '-c', 'pwd; env; echo end'), {
      cwd: '/',
      env: { PATH: process.env.PATH, CAI_SAMPLE: 'é' },
    });

    await run.ended;

    expect(run.lines[0]).toBe('/');
    expect(run.lines).toContain('CAI_SAMPLE=é');
    expect(run.lines.filter((line) => line.startsWith('HOME='))).toEqual([]);
  });
});

describe('an agent that cannot be started', () => {
  test.each([
    ['is not on PATH', program('cai-is-no-program'), /"cai-is-no-program" was not found: install it/],
    ['is no file', program('/etc/hostname/agent'), /ENOTDIR/],
    ['may not be run', program('/'), /may not be executed/],
    ['has an argument that no program can have', program('cat', 'a\0b'), /null bytes/],
  ])('because it %s is told of after the start', async (_, agent, text) => {
    run = new AgentRun(agent);
    expect(run.endCount).toBe(0);
    expect(run.process.pid).toBeUndefined();
    run.send('is lost');

    const reason = await run.ended;

    expect(reason.code).toBe('AGENT_START');
    expect(reason.message).toMatch(/^agent ".*" could not be started: /);
    expect(reason.message).toMatch(text);
    await run.process.stop(longLadder);
    expect(run.endCount).toBe(1);
  });

  test('is said not to be there, also if PATH names a folder that the user may not enter', async () => {
    const env = { PATH: pathWithClosedFolder() };
    run = asOrdinaryUser(() => new AgentRun(program('cai-is-no-program'), { env }));

    expect((await run.ended).message).toMatch(/"cai-is-no-program" was not found: install it/);
  });

  test('because its folder is gone is told of likewise', async () => {
    run = new AgentRun(program('cat'), { cwd: noFolder });

    expect((await run.ended).code).toBe('AGENT_START');
    await run.process.stop(longLadder);
  });

  test('is told of only when it is read on, if it was paused', async () => {
    run = new AgentRun(program('cai-is-no-program'));
    run.process.pause();
    const stopped = run.process.stop(longLadder);

    run.process.resume();

    expect((await run.ended).code).toBe('AGENT_START');
    await stopped;
  });
});

describe('an agent that ends by itself', () => {
  test('is told of with its status and the end of its stderr', async () => {
    run = new AgentRun(fixture('exits-at-once'));

    expect(await run.ended).toMatchObject({
      code: 'AGENT_EXITED',
      message: `agent "exits-at-once" exited with status 3: no API key: set ACME_KEY`,
      data: { details: 'loading\nno API key: set ACME_KEY' },
    });
  });

  test('by a signal is told of with that, after its last line', async () => {
    run = new AgentRun(fixture('dies-by-signal'));

    const reason = await run.ended;

    expect(reason.message).toBe('agent "dies-by-signal" was killed by SIGKILL');
    expect(reason.data).toBeUndefined();
    expect(reason.cause).toMatchObject({ status: undefined, signal: 'SIGKILL' });
    expect(run.lines).toEqual(['{"jsonrpc":"2.0","method":"one"}', '{"jsonrpc":"2.0",']);
  });

  const routine = '[session/create] sessionId=9023e074 phase=register durationMs=38';

  test('by a signal is told of without what it wrote before, which is in the details', async () => {
    run = new AgentRun(program('sh', '-c', `echo '${routine}' >&2; kill -KILL $$`));

    expect(await run.ended).toMatchObject({
      message: 'agent "sh" was killed by SIGKILL',
      data: { details: routine },
    });
  });

  test('by a signal in a container, where a command of ours has run it, is told of likewise', async () => {
    run = new AgentRun({ ...program('sh', '-c', `echo '${routine}' >&2; exit 137`), hasStatus: true });

    const reason = await run.ended;

    expect(reason.message).toBe('agent "sh" was killed by SIGKILL');
    expect(reason.cause).toMatchObject({ status: undefined, signal: 'SIGKILL' });
  });

  test.each([
    ['a log line', `no token\n${routine}`, 'no token'],
    ['nothing but log lines', routine, 'run its command in a terminal to see why'],
    ['a log line of an error', `${routine}\n[ERROR] no token`, '[ERROR] no token'],
    [
      'the trace of an exception',
      `/app/x.js:1\n  throw\n  ^\n\nError: no token\n    at run (/app/x.js:1:1) {\n  code: 1\n}\n\nNode.js v22.1.0`,
      'Error: no token',
    ],
  ])('with %s is told of with what can be its cause', async (_, stderr, cause) => {
    run = new AgentRun(program('sh', '-c', 'printf "%s\\n" "$1" >&2; exit 3', 'sh', stderr));

    expect((await run.ended).message).toBe(`agent "sh" exited with status 3: ${cause}`);
  });

  test('with much on its stderr is read nevertheless, and only the end of that is kept', async () => {
    run = new AgentRun(fixture('floods-stderr'));
    run.send('go');

    const reason = await run.ended;

    expect(run.lines).toEqual(['answer']);
    expect(reason.message).toMatch(/status 1: the end$/);
    expect(String(reason.data?.details).length).toBeLessThanOrEqual(4_000);
  });

  test('with a status has it told line by line, and what it said itself is the reason', async () => {
    run = new AgentRun({ ...fixture('tells-status'), hasStatus: true });

    const reason = await run.ended;

    expect(run.statuses).toEqual([{ kind: 'delay', text: 'building' }, { kind: 'started' }]);
    expect(reason.message).toBe('agent "tells-status": the image cannot be built:\nstep 1\nstep 2');
  });

  test('while it is paused has all its lines given, then its end told', async () => {
    run = new AgentRun(fixture('says-last-words'));
    run.process.pause();
    run.send('go');
    // It is gone before it is read.
    const stopped = run.process.stop(longLadder);
    while (run.leftovers.length > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(run.lines).toEqual([]);
    expect(run.endCount).toBe(0);

    run.process.resume();
    await run.ended;

    expect(run.lines).toEqual(Array.from({ length: 1_000 }, (_, i) => `line ${i}`));
    await stopped;
  });

  test('takes what is still sent to it for nothing', async () => {
    run = new AgentRun(fixture('exits-at-once'));
    await run.ended;

    run.send('x'.repeat(1024 * 1024));

    expect(run.process.unreadBytes).toBe(0);
    await run.process.stop(longLadder);
    expect(run.endCount).toBe(1);
  });
});

describe('pause and resume', () => {
  test('count: as many calls of the one as of the other', async () => {
    const log = { ...noLog, debug: () => heard.push('stderr') } as unknown as Log;
    const heard: string[] = [];
    // What it says on stderr tells that the line is in the other pipe.
    run = new AgentRun(program('sh', '-c', 'read l; echo $l; echo $l >&2; cat'), { log });
    run.process.pause();
    run.process.pause();
    run.send('one');
    run.process.resume();
    while (heard.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(run.lines).toEqual([]);

    run.process.resume();
    await run.line('one');

    await run.process.stop(longLadder);
  });

  test('stop between two lines of one chunk', async () => {
    run = new AgentRun(fixture('says-last-words'), {}, (line) => {
      if (line === 'line 10') run.process.pause();
    });
    run.send('go');
    await run.line('line 10');
    expect(run.lines).toHaveLength(11);

    run.process.resume();
    await run.ended;

    expect(run.lines).toHaveLength(1_000);
  });
});
