import { statSync } from 'node:fs';
import { identifiedFor, notShared } from '../../../../src/container/spec/mounts/shared-folders';
import { newFolder } from '../../../support/temp-folder';

const folder = newFolder();
const { dev, ino, mtimeMs, ctimeMs } = statSync(folder);
const root = { source: folder, target: '/a', isReadOnly: false, identity: `${dev}:${ino}`, isRoot: true };
const file = { ...root, target: '/b', identity: '1:2', isRoot: false };
const unknown = { ...root, target: '/c', identity: '' };

describe('identifiedFor', () => {
  test('compares device and inode on this kernel, and nothing in a virtual machine', async () => {
    expect(await identifiedFor({ sharesKernel: true }, [root, file])).toEqual([root, file]);
    expect(await identifiedFor({ sharesKernel: false }, [root, file])).toEqual([]);
  });

  test('compares the inode on another machine, of a folder also when it was changed', async () => {
    const found = await identifiedFor({ sharesKernel: false, machine: 'far' }, [root, file, unknown]);

    const seconds = [mtimeMs, ctimeMs].map((time) => Math.floor(time / 1000));
    expect(found.map(({ identity }) => identity)).toEqual([`:${ino}:${seconds.join(':')}`, ':2', '']);
  });
});

test('what is not the same there is told by its path here', () => {
  const mounts = [{ type: 'bind', source: '/srv/app', target: '/a', isReadOnly: false }];

  const error = notShared('far', { mounts }, 'cai: /a is not the same there as here');

  expect(error.code).toBe('WORKSPACE');
  expect(error.message).toMatch(
    /^"\/srv\/app" is not the same on the machine of the engine, far, as here: "shares" /,
  );
  expect(notShared(undefined, { mounts }, '').message).toMatch(
    /^what is mounted is not the same on the machine of the engine as here: /,
  );
});
