import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { openOutput } from '../../../src/container/ssh/window';

/** A channel with a window, which opens it as ssh2 does: after a push that found room, and in `_read` otherwise. */
class Channel extends Readable {
  readonly stderr = new Readable({ read: () => undefined });
  /** Bytes that may still be sent. */
  window = 1_000_000;
  #isShut = false;

  override _read(): void {
    if (this.#isShut) this.window = 1_000_000;
    this.#isShut = false;
  }

  /** Sends as much as the window allows, up to `length`; returns that. */
  send(stream: Readable, length: number): number {
    const sent = Math.min(length, this.window);
    this.window -= sent;
    if (sent > 0 && stream.push(Buffer.alloc(sent, 'x'))) this.window = 1_000_000;
    else this.#isShut = true;
    return sent;
  }
}

describe('openOutput', () => {
  test('gives both streams whole, and their ends', async () => {
    const channel = new Channel();
    const { stdout, stderr } = openOutput(channel);

    channel.push(Buffer.from('out'));
    channel.stderr.push(Buffer.from('error'));
    channel.push(Buffer.from('put'));
    channel.push(null);
    channel.stderr.push(null);

    expect(await text(stdout)).toBe('output');
    expect(await text(stderr)).toBe('error');
  });

  test('lets the channel end, though nobody has read anything', async () => {
    const channel = new Channel();
    openOutput(channel);
    const ended = new Promise((resolve) => channel.on('end', resolve));

    channel.push(Buffer.from('unread'));
    channel.push(null);

    await ended;
  });

  test('lets a few bytes on stderr make no room for stdout that nobody reads', async () => {
    const channel = new Channel();
    const { stdout, stderr } = openOutput(channel);
    stderr.resume();

    for (let i = 0; i < 100; i++) {
      channel.send(channel, 100_000);
      channel.send(channel.stderr, 1);
      await turn();
    }

    expect(stdout.readableLength).toBeLessThan(1_500_000);
  });

  test('puts small pieces that nobody reads together, and gives all of them in their order', async () => {
    const channel = new Channel();
    const { stdout } = openOutput(channel);
    const numbers = Array.from({ length: 10_000 }, (_, number) => `${number} `);
    await turn();
    channel.send(channel, 300_000);

    for (const number of numbers) channel.push(Buffer.from(number));
    const chunks: string[] = [];
    stdout.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
    await turn();

    expect(chunks.join('')).toBe('x'.repeat(300_000) + numbers.join(''));
    expect(chunks.length).toBeLessThan(50);
  });

  test('lets everything through once both are read', async () => {
    const channel = new Channel();
    const { stdout, stderr } = openOutput(channel);
    let read = 0;
    let sent = 0;
    await turn();
    for (let i = 0; i < 50; i++)
      sent += channel.send(channel, 100_000) + channel.send(channel.stderr, 100_000);
    expect(channel.window).toBe(0);

    for (const stream of [stdout, stderr]) stream.on('data', (chunk: Buffer) => (read += chunk.length));
    while (sent < 5_000_000) {
      await turn();
      sent += channel.send(channel, 100_000) + channel.send(channel.stderr, 100_000);
    }
    await turn();

    expect(read).toBe(sent);
  });

  test('lets one stream on after the other has ended', async () => {
    const channel = new Channel();
    const { stdout, stderr } = openOutput(channel);
    stderr.resume();
    channel.push(null);
    stdout.resume();

    let sent = 0;
    while (sent < 5_000_000) {
      sent += channel.send(channel.stderr, 100_000);
      await turn();
    }
  });
});
