import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findProgram } from '../../src/commands/find-program';
import { newFolder } from '../workspace/temp-folder';

describe('findProgram', () => {
  let home: string;
  let workspace: string;
  let installed: string;

  beforeEach(() => {
    home = newFolder();
    workspace = newFolder();
    installed = program(join(home, 'bin/tool'));
  });

  function program(file: string): string {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '#!/bin/sh\n');
    chmodSync(file, 0o755);
    return file;
  }

  const find = (command: string, path = '/usr/bin') => findProgram(command, home, path, [workspace]);
  const refused = (text: string) =>
    expect.objectContaining({ code: 'WORKSPACE', message: expect.stringContaining(text) as string }) as Error;

  test('finds a path, one from the home folder, and a name', async () => {
    const path = `${join(home, 'bin')}:/usr/bin`;

    expect(await find(installed)).toEqual({ file: installed, path: '/usr/bin' });
    expect(await find('bin/tool')).toMatchObject({ file: installed });
    expect(await find('tool', path)).toEqual({ file: installed, path });
  });

  test('refuses an interpreter of a virtual environment in the workspace, which is a link to one elsewhere', async () => {
    mkdirSync(join(workspace, '.venv/bin'), { recursive: true });
    symlinkSync(installed, join(workspace, '.venv/bin/python'));
    symlinkSync(join(workspace, '.venv/bin/python'), join(home, 'bin/python'));

    for (const command of [join(workspace, '.venv/bin/python'), 'bin/python'])
      await expect(find(command)).rejects.toEqual(refused(`can change what lies in ${workspace}`));
    await expect(find('python', join(home, 'bin'))).rejects.toEqual(refused('can change'));
  });

  test('neither looks into folders that agents can change nor has the program look there', async () => {
    program(join(workspace, 'bin/tool'));
    program(join(workspace, 'bin/other'));
    symlinkSync(join(workspace, 'bin'), join(home, 'link'));
    const path = ['', 'bin', join(workspace, 'bin'), join(home, 'link'), join(home, 'bin')].join(':');

    expect(await find('tool', path)).toEqual({ file: installed, path: join(home, 'bin') });
    await expect(find('other', path)).rejects.toEqual(refused('"other" was not found'));
  });

  test('leaves the program a PATH in any case', async () => {
    expect(await find(installed, join(workspace, 'bin'))).toEqual({ file: installed, path: '/usr/bin:/bin' });
  });

  test('finds nothing that is no program', async () => {
    writeFileSync(join(home, 'notes'), '');

    for (const command of ['notes', './notes', './bin', './none', ''])
      await expect(find(command, home)).rejects.toEqual(refused('was not found'));
  });
});
