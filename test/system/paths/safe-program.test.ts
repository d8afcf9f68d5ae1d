import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import { rememberAgentFolders } from '../../../src/system/paths/agent-folders';
import { askGit } from '../../../src/workspace/git';
import { safeProgram } from '../../../src/system/paths/safe-program';
import { newFolder } from '../../support/temp-folder';

let home: string;
let workspace: string;

beforeEach(() => {
  home = newFolder();
  workspace = newFolder();
  for (const folder of [home, workspace]) {
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'bin/git'), `#!/bin/sh\necho ${folder}\n`);
    chmodSync(join(folder, 'bin/git'), 0o755);
  }
  rememberAgentFolders(new Host({ HOME: home }).folders.state, [workspace]);
});

const envWith = (...folders: string[]): NodeJS.ProcessEnv => ({ HOME: home, PATH: folders.join(':') });

describe('safeProgram', () => {
  test('is the first in PATH that no agent of any workspace can change', () => {
    symlinkSync(join(workspace, 'bin'), join(home, 'link'));
    symlinkSync(join(workspace, 'bin/git'), join(workspace, 'git'));
    mkdirSync(join(home, 'linked'));
    symlinkSync(join(workspace, 'git'), join(home, 'linked/git'));
    const host = new Host(
      envWith(join(workspace, 'bin'), join(home, 'link'), join(home, 'linked'), join(home, 'bin')),
    );

    expect(safeProgram('git', host)).toBe(join(home, 'bin/git'));
  });

  test('is none where only an agent offers one, and for what is no program', () => {
    writeFileSync(join(home, 'bin/notes'), '');

    expect(safeProgram('git', new Host(envWith(join(workspace, 'bin'))))).toBeUndefined();
    expect(safeProgram('notes', new Host(envWith(join(home, 'bin'))))).toBeUndefined();
  });
});

describe('git, as we ask it,', () => {
  test('is not the one of a workspace elsewhere', async () => {
    expect(await askGit([], { host: new Host(envWith(join(workspace, 'bin'), join(home, 'bin'))) })).toBe(
      `${home}\n`,
    );
    await expect(askGit([], { host: new Host(envWith(join(workspace, 'bin'))) })).rejects.toThrow(
      'no git was found',
    );
  });
});
