import { readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import { kernelPlaceOn } from '../../../src/system/paths/kernel-place';
import { findWorkspace } from '../../../src/workspace/root';
import { newFolder } from '../../support/temp-folder';
import { expectedError } from '../../expected-error';

const onLinux = process.platform === 'linux' ? describe : describe.skip;
const placeOn = (path: string) => kernelPlaceOn(path, realpathSync(path));

/** Where this machine has file systems of such a type, besides those at the usual places. */
const mounted = (type: RegExp): string[] => {
  const lines = process.platform === 'linux' ? readFileSync('/proc/self/mounts', 'utf8').split('\n') : [];
  return lines
    .map((line) => line.split(' '))
    .filter(([, , each]) => type.test(each ?? ''))
    .map(([, at]) => at!);
};

onLinux('kernelPlaceOn (of Linux)', () => {
  test.each(['/proc', '/proc/self', `/proc/${process.pid}/task`, '/sys', '/sys/class', '/dev', '/dev/pts'])(
    'tells that %s is of the kernel',
    async (path) => expect(await placeOn(path)).toContain("is no file of anybody's"),
  );

  test.each(mounted(/^(?:proc|sysfs|cgroup2?|devpts|mqueue|debugfs)$/))('knows %s by its type', async (at) =>
    expect(await placeOn(at)).toBeDefined(),
  );

  test.each(['/proc/self/cwd', `/proc/${process.pid}/root/tmp`, '/proc/self/root', '/proc/thread-self/cwd'])(
    'tells that %s leads through what is of the kernel, also behind a link of the user',
    async (path) => {
      const link = join(newFolder(), 'link');
      symlinkSync(path, link);

      expect(await placeOn(path)).toMatch(/^\/proc\//);
      expect(await placeOn(link)).toMatch(/^\/proc\//);
    },
  );

  test('has nothing against any other folder, linked or not, and shared memory', async () => {
    const folder = newFolder();
    const link = join(newFolder(), 'link');
    symlinkSync(folder, link);

    for (const path of [folder, link, '/', '/usr', '/dev/shm']) expect(await placeOn(path)).toBeUndefined();
  });

  test.each([
    `/proc/${process.pid}`,
    '/proc/self/cwd',
    '/sys/class',
    '/dev/pts',
    '/proc/self/root/usr/share',
  ])('keeps %s from being a workspace', async (path) => {
    await expect(findWorkspace(path, { host: new Host({ HOME: newFolder() }) })).rejects.toMatchObject(
      expectedError('WORKSPACE', /cannot be a workspace, because .*the system/),
    );
  });
});
