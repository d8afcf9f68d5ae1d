import { readdirSync } from 'node:fs';
import { withImageFiles } from '../../../../src/container/engine/kubernetes/image-files';
import { newFolder } from '../../../support/temp-folder';

const digest = 'registry.test/x@sha256:1';
const file = { content: Buffer.from('root:x\n\xff', 'latin1'), mode: 0o644, uid: 0, gid: 0 };
let folder: string;
/** What was asked of pods. */
let asked: string[];
beforeEach(() => {
  folder = newFolder();
  asked = [];
});

const look = () => {
  asked.push('look');
  const read = (path: string) => {
    asked.push(path);
    return Promise.resolve(path === '/etc/passwd' ? file : undefined);
  };
  const end = () => {
    asked.push('end');
    return Promise.resolve();
  };
  return Promise.resolve({ inside: { read, put: () => Promise.resolve() }, end });
};

async function readAll(image: string): Promise<unknown> {
  return await withImageFiles(image, { folder, look }, async (read) => [
    ...(await Promise.all([read('/etc/passwd'), read('/etc/none')])),
    await read('/etc/passwd'),
  ]);
}

test('an image is looked into once for each digest', async () => {
  expect(await readAll(digest)).toEqual([file, undefined, file]);
  expect(asked).toEqual(['look', '/etc/passwd', '/etc/none', 'end']);
  asked = [];

  expect(await readAll(digest)).toEqual([file, undefined, file]);
  expect(asked).toEqual([]);

  await readAll('registry.test/x@sha256:2');
  expect(asked).toEqual(['look', '/etc/passwd', '/etc/none', 'end']);
});

test('what has another name can change, and is looked into each time', async () => {
  await readAll('x:latest');
  await readAll('x:latest');

  expect(asked.filter((each) => each === 'look')).toHaveLength(2);
  expect(readdirSync(folder)).toEqual([]);
});

test('no pod is made where nothing is read', async () => {
  expect(await withImageFiles(digest, { folder, look }, () => Promise.resolve(1))).toBe(1);
  expect(asked).toEqual([]);
});

test('the pod is removed also if the work fails', async () => {
  const work = withImageFiles(digest, { folder, look }, async (read) => {
    await read('/etc/passwd');
    throw new Error('no');
  });

  await expect(work).rejects.toThrow('no');
  expect(asked.at(-1)).toBe('end');
});
