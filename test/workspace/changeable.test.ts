import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { changeableThrough } from '../../src/workspace/changeable';
import { newFolder } from './temp-folder';

describe('changeableThrough', () => {
  let place: string;
  let theirs: string;
  let ours: string;

  beforeEach(() => {
    place = newFolder();
    theirs = join(place, 'theirs');
    ours = join(place, 'ours');
    mkdirSync(join(theirs, 'bin'), { recursive: true });
    mkdirSync(join(ours, 'bin'), { recursive: true });
    writeFileSync(join(theirs, 'bin/tool'), '');
    writeFileSync(join(ours, 'bin/tool'), '');
  });

  const link = (target: string, name: string): string => {
    symlinkSync(target, join(place, name));
    return join(place, name);
  };

  test.each([
    ['a file there', () => join(theirs, 'bin/tool')],
    ['the folder itself', () => theirs],
    ['a link to a file there', () => link(join(theirs, 'bin/tool'), 'ours/link')],
    ['a link there that leads out', () => link(join(ours, 'bin/tool'), 'theirs/link')],
    [
      'a folder there that is a link and leads out',
      () => join(link(join(ours, 'bin'), 'theirs/venv'), 'tool'),
    ],
    [
      'links elsewhere that pass one there',
      () => link(link(join(ours, 'bin/tool'), 'theirs/link'), 'ours/link'),
    ],
    ['a way that goes in and out again', () => link('../theirs/bin/../../ours/bin/tool', 'ours/link')],
    ['another name of the folder', () => join(link(theirs, 'alias'), 'bin/tool')],
    ['what is not there yet', () => join(theirs, 'new/tool')],
  ])('names the folder for %s', async (_, path) => {
    expect(await changeableThrough(path(), [join(place, 'missing'), ours + '/none', theirs])).toBe(theirs);
  });

  test('names a file that is the other one under another name', async () => {
    linkSync(join(theirs, 'bin/tool'), join(ours, 'same'));

    expect(await changeableThrough(join(ours, 'same'), [join(theirs, 'bin/tool')])).toBeDefined();
  });

  test('names none for what has no part in them', async () => {
    mkdirSync(`${theirs}-too`);
    writeFileSync(join(`${theirs}-too`, 'tool'), '');
    const path = link(join(`${theirs}-too`, 'tool'), 'ours/link');

    expect(await changeableThrough(path, [theirs, join(place, 'missing')])).toBeUndefined();
  });

  test('rejects where the way has no end', async () => {
    link('loop', 'loop');

    await expect(changeableThrough(join(place, 'loop'), [theirs])).rejects.toMatchObject({ code: 'ELOOP' });
  });
});
