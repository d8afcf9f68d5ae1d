/** A flood of one session costs the others a turn, not its length; and nothing of it is lost. */
import type { Json } from '../support/inbox';
import { untilIdle } from '../support/processes';
import { chunk, startTurn, type OpenSession } from '../support/turn';
import { World } from '../support/world';

const lineBytes = 8 * 1024;
const mebibyte = 1024 * 1024;

describe('an editor that does not read for a while', () => {
  let world: World;
  let loud: readonly OpenSession[];
  let quiet: OpenSession;
  afterEach(() => world.end());

  /** Two sessions that will be loud, and a quiet one; the editor stops reading. */
  async function start(config = ''): Promise<void> {
    world = await World.initialized({ config });
    loud = [
      await world.session(world.workspace('one'), 'loud'),
      await world.session(world.workspace('two'), 'loud'),
    ];
    quiet = await world.session(world.workspace('quiet'), 'quiet');
    world.process.stdout.pause();
  }

  /** Lets an agent write messages in one piece. */
  function sendTogether({ agent }: OpenSession, messages: readonly Json[]): void {
    agent.send(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''));
  }

  const saying = ({ agentId: sessionId }: OpenSession, text: string): Json => ({
    method: 'session/update',
    params: { sessionId, update: chunk(text) },
  });

  /** Lets an agent write that many bytes of updates; returns what they say. */
  function flood(session: OpenSession, bytes: number): string[] {
    const texts = Array.from({ length: bytes / lineBytes }, (_, n) => `${n} ${'x'.repeat(lineBytes)}`);
    sendTogether(
      session,
      texts.map((text) => saying(session, text)),
    );
    return texts;
  }

  /** What the proxy refuses by itself, as soon as it has read all before. */
  const refusedRequest: Json = { id: 'is it read', method: 'terminal/create', params: {} };

  /** Resolves when the proxy has read all that the agent wrote, and what was written together with this. */
  async function whenRead(session: OpenSession, together: readonly Json[] = []): Promise<void> {
    sendTogether(session, [refusedRequest, ...together]);
    await session.agent.inbox.response(refusedRequest.id);
  }

  /** What the updates of a session say, in the order in which the editor gets them. */
  async function textsOf(session: OpenSession, count: number): Promise<string[]> {
    const texts: string[] = [];
    const isOfSession = ({ params }: Json): boolean => (params as Json | undefined)?.sessionId === session.id;
    while (texts.length < count) {
      const { params } = await world.editor.next(isOfSession);
      texts.push((params as { update: { content: { text: string } } }).update.content.text);
    }
    return texts;
  }

  /** The bytes that the editor got before the first line that names the session. */
  function bytesBefore(session: OpenSession): number {
    const { lines } = world.editor;
    const end = lines.findIndex((line) => line.includes(session.id) && line.includes('"session/update"'));
    return lines.slice(0, end).reduce((sum, line) => sum + line.length, 0);
  }

  test('gets the word of a quiet session long before the end of the flood that came first', async () => {
    await start();
    const texts = flood(loud[0]!, 3 * mebibyte);
    await whenRead(loud[0]!);
    await whenRead(quiet, [saying(quiet, 'a word')]);

    world.process.stdout.resume();

    expect(await textsOf(quiet, 1)).toEqual(['a word']);
    expect(await textsOf(loud[0]!, texts.length)).toEqual(texts);
    expect(bytesBefore(quiet)).toBeLessThan(mebibyte);
  });

  test('is still listened to, and only the agents that flood are held back', async () => {
    await start('[acp]\nqueue_to_editor = "1MiB"\n');
    // Far more than that, the pipes and the processes at their ends take together.
    const texts = loud.map((session) => flood(session, 4 * mebibyte));
    for (const session of loud) sendTogether(session, [refusedRequest]);

    // When all have come to rest, the proxy has read as much as it will.
    await untilIdle(world.process.pid!, ...loud.map(({ agent }) => agent.pid));
    const refused = loud.flatMap(({ agent }) => agent.inbox.takeAll());
    const turn = await startTurn(world, quiet);
    await whenRead(quiet, [saying(quiet, 'a word'), { id: turn.id, result: { stopReason: 'end_turn' } }]);
    world.process.stdout.resume();
    await world.editor.response(turn.id);

    expect(refused).toEqual([]);
    expect(await textsOf(quiet, 1)).toEqual(['a word']);
    expect(await textsOf(loud[0]!, texts[0]!.length)).toEqual(texts[0]);
    expect(await textsOf(loud[1]!, texts[1]!.length)).toEqual(texts[1]);
    expect(bytesBefore(quiet)).toBeLessThan(mebibyte);
  });
});
