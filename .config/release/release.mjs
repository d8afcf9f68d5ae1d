/*
 * `npm run release -- --url URL --key FILE [--dry-run]`: makes what people install, with the formula of Homebrew, and the
 * sums of all files, signed by an SSH key, in the folder `release`; then tags the commit and publishes the npm package. With
 * `--dry-run` it neither tags nor publishes, and tells what a release would refuse. URL is the folder from which people will
 * load the files. Signatures are checked by `ssh-keygen -Y verify -n containai -s SHA256SUMS.sig ... < SHA256SUMS`.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { formulaOf } from './formula.mjs';

const root = join(import.meta.dirname, '../..');
const release = join(root, 'release');
const { name, version, description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const tarball = join(release, `${name}-${version}.tgz`);
const { values: options } = parseArgs({
  options: { url: { type: 'string' }, key: { type: 'string' }, 'dry-run': { type: 'boolean' } },
});

const run = (command, ...args) => execFileSync(command, args, { cwd: root, encoding: 'utf8' });

/** What a release of this commit must not be without. */
function problems() {
  const found = [];
  const changes = readFileSync(join(root, 'docs/CHANGELOG.md'), 'utf8');
  const headings = changes.split('\n').map((line) => line.replace(/\d{4}-\d\d-\d\d$/, 'DATE'));
  if (!headings.includes(`## [${version}] - DATE`))
    found.push(`docs/CHANGELOG.md has no section "## [${version}] - DATE"`);
  if (run('git', 'status', '--porcelain') !== '') found.push('there are changes that are not committed');
  if (run('git', 'tag', '--list', `v${version}`) !== '') found.push(`the tag v${version} is there already`);
  if (process.env.DEBEMAIL === undefined) found.push('DEBEMAIL does not name the maintainer of the Debian package');
  return found;
}

/** In the form of `sha256sum`, which checks it, too. */
function sumsOf(files) {
  const sumOf = (file) => createHash('sha256').update(readFileSync(join(release, file))).digest('hex');
  return files.map((file) => `${sumOf(file)}  ${file}\n`).join('');
}

const { url, key, 'dry-run': isTrial } = options;
if (url === undefined || key === undefined) {
  console.error('release needs --url URL, from which people load the files, and --key FILE, the SSH key that signs');
  process.exit(2);
}
const found = problems();
for (const each of found) console.error(`release: ${each}`);
if (found.length > 0 && !isTrial) process.exit(1);

rmSync(release, { recursive: true, force: true });
execFileSync('npm', ['run', 'pack:all'], { cwd: root, stdio: 'inherit' });
const address = new URL(`${name}-${version}.tgz`, `${url.replace(/\/$/, '')}/`).href;
writeFileSync(join(release, 'containai.rb'), formulaOf({ tarball, url: address, description }));
const files = readdirSync(release, { withFileTypes: true }).filter((each) => each.isFile());
writeFileSync(join(release, 'SHA256SUMS'), sumsOf(files.map((each) => each.name).sort()));
execFileSync('ssh-keygen', ['-Y', 'sign', '-n', name, '-f', key, join(release, 'SHA256SUMS')], { stdio: 'inherit' });
console.log(`release: version ${version} is in ${release}`);
if (isTrial) process.exit(found.length > 0 ? 1 : 0);
run('git', 'tag', '--annotate', `v${version}`, '--message', `Version ${version}`);
const publish = ['publish', tarball, '--access', 'public'];
// Only a service that npm trusts can say where a package comes from.
if (process.env.ACTIONS_ID_TOKEN_REQUEST_URL !== undefined) publish.push('--provenance');
execFileSync('npm', publish, { cwd: root, stdio: 'inherit' });
console.log(`release: ${name} ${version} is on npm: push the tag v${version}, and upload the files of ${release}`);
