import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import { emptyFolder } from '../../src/workspace/empty-folder';
import { newFolder } from '../support/temp-folder';

describe('emptyFolder', () => {
  it('makes a folder below our state, for us alone', () => {
    const state = newFolder();

    const folder = emptyFolder(new Host({ HOME: '/x', XDG_STATE_HOME: state }).folders.state);

    expect(folder).toBe(join(state, 'containai/no-workspace'));
    expect(readdirSync(folder)).toEqual([]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('does without where the state folder cannot be made', () => {
    const file = join(newFolder(), 'file');
    writeFileSync(file, '');

    expect(emptyFolder(new Host({ HOME: '/x', XDG_STATE_HOME: file }).folders.state)).toBe(tmpdir());
  });
});
