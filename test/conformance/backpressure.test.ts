/** Statement L6, invariant 7 and the rules for peers that do not read: what waits is bounded. */
import { leave, sentBy } from '../support/dialogue';
import { askForFlood, startFlood } from '../support/flood';
import { hastened } from '../support/hastened';
import type { Json } from '../support/inbox';
import { failure, success } from '../support/messages';
import { residentBytes, untilGone, untilIdle, writtenBytes } from '../support/processes';
import { expectTurn, startTurn, type OpenSession } from '../support/turn';
import { World } from '../support/world';

const mebibyte = 1024 * 1024;

describe('an editor that does not read', () => {
  let world: World;
  afterEach(() => world.end());

  test('L6 holds back its agents, and gets everything when it reads again', async () => {
    const flood = await startFlood({ config: '[acp]\nqueue_to_editor = "1MiB"' });
    world = flood.world;
    const proxy = world.process.pid!;
    const before = residentBytes(proxy).now;
    world.process.stdout.pause();
    const prompt = askForFlood(world, flood.sessionId, 4_000, 8_000);
    await untilIdle(proxy, flood.agentPid);
    const written = writtenBytes(flood.agentPid);
    const memory = residentBytes(proxy).now;
    world.process.stdout.resume();
    await world.editor.response(prompt);

    expect(written).toBeLessThan(3 * mebibyte);
    expect(memory - before).toBeLessThan(24 * mebibyte);
    const texts = world.editor.takeAll().map(({ params }) => JSON.stringify(params).slice(0, 160));
    expect(texts).toHaveLength(4_000);
    expect(texts.filter((text, n) => !text.includes(`"text":"${n} x`))).toEqual([]);
  });

  test('L6 is not read on either when what it asks is answered at once, and gets each answer once', async () => {
    world = await World.initialized({ config: '[acp]\nqueue_to_editor = "64KiB"' });
    world.process.stdout.pause();
    const sessionId = 'no'.repeat(500);
    const ids = Array.from({ length: 10_000 }, () => world.ask('session/prompt', { sessionId }));
    await untilIdle(world.process.pid!);

    expect(world.process.stdin.writableLength).toBeGreaterThan(0);
    world.process.stdout.resume();
    await world.editor.response(ids.at(-1));
    expect(world.editor.takeAll().map(({ id }) => id)).toEqual(ids.slice(0, -1));
  });

  test.each(['SIGTERM', 'stdin'])('L6 can end the proxy all the same, by %s', async (how) => {
    const flood = await startFlood({ config: '[acp]\nqueue_to_editor = "1MiB"', env: hastened });
    world = flood.world;
    world.process.stdout.pause();
    askForFlood(world, flood.sessionId, 1_000, 8_000);
    await untilIdle(world.process.pid!, flood.agentPid);
    if (how === 'SIGTERM') world.process.kill('SIGTERM');
    else world.process.stdin.end();
    await untilGone(world.process.pid!, flood.agentPid);
    world.process.stdout.resume();

    expect(await world.exited()).toBe(0);
  });

  test('L6 can end the proxy all the same, by stdin, when it does not read what is answered at once', async () => {
    world = await World.initialized({ config: '[acp]\nqueue_to_editor = "64KiB"', env: hastened });
    world.process.stdout.pause();
    for (let n = 0; n < 5_000; n++) world.ask('session/prompt', { sessionId: 'no' });
    await untilIdle(world.process.pid!);
    world.process.stdin.end();
    await untilGone(world.process.pid!);
    world.process.stdout.resume();

    expect(await world.exited()).toBe(0);
  });
});

describe('an agent that does not read', () => {
  let world: World;
  let deaf: OpenSession;
  let other: OpenSession;
  beforeEach(async () => {
    world = await World.initialized({ config: '[acp]\nqueue_to_agent = "64KiB"', env: hastened });
    deaf = await world.session(world.workspace('own'), 's1');
    other = await world.session(world.workspace('b'), 's1');
    deaf.agent.order({ read: false });
    await deaf.agent.done();
  });
  afterEach(() => world.end());

  const text = 'x'.repeat(10_000);

  /** Sends prompts to the agent that does not read; resolves with their ids. */
  async function fill(): Promise<{ accepted: number[]; refused: Json[] }> {
    const ids = Array.from({ length: 100 }, () => world.ask('_ask', { sessionId: deaf.id, text }));
    // The last of them is refused, and so are all that did not fit; the others stay open.
    await world.editor.response(ids.at(-1));
    const refused = world.editor.takeAll();
    const isRefused = new Set(refused.map(({ id }) => id));
    return { accepted: ids.slice(0, -1).filter((id) => !isRefused.has(id)), refused };
  }

  test('D5 gets no more requests: they are answered -32603, and nobody else notices', async () => {
    const { accepted, refused } = await fill();

    expect(refused).toEqual(refused.map(({ id }) => failure(id, -32603)));
    const excess = /does not read.* KiB, more than the 64 KiB of acp\.queue_to_agent: end it/;
    expect(refused[0]).toHaveProperty('error.message', expect.stringMatching(excess));
    expect(accepted.length).toBeGreaterThan(5);
    await expectTurn(world, other);
  });

  test('D5 has its place again when it reads: what was accepted arrives in order, and what comes then', async () => {
    const { accepted } = await fill();
    deaf.agent.order({ read: true });
    for (const id of accepted) {
      expect(await deaf.agent.inbox.next('_ask')).toMatchObject({ id });
      deaf.agent.send({ id, result: 1 });
      expect(await world.editor.response(id)).toEqual(success(id, 1));
    }

    await expectTurn(world, deaf);
  });

  test('D5 loses notifications, but none that cancels', async () => {
    const { accepted } = await fill();
    world.send({ method: '_tell', params: { sessionId: deaf.id } });
    world.send({ method: 'session/cancel', params: { sessionId: deaf.id } });
    world.send({ method: '$/cancel_request', params: { requestId: accepted[0] } });
    await sentBy(world, other.agent);
    const turn = await startTurn(world, other);
    deaf.agent.order({ read: true });
    await deaf.agent.inbox.next('$/cancel_request');

    const received = deaf.agent.inbox.takeAll().map(({ method }) => method);
    expect(received).toEqual([...accepted.map(() => '_ask'), 'session/cancel']);
    await turn.end();
    expect(await world.lastWords()).toContain('a notification was dropped');
  });

  test('D5 is ended when it asks and asks and does not take the answers', async () => {
    const { accepted } = await fill();
    const numbers = Array.from({ length: 60 }, (_, n) => n);
    for (const n of numbers) deaf.agent.send({ id: n, method: '_ask', params: { sessionId: 's1' } });
    const asked = await Promise.all(numbers.map(() => world.editor.next('_ask')));
    for (const { id } of asked) world.send({ id, result: text });

    expect(await world.editor.response(accepted[0])).toEqual(failure(accepted[0], -32603));
    await deaf.agent.gone;
    await expectTurn(world, other);
    expect(await leave(world)).toBe(0);
  });
});
