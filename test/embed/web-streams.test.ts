import { once } from 'node:events';
import { duplexPair, type Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { AnyMessage } from '../../src/embed/message';
import { messageForm, WebStreams } from '../../src/embed/web-streams';

describe('messages over a pair of byte streams in memory', () => {
  let far: Duplex;
  let messages: WebStreams<AnyMessage>;
  let drops: number;
  beforeEach(() => {
    const [near, other] = duplexPair();
    far = other;
    drops = 0;
    messages = new WebStreams(near, messageForm(), () => {
      drops++;
    });
  });

  const note = (n: number, text = ''): AnyMessage => ({
    jsonrpc: '2.0',
    method: 'note',
    params: { n, text },
  });
  const line = (message: AnyMessage): string => `${JSON.stringify(message)}\n`;
  /** Far more than a stream of Node holds by itself. */
  const long = 'x'.repeat(1024 * 1024);

  /** Counts what the other end has taken. */
  const counted = (write: (taken: () => void) => void): { count: number } => {
    const taken = { count: 0 };
    write(() => {
      taken.count++;
    });
    return taken;
  };

  test('are read in order, wherever chunks begin and end', async () => {
    const expected = [note(1, 'ö€𝄞'), note(2), note(3, long)];
    const bytes = Buffer.from(expected.map(line).join(''));
    const cut = bytes.indexOf('€') + 1;
    for (const part of [bytes.subarray(0, cut), bytes.subarray(cut, cut + 70), bytes.subarray(cut + 70)])
      far.write(part);
    far.end();

    const read: AnyMessage[] = [];
    for await (const message of messages.readable) read.push(message);

    expect(read).toEqual(expected);
  });

  test('are one line each when they are written', async () => {
    const writer = messages.writable.getWriter();
    void writer.write(note(1, 'a\nb'));
    void writer.write(note(2));
    void writer.close();

    expect(Buffer.concat((await far.toArray()) as Buffer[]).toString()).toBe(
      line(note(1, 'a\nb')) + line(note(2)),
    );
  });

  test('are not taken from the other end while nobody reads, and then no faster than they are read', async () => {
    const taken = counted((onTaken) => {
      for (const n of [1, 2, 3]) far.write(line(note(n, long)), onTaken);
    });
    const reader = messages.readable.getReader();
    await turn();
    expect(taken.count).toBe(0);

    expect((await reader.read()).value).toEqual(note(1, long));
    await turn();
    expect(taken.count).toBe(1);

    expect((await reader.read()).value).toEqual(note(2, long));
    expect((await reader.read()).value).toEqual(note(3, long));
  });

  test('are written no faster than the other end takes them', async () => {
    const writer = messages.writable.getWriter();
    const taken = counted((onTaken) => {
      for (const n of [1, 2]) void writer.write(note(n, long)).then(onTaken);
    });
    await turn();
    expect(taken.count).toBe(0);

    far.resume();
    await writer.ready;

    await writer.close();
    expect(taken.count).toBe(2);
  });

  test('end with the other end', async () => {
    far.end(line(note(1)));
    const reader = messages.readable.getReader();

    expect(await reader.read()).toEqual({ done: false, value: note(1) });
    expect(await reader.read()).toEqual({ done: true, value: undefined });
  });

  test('end the other end when the writing is closed', async () => {
    const ended = once(far.resume(), 'end');

    await messages.writable.close();

    await ended;
    expect(drops).toBe(0);
  });

  test.each([
    ['reading is cancelled', () => messages.readable.cancel()],
    ['writing is aborted', () => messages.writable.abort()],
  ])('tell it when the %s', async (_, act) => {
    await act();

    expect(drops).toBe(1);
  });

  test('can be dropped: the reader sees the end, a write fails, and the other end gets rid of all', async () => {
    const reader = messages.readable.getReader();
    const writer = messages.writable.getWriter();
    const written = new Promise<void>((resolve) => far.write(line(note(1, long)), () => resolve()));

    messages.drop(new Error('over'));

    expect(await reader.read()).toEqual({ done: true, value: undefined });
    await expect(writer.write(note(1))).rejects.toThrow('over');
    await expect(writer.closed).rejects.toThrow('over');
    await written;
  });

  test('can be dropped twice, and after the reading was cancelled', async () => {
    await messages.readable.cancel();

    messages.drop(new Error('over'));
    messages.drop(new Error('over'));

    await expect(messages.writable.getWriter().closed).rejects.toThrow('over');
  });
});
