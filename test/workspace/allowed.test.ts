import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import { isAllowed } from '../../src/workspace/allowed';
import { newFolder } from '../support/temp-folder';

describe('isAllowed', () => {
  const folder = newFolder();
  const [shop, secret] = [join(folder, 'shop'), join(folder, 'secret')];
  for (const each of [shop, secret]) mkdirSync(each);
  symlinkSync(secret, join(shop, 'out'));
  symlinkSync(shop, join(folder, 'in'));
  const limitedTo = (...folders: string[]) => new Host({ CAI_SERVE_WORKSPACES: JSON.stringify(folders) });

  test('is true of everything where nothing is limited', () => {
    expect([secret, '/', ''].map((each) => isAllowed(new Host({}), each))).toEqual([true, true, true]);
  });

  test.each([
    [shop, true],
    [join(shop, 'not-there/yet'), true],
    [join(folder, 'in'), true],
    [secret, false],
    [folder, false],
    ['/', false],
    ['', false],
    ['shop', false],
    [`${shop}-other`, false],
    [`${shop}/not-there/../../secret`, false],
    [join(shop, 'out'), false],
  ])('of %s: %s', (path, expected) => expect(isAllowed(limitedTo(shop), path)).toBe(expected));

  test('counts each folder of several, and none of none', () => {
    expect([shop, secret].map((each) => isAllowed(limitedTo(shop, secret), each))).toEqual([true, true]);
    expect(isAllowed(limitedTo(), shop)).toBe(false);
  });
});
