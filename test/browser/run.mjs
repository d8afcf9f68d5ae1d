/*
 * `npm run test:page`: the tests of this folder, in the Chromium of this machine or the one that `CAI_TEST_CHROMIUM`
 * names. As root on Debian it is installed where it is missing; elsewhere that is said, and the exit status is 2. With
 * `CAI_TEST_PICTURES=FOLDER` there are pictures of the page. The arguments are jest's.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { installPackages } from '../support/debian.mjs';

const program = process.env.CAI_TEST_CHROMIUM ?? 'chromium';
const isThere = () => spawnSync(program, ['--version', '--no-sandbox']).status === 0;

if (!isThere()) installPackages(['chromium', 'fonts-dejavu-core']);
if (isThere()) {
  const jest = join(import.meta.dirname, '../../node_modules/jest/bin/jest.js');
  const own = ['--testPathIgnorePatterns=/node_modules/', '--testMatch=**/test/browser/**/*.test.ts'];
  const options = ['--runInBand', '--verbose', ...process.argv.slice(2)];
  process.exitCode =
    spawnSync(process.execPath, [jest, ...own, ...options], { stdio: 'inherit' }).status ?? 1;
} else {
  process.stderr.write(`test:page: there is no ${program}: install it, or name one in CAI_TEST_CHROMIUM\n`);
  process.exitCode = 2;
}
