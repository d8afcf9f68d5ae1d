import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Host } from '../../../src/system/host';
import { findProgram } from '../../../src/commands/run/find-program';
import { AgentFolders, rememberAgentFolders } from '../../../src/system/paths/agent-folders';
import { newFolder } from '../../support/temp-folder';

describe('findProgram', () => {
  let home: string;
  let workspace: string;
  let installed: string;
  let state: string;

  beforeEach(() => {
    home = newFolder();
    state = new Host({ HOME: home }).folders.state;
    workspace = newFolder();
    installed = program(join(home, 'bin/tool'));
  });

  function program(file: string, text = '#!/bin/sh\n'): string {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, 0o755);
    return file;
  }

  const find = (command: string, path = '/usr/bin', more: readonly string[] = [workspace]) =>
    findProgram(command, { home, path, folders: new AgentFolders(state, more) });
  const refused = (text: string) =>
    expect.objectContaining({ code: 'WORKSPACE', message: expect.stringContaining(text) as string }) as Error;

  test('finds a path, one from the home folder, and a name', () => {
    const path = `${join(home, 'bin')}:/usr/bin`;

    expect(find(installed)).toEqual({ file: installed, path: '/usr/bin' });
    expect(find('bin/tool')).toMatchObject({ file: installed });
    expect(find('tool', path)).toEqual({ file: installed, path });
  });

  test('refuses an interpreter of a virtual environment in the workspace, which is a link to one elsewhere', () => {
    mkdirSync(join(workspace, '.venv/bin'), { recursive: true });
    symlinkSync(installed, join(workspace, '.venv/bin/python'));
    symlinkSync(join(workspace, '.venv/bin/python'), join(home, 'bin/python'));

    for (const command of [join(workspace, '.venv/bin/python'), 'bin/python'])
      expect(() => find(command)).toThrow(refused(`can change what lies in ${workspace}`));
    expect(() => find('python', join(home, 'bin'))).toThrow(refused('can change'));
  });

  test('neither looks into folders that agents can change nor has the program look there', () => {
    program(join(workspace, 'bin/tool'));
    program(join(workspace, 'bin/other'));
    symlinkSync(join(workspace, 'bin'), join(home, 'link'));
    const path = ['', 'bin', join(workspace, 'bin'), join(home, 'link'), join(home, 'bin')].join(':');

    expect(find('tool', path)).toEqual({ file: installed, path: join(home, 'bin') });
    expect(() => find('other', path)).toThrow(refused('"other" was not found'));
  });

  test('leaves the program a PATH in any case', () => {
    expect(find(installed, join(workspace, 'bin'))).toEqual({ file: installed, path: '/usr/bin:/bin' });
  });

  test('finds nothing that is no program', () => {
    writeFileSync(join(home, 'notes'), '');

    for (const command of ['notes', './notes', './bin', './none', ''])
      expect(() => find(command, home)).toThrow(refused('was not found'));
  });

  describe('with another workspace, of whose container nothing is known here', () => {
    let other: string;
    const refusal = () => refused(`can change what lies in ${other}`);

    beforeEach(() => {
      other = newFolder();
      rememberAgentFolders(state, [other]);
    });

    test('refuses a program there', () => {
      expect(() => find(program(join(other, 'tool')))).toThrow(refusal());
    });

    test('refuses a link to a program that goes through a link there', () => {
      symlinkSync(installed, join(other, 'link'));
      symlinkSync(join(other, 'link'), join(home, 'bin/linked'));

      expect(() => find('bin/linked')).toThrow(refusal());
    });

    test('looks past a folder of PATH that lies there, or is a link there', () => {
      program(join(other, 'bin/tool'));
      symlinkSync(join(other, 'bin'), join(home, 'path'));
      const path = [join(other, 'bin'), join(home, 'path'), join(home, 'bin')].join(':');

      expect(find('tool', path)).toEqual({ file: installed, path: join(home, 'bin') });
    });

    test.each([
      ['that lies there', () => `#!${join(other, 'interpreter')}\n`],
      ['behind blanks', () => `#! \t ${join(other, 'interpreter')} -x\n`],
      ['that env starts', () => `#!/usr/bin/env ${join(other, 'interpreter')}\n`],
      ['that env starts among options', () => `#!/usr/bin/env -S A=1 ${join(other, 'interpreter')} x`],
      ['of its interpreter', () => `#!${program(join(home, 'i'), `#!${join(other, 'interpreter')}\n`)}\n`],
    ])('refuses a script with an interpreter %s', (_, line) => {
      program(join(other, 'interpreter'));
      program(installed, line());

      expect(() => find(installed)).toThrow(refusal());
    });

    test('tells what to do where no agent works any more', () => {
      expect(() => find(program(join(other, 'tool')))).toThrow(`run: cai trust --forget "${other}"`);
    });
  });
});
