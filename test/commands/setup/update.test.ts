import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../../package.json';
import { wayOf } from '../../../src/commands/setup/update';
import { runHere } from '../../support/cli-here';
import { userWith } from '../../support/cli';
import { newFolder } from '../../support/temp-folder';

test('npm updates what npm has installed, in the same place', () => {
  expect(wayOf('/home/ann/.npm/lib/node_modules/containai')).toEqual({ prefix: '/home/ann/.npm' });
});

test.each([
  [undefined, `put a newer single file in the place of ${process.execPath}`],
  ['/opt/homebrew/Cellar/containai/0.1.0/libexec/lib/node_modules/containai', 'run "brew upgrade containai"'],
  ['/home/ann/.npm/_npx/0a1b/node_modules/containai', 'npx runs the newest as containai@latest'],
  [
    '/home/ann/src/app/node_modules/containai',
    'run "npm install containai@latest" in the project that has it',
  ],
  ['/home/ann/.local/lib/containai', 'run the install.sh of a newer version'],
])('says what to do in %s', (folder, advice) => {
  expect((wayOf(folder) as { advice: string }).advice).toContain(advice);
});

test('says what to do where Debian has installed it', () => {
  expect(wayOf(undefined, '/usr/bin/cai')).toEqual({
    advice: 'install the Debian package of a newer version',
  });
});

test('says in a clone what to do', () => {
  const clone = newFolder();
  mkdirSync(join(clone, 'src'));
  writeFileSync(join(clone, 'src/main.ts'), '');

  expect(wayOf(clone)).toEqual({
    advice: `run "git pull && npm ci" in ${clone}, and install it again as before`,
  });
});

test('cai update tells the version', async () => {
  const { status, stderr } = await runHere(['update'], userWith(''));

  expect(stderr).toMatch(new RegExp(`^cai: this is version ${version}: run "git pull && npm ci" in /`));
  expect(status).toBe(1);
});
