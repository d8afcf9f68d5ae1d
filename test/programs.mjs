/*
 * Has the programs by which tests check what we make, and without which they leave that check out. As root on Debian they
 * are installed where they are missing; elsewhere those are named, and the exit status is 2.
 */
import { spawnSync } from 'node:child_process';
import { installPackages } from './support/debian.mjs';

/** The packages of Debian, by the program. */
const packages = { fish: 'fish', lintian: 'lintian', man: 'man-db', ruby: 'ruby', zsh: 'zsh' };

const missing = () => Object.keys(packages).filter((name) => spawnSync(name, ['--version']).status !== 0);

const before = missing();
if (before.length > 0) installPackages(before.map((name) => packages[name]));
const still = before.length > 0 ? missing() : [];
if (still.length > 0) {
  process.stderr.write(
    `install ${still.join(', ')}: without them, tests leave out what these programs check\n`,
  );
  process.exitCode = 2;
}
