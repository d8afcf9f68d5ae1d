import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import { readState, tryState } from '../../src/system/state-folder';
import { newFolder } from '../support/temp-folder';
import { expectedError } from '../expected-error';
import { unlessGone } from '../../src/system/unless';

/** Something that no user, root included, can take for a folder. */
function fileInPlace(): string {
  const file = join(newFolder(), 'file');
  writeFileSync(file, '');
  return file;
}

describe('readState', () => {
  test('gives what is read below the state folder, also of what is not there', () => {
    const home = newFolder();

    expect(readState(new Host({ HOME: home }).folders.state, 'logs', (path) => path)).toBe(
      join(home, '.local/state/containai/logs'),
    );
    expect(
      readState(new Host({ HOME: home }).folders.state, 'logs', (path) =>
        unlessGone(() => readdirSync(path)),
      ),
    ).toBeUndefined();
  });

  test('names what cannot be read, and says what to do', () => {
    const base = fileInPlace();
    const read = () =>
      readState(new Host({ XDG_STATE_HOME: base }).folders.state, 'logs', (path) => readdirSync(path));

    expect(read).toThrow(
      expect.objectContaining(
        expectedError(
          'CONFIG',
          /containai\/logs cannot be read: not a directory: make .*\/file\/containai a folder that you can read and write/,
        ),
      ) as Error,
    );
  });

  test('lets a bug be one', () => {
    const read = () =>
      readState(
        new Host({ HOME: newFolder() }).folders.state,
        'logs',
        () => (undefined as unknown as string).length,
      );

    expect(read).toThrow(TypeError);
  });
});

describe('tryState', () => {
  test.each(['there', 'still to be made'])('leaves nothing behind where the folder is %s', (which) => {
    const home = newFolder();
    const state = join(home, 'state/containai');
    if (which === 'there') mkdirSync(join(state, 'logs'), { recursive: true });

    tryState(state);

    expect(existsSync(state)).toBe(which === 'there');
    expect(readdirSync(which === 'there' ? state : home)).toEqual(which === 'there' ? ['logs'] : []);
  });

  test('fails where a file is in the way', () => {
    expect(() => tryState(join(fileInPlace(), 'containai'))).toThrow('ENOTDIR');
  });

  test('fails for something in it that cannot be used', () => {
    const state = newFolder();
    symlinkSync('/gone', join(state, 'sessions.ndjson'));

    expect(() => tryState(state)).toThrow('sessions.ndjson');
  });
});
