import { once } from 'node:events';
import { createServer, connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { join } from 'node:path';
import { ExecStream } from '../../../../src/container/engine/docker/exec-stream';
import { newFolder } from '../../../support/temp-folder';

/** Both ends of a connection to an engine. */
async function pair(): Promise<{ engine: Socket; stream: ExecStream }> {
  const path = join(newFolder(), 'engine');
  const server = createServer().listen(path);
  await once(server, 'listening');
  const ours = connect(path);
  const [engine] = (await once(server, 'connection')) as [Socket];
  server.close();
  return { engine, stream: new ExecStream(ours) };
}

function frame(kind: number, text: string | Buffer): Buffer {
  const header = Buffer.alloc(8);
  header[0] = kind;
  header.writeUInt32BE(text.length, 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

const stdout = 1;
const stderr = 2;

describe('ExecStream', () => {
  const frames = Buffer.concat([frame(stdout, 'one'), frame(stderr, 'error'), frame(stdout, ''), frame(stdout, 'two')]); // prettier-ignore

  test.each([1, 2, 7, 8, 9, 12, frames.length])(
    'gives stdout alone, however it comes: in pieces of %i bytes',
    async (size) => {
      const { engine, stream } = await pair();
      for (let start = 0; start < frames.length; start += size) {
        engine.write(frames.subarray(start, start + size));
        await setImmediate();
      }
      engine.end();

      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);

      expect(Buffer.concat(chunks).toString()).toBe('onetwo');
    },
  );

  test('keeps what came before the end for whoever reads it late', async () => {
    const { engine, stream } = await pair();
    const large = 'x'.repeat(60_000);
    engine.end(frame(stdout, large));
    engine.resume();
    stream.end();
    await once(engine, 'close');
    for (let turn = 0; turn < 3; turn++) await setImmediate();

    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toBe(large);
    expect(stream.destroyed).toBe(true);
  });

  test('passes on what is written as it is, and its end', async () => {
    const { engine, stream } = await pair();

    stream.end('input');
    const [heard] = (await once(engine, 'data')) as [Buffer];
    await once(engine, 'end');

    expect(heard.toString()).toBe('input');
    stream.destroy();
  });

  test('does not read on while nobody takes what has come', async () => {
    const { engine, stream } = await pair();
    const much = frame(stdout, Buffer.alloc(64 * 2 ** 20, 'x'));
    engine.write(much);
    await once(stream, 'readable');
    for (let turn = 0; turn < 100; turn++) await setImmediate();

    expect(stream.readableLength).toBeLessThan(2 ** 20);
    expect(engine.writableLength).toBeGreaterThan(32 * 2 ** 20);

    let bytes = 0;
    stream.on('data', (chunk: Buffer) => (bytes += chunk.length));
    engine.end();
    await once(stream, 'end');
    expect(bytes).toBe(64 * 2 ** 20);
  });

  test('counts what the engine has not taken yet', async () => {
    const { engine, stream } = await pair();
    engine.pause();
    for (let piece = 0; piece < 64; piece++) stream.write(Buffer.alloc(2 ** 20));
    await setImmediate();

    expect(stream.writableLength).toBeGreaterThan(32 * 2 ** 20);
    stream.destroy();
    engine.destroy();
  });

  test('ends with the connection, and the connection with it', async () => {
    const one = await pair();
    one.engine.destroy();
    await once(one.stream.resume(), 'close');

    const other = await pair();
    other.stream.destroy();
    await once(other.engine.resume(), 'close');
  });

  test('hands over as one what was written while it was corked', async () => {
    const written: string[] = [];
    const connection = new Duplex({
      read: () => undefined,
      write: (chunk, _encoding, done) => {
        written.push(String(chunk));
        done();
      },
    });
    const stream = new ExecStream(connection);

    stream.cork();
    for (const piece of ['length', 'text', 'tag']) stream.write(piece);
    stream.uncork();
    stream.end('last');
    await once(connection, 'finish');

    expect(written).toEqual(['lengthtexttag', 'last']);
  });
});
