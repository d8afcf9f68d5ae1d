import { PassThrough, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { paceOf, together } from '../../../src/container/ssh/pace';

/** A channel as ssh2's, which sends all that it gets. */
function channelTo(stream: PassThrough) {
  const channel = new PassThrough({ highWaterMark: 2 * 2 ** 20 });
  channel._write = (chunk, _encoding, done) => {
    stream.write(chunk);
    done();
  };
  return channel;
}

describe('paceOf', () => {
  test('lets each channel send at once while there is room', async () => {
    const stream = new PassThrough();
    const channel = paceOf(stream)(channelTo(stream));

    channel.end('sent');

    expect((await stream.take(1).toArray()).join('')).toBe('sent');
  });

  test('holds back the channels of a stream that is full until it is read, and loses nothing', async () => {
    const stream = new PassThrough({ highWaterMark: 2 });
    const paced = paceOf(stream);
    const [one, other] = [paced(channelTo(stream)), paced(channelTo(stream))];

    for (const number of [1, 2, 3, 4, 5]) {
      one.write(`a${number}`);
      other.write(`b${number}`);
    }
    await setImmediate();
    const held = stream.readableLength + stream.writableLength;
    const taken = (await stream.take(10).toArray()).join('');

    expect(held).toBeLessThan(10);
    expect([taken.replace(/b./g, ''), taken.replace(/a./g, '')]).toEqual(['a1a2a3a4a5', 'b1b2b3b4b5']);
  });

  test('has a channel take no more while little of it waits', () => {
    const stream = new PassThrough();
    const channel = channelTo(stream);
    channel._write = () => undefined;
    const taking = new Array<boolean>();

    for (const size of [1_000, 64 * 1024]) taking.push(paceOf(stream)(channel).write(Buffer.alloc(size)));

    expect(taking).toEqual([true, false]);
  });

  test('does not hold a channel for ever whose stream has failed', async () => {
    const stream = new PassThrough({ highWaterMark: 2 });
    stream.on('error', () => undefined);
    const paced = paceOf(stream);
    paced(channelTo(stream)).write('full');
    const waiting = new Promise((done) => paced(channelTo(stream)).write('more', done));

    stream.destroy(new Error('gone'));

    expect(await waiting).toBeFalsy();
  });
});

describe('together', () => {
  test('sends at once, and as one, what is written before the event loop goes on', async () => {
    const sent: string[] = [];
    const stream = together(
      new Writable({
        write: (chunk: Buffer, _encoding, done) => {
          sent.push(chunk.toString());
          done();
        },
        writev: (chunks, done) => {
          sent.push(chunks.map(({ chunk }) => String(chunk)).join(''));
          done();
        },
      }),
    );

    for (const piece of ['length', 'text', 'tag']) stream.write(piece);
    await setImmediate();
    stream.write('next');
    await setImmediate();
    stream.end('last');
    await setImmediate();

    expect(sent).toEqual(['lengthtexttag', 'next', 'last']);
  });
});
