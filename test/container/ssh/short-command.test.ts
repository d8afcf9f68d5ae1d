import { PassThrough } from 'node:stream';
import { limitedText } from '../../../src/container/ssh/short-command';

const failure = (message: string) => expect.objectContaining({ code: 'SSH_CONNECT', message: expect.stringContaining(message) as string }) as Error; // prettier-ignore

describe('limitedText', () => {
  test('gives all of a short answer, wherever its bytes are parted', async () => {
    const stream = new PassThrough();
    const bytes = Buffer.from('grün\n');
    stream.write(bytes.subarray(0, 3));
    stream.end(bytes.subarray(3));

    expect(await limitedText(stream)).toBe('grün\n');
  });

  test('takes 64 KiB, and stops at one byte more', async () => {
    const most = new PassThrough();
    most.end('x'.repeat(64 * 1024));
    expect(await limitedText(most)).toHaveLength(64 * 1024);

    const endless = new PassThrough();
    endless.write('x'.repeat(64 * 1024 + 1));
    await expect(limitedText(endless)).rejects.toEqual(failure('more than 65536 bytes'));
    expect(endless.destroyed).toBe(true);
  });

  test('waits no longer than it may', async () => {
    await expect(limitedText(new PassThrough(), 20)).rejects.toEqual(failure('no answer in 0.02 s'));
  });
});
