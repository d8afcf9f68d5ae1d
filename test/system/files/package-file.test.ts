import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFile } from '../../../src/system/files/package-file';
import { patienceMs } from '../../support/patience';
import { compiled } from '../../support/program';
import { newFolder } from '../../support/temp-folder';

const program = compiled(`
  import { rmSync } from 'node:fs';
  import { packageFile } from './src/system/files/package-file';
  const tell = () => { try { console.log(packageFile('a')); } catch (error) { console.log(error.code + ' ' + error.message); } };
  tell();
  rmSync(process.argv[2], { force: true });
  tell();
`);

/** What the program says from that folder, before and after a file is removed. */
function said(folder: string, removed: string): string {
  const script = join(folder, 'program.js');
  copyFileSync(program, script);
  const options = { timeout: patienceMs, killSignal: 'SIGKILL' } as const;
  return execFileSync(process.execPath, [script, removed], options).toString();
}

test('is below the folder of the package', () => {
  expect(packageFile('bin/cai')).toBe(join(__dirname, '../../../bin/cai'));
});

test('stays where it was when the package is removed', () => {
  const folder = newFolder();
  mkdirSync(join(folder, 'dist'));
  writeFileSync(join(folder, 'package.json'), '{}');

  const output = said(join(folder, 'dist'), join(folder, 'package.json'));

  expect(output).toBe(`${join(folder, 'a')}\n`.repeat(2));
});

test('is an error without the package, and what to do', () => {
  const folder = newFolder();

  const output = said(folder, join(folder, 'package.json'));

  expect(output).toContain(`NO_PACKAGE the files of cai above ${folder} are gone: install it`);
});
