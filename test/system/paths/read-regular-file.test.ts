import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { readRegularFile } from '../../../src/system/paths/read-regular-file';
import { newFolder } from '../../support/temp-folder';

let root: string;
let file: string;

beforeEach(() => {
  root = newFolder();
  file = join(root, 'file');
});

function refused(why: string | RegExp): void {
  expect(() => readRegularFile(file, 10, root)).toThrow(
    expect.objectContaining({ code: 'CONFIG', message: expect.stringMatching(why) as string }) as Error,
  );
}

describe('readRegularFile', () => {
  test('reads all bytes of a file as long as is allowed', () => {
    writeFileSync(file, Buffer.from([0, 255, 10, 1, 2, 3, 4, 5, 6, 7]));

    expect(readRegularFile(file, 10, root)).toEqual(Buffer.from([0, 255, 10, 1, 2, 3, 4, 5, 6, 7]));
    expect(readRegularFile(file, 10)).toHaveLength(10);
  });

  test('reads an empty file', () => {
    writeFileSync(file, '');

    expect(readRegularFile(file, 10, root)).toEqual(Buffer.alloc(0));
  });

  test('takes no more memory for a short file where a long one is allowed', () => {
    writeFileSync(file, 'short');

    expect(readRegularFile(file, 2 ** 24, root)!.buffer.byteLength).toBeLessThan(2 ** 16);
  });

  test('reads a file that does not say how long it is', () => {
    expect(readRegularFile('/proc/self/status', 2 ** 20)!.toString()).toMatch(/^Name:[^]*\n$/);
  });

  test('tells that there is none', () => {
    expect(readRegularFile(file, 10, root)).toBeUndefined();
    writeFileSync(file, '');
    expect(readRegularFile(join(file, 'below'), 10, root)).toBeUndefined();
  });

  test('refuses a longer file', () => {
    writeFileSync(file, 'x'.repeat(11));

    refused(`${file} is longer than 10 bytes`);
  });

  test('refuses a folder', () => {
    mkdirSync(file);

    refused(`${file} is not a regular file`);
  });

  test('refuses a pipe without waiting for its writer', () => {
    execFileSync('mkfifo', [file]);

    refused('is not a regular file');
  });

  test('refuses a socket', async () => {
    const server = createServer().listen(file);
    await once(server, 'listening');

    refused('is not a regular file');
    server.close();
  });

  test('refuses a device', () => {
    expect(() => readRegularFile('/dev/zero', 10)).toThrow('/dev/zero is not a regular file');
  });

  test('refuses a link in the place of the file, wherever it leads', () => {
    writeFileSync(join(root, 'other'), '');
    symlinkSync('other', file);

    refused('is a symbolic link');
  });

  test('refuses a file that a link in its path puts outside', () => {
    const outside = newFolder();
    writeFileSync(join(outside, 'file'), '');
    symlinkSync(outside, join(root, 'folder'));
    file = join(root, 'folder/file');

    refused(`leads out of ${root}`);
  });

  test('reads a file that a link in its path puts elsewhere inside', () => {
    mkdirSync(join(root, 'real'));
    writeFileSync(join(root, 'real/file'), 'x');
    symlinkSync('real', join(root, 'folder'));

    expect(readRegularFile(join(root, 'folder/file'), 10, root)).toEqual(Buffer.from('x'));
  });

  // Root may read everything.
  (process.getuid?.() === 0 ? test.skip : test)('refuses a file that may not be read', () => {
    writeFileSync(file, '');
    chmodSync(file, 0);

    refused(/cannot be read: permission denied/);
  });

  test('refuses a path that goes round in a circle', () => {
    symlinkSync('folder', join(root, 'folder'));
    file = join(root, 'folder/file');

    refused(/cannot be read: too many symbolic links/);
  });
});
