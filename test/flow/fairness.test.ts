/** A flood of one session costs the others a turn, not its length; and nothing of it is lost. */
import type { Json } from '../support/inbox';
import { chunk, startTurn } from '../support/turn';
import type { OpenSession } from '../support/turn';
import { World } from '../support/world';

const lineBytes = 8 * 1024;
const mebibyte = 1024 * 1024;

describe('an editor that does not read for a while', () => {
  let world: World;
  let loud: OpenSession;
  let quiet: OpenSession;
  beforeEach(async () => {
    world = await World.initialized();
    loud = await world.session(world.workspace('loud'), 'loud');
    quiet = await world.session(world.workspace('quiet'), 'quiet');
    world.process.stdout.pause();
  });
  afterEach(() => world.end());

  let flooded = 0;
  /** Lets the loud agent write that many bytes of updates, numbered on. */
  function flood(bytes: number): void {
    for (const end = flooded + bytes / lineBytes; flooded < end; flooded++) {
      loud.agent.say('loud', `${flooded} ${'x'.repeat(lineBytes)}`);
    }
  }

  /** Resolves when the proxy has read all that the agent wrote before: what it refuses comes behind. */
  async function whenRead({ agent, agentId }: OpenSession): Promise<void> {
    agent.send({ id: 'is it read', method: 'terminal/create', params: { sessionId: agentId, command: 'x' } });
    await agent.inbox.response('is it read');
  }

  /** The numbers of the flood's updates among messages. */
  function numbersOf(messages: readonly Json[]): number[] {
    const texts = messages.map(({ params }) => params as { update: { content: { text: string } } });
    return texts.map(({ update }) => Number(update.content.text.split(' ')[0]));
  }

  test('gets the word of a quiet session long before the end of the flood that came first', async () => {
    flooded = 0;
    flood(3 * mebibyte);
    await whenRead(loud);
    quiet.agent.say('quiet', 'a word');
    await whenRead(quiet);

    world.process.stdout.resume();
    const isWord = ({ params }: Json): boolean => (params as Json | undefined)?.sessionId === quiet.id;
    const word = await world.editor.next(isWord);
    const before = world.editor.lines.findIndex((line) => line.includes(quiet.id) && line.includes('a word'));
    const received = [];
    while (received.length < flooded) received.push(await world.editor.next('session/update'));

    expect(word.params).toEqual({ sessionId: quiet.id, update: chunk('a word') });
    expect(before * lineBytes).toBeLessThan(mebibyte);
    expect(numbersOf(received)).toEqual(Array.from({ length: flooded }, (_, n) => n));
  });

  test('holds back the agent that floods, and still serves the quiet one', async () => {
    flooded = 0;
    flood(3 * mebibyte);
    await whenRead(loud);
    flood(12 * mebibyte);
    loud.agent.send({ id: 'behind', method: 'terminal/create', params: { sessionId: 'loud', command: 'x' } });

    const turn = await startTurn(world, quiet);
    quiet.agent.say('quiet', 'at work');
    quiet.agent.send({ id: turn.id, result: { stopReason: 'end_turn' } });
    await whenRead(quiet);
    const isHeldBack = !loud.agent.inbox.lines.some((line) => line.includes('behind'));
    world.process.stdout.resume();
    await world.editor.response(turn.id);
    const before = world.editor.lines.length;
    await loud.agent.inbox.response('behind');
    const received = [];
    while (received.length < flooded + 1) received.push(await world.editor.next('session/update'));

    expect(isHeldBack).toBe(true);
    expect(before * lineBytes).toBeLessThan(mebibyte * 2);
    expect(numbersOf(received).filter((n) => !Number.isNaN(n))).toEqual(
      Array.from({ length: flooded }, (_, n) => n),
    );
  });
});
