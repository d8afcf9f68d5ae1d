import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import { readRepositoryFile, repositoryFileOf } from '../../../src/config/repository/repository-config';
import { newFolder } from '../../support/temp-folder';
import { expectedError } from '../../expected-error';

const host = new Host({ HOME: '/home/u' });
let root: string;

beforeEach(() => {
  root = newFolder();
  mkdirSync(join(root, '.containai'));
});

const write = (content: string | Buffer): void => writeFileSync(repositoryFileOf(root), content);
const digest = (): string => readRepositoryFile(root, host.home)!.digest;

describe('readRepositoryFile', () => {
  test('tells that there is none', () => {
    expect(readRepositoryFile(root, host.home)).toBeUndefined();
    expect(readRepositoryFile(newFolder(), host.home)).toBeUndefined();
  });

  test('reads settings, paths against its own folder', () => {
    write('[image]\ndockerfile = "Dockerfile"\n[[mounts]]\npath = "~/d"');

    const { file, settings } = readRepositoryFile(root, host.home)!;

    expect(file).toBe(join(root, '.containai/config.toml'));
    expect(settings.map(({ path, value }) => [path, value])).toEqual([
      [['image', 'dockerfile'], join(root, '.containai/Dockerfile')],
      [['mounts', 0, 'path'], '/home/u/d'],
    ]);
  });

  test('has a digest of its bytes, not of their meaning', () => {
    write('container.pids = 100\n');
    const first = digest();

    write('container.pids = 100 \n');
    expect(digest()).not.toBe(first);
    write('container.pids = 100\n');
    expect(digest()).toBe(first);
    expect(first).toMatch(/^[0-9a-f]{64}$/);
  });

  test('has a digest that the Dockerfile changes', () => {
    write('image.dockerfile = "../Dockerfile"');
    const withoutIt = digest();

    writeFileSync(join(root, 'Dockerfile'), 'RUN one');
    const withIt = digest();
    writeFileSync(join(root, 'Dockerfile'), 'RUN two');

    expect(new Set([withoutIt, withIt, digest()]).size).toBe(3);
  });

  test.each([
    ['outside', '../../Dockerfile', 'must name a file of the repository'],
    ['of the home folder', '~/Dockerfile', 'must name a file of the repository'],
    ['of the system', '/dev/zero', 'must name a file of the repository'],
    ['through a link', 'outside/Dockerfile', 'leads out of'],
    ['that is a folder', '../folder', 'is not a regular file'],
  ])('refuses a Dockerfile %s', (_, dockerfile, why) => {
    const outside = newFolder();
    writeFileSync(join(outside, 'Dockerfile'), '');
    symlinkSync(outside, join(root, '.containai/outside'));
    mkdirSync(join(root, 'folder'));
    write(`image.dockerfile = "${dockerfile}"`);

    expect(() => readRepositoryFile(root, host.home)).toThrow(
      expect.objectContaining({ code: 'CONFIG', message: expect.stringContaining(why) as string }) as Error,
    );
  });

  test.each<[string, string | Buffer, string]>([
    ['that is no TOML', 'a = ', ':1:'],
    ['with an unknown key', '[container]\nmemroy = "1GiB"', ':2:1: "container.memroy" is not a known key'],
    ['that is not UTF-8', Buffer.from([0x23, 0xff]), ' cannot be read: it is not UTF-8'],
    ['that is too long', '#'.repeat(65_537), ' is longer than 65536 bytes'],
  ])('refuses a file %s, and names it', (_, content, message) => {
    write(content);

    expect(() => readRepositoryFile(root, host.home)).toThrow(
      expect.objectContaining(expectedError('CONFIG', `${repositoryFileOf(root)}${message}`)) as Error,
    );
  });

  test('reads a file with a byte order mark and Windows line ends', () => {
    write('\ufeff[container]\r\npids = 100\r\n');

    expect(readRepositoryFile(root, host.home)!.settings).toHaveLength(1);
  });
});
