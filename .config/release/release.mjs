/*
 * `npm run release -- --url URL --key FILE`: makes what people install, and the sums of all files, signed by an SSH key, in
 * the folder `release`; then tags the commit and publishes the npm package. URL is the folder from which people will load the
 * files; FILE is the key, with its public part beside it. With `--dry-run` it neither tags nor publishes, tells what a release
 * would refuse, and needs neither: it signs with a key that is gone afterwards. Signatures are checked by
 * `ssh-keygen -Y verify -n containai -I containai -f allowed_signers -s SHA256SUMS.sig < SHA256SUMS`.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname, '../..');
const release = join(root, 'release');
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
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

/** Of all files, in the form of `sha256sum`, which checks it, too. */
function sums() {
  const sumOf = (file) => createHash('sha256').update(readFileSync(join(release, file))).digest('hex');
  const entries = readdirSync(release, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((each) => each.isFile())
    .map((each) => relative(release, join(each.parentPath, each.name)));
  return files
    .sort()
    .map((file) => `${sumOf(file)}  ${file}\n`)
    .join('');
}

/** Signs the sums, and checks that as people will. */
function sign(key) {
  const [file, signers] = [join(release, 'SHA256SUMS'), join(release, 'allowed_signers')];
  writeFileSync(signers, `${name} ${readFileSync(`${key}.pub`, 'utf8')}`);
  writeFileSync(file, sums());
  execFileSync('ssh-keygen', ['-Y', 'sign', '-n', name, '-f', key, file], { stdio: 'inherit' });
  const check = ['-Y', 'verify', '-n', name, '-I', name, '-f', signers, '-s', `${file}.sig`];
  execFileSync('ssh-keygen', check, { input: readFileSync(file), stdio: ['pipe', 'inherit', 'inherit'] });
}

/** Signs with a key that is made for it. */
function signForTrial() {
  const folder = mkdtempSync(join(tmpdir(), 'cai-release-'));
  try {
    const key = join(folder, 'key');
    run('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'dry run', '-f', key);
    sign(key);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const { url, key, 'dry-run': isTrial } = options;
if (!isTrial && (url === undefined || key === undefined)) {
  console.error(
    'release needs --url URL, from which people load the files, and --key FILE, the SSH key that signs; or --dry-run',
  );
  process.exit(2);
}
const found = problems();
for (const each of found) console.error(`release: ${each}`);
if (found.length > 0 && !isTrial) process.exit(1);

rmSync(release, { recursive: true, force: true });
const place = url === undefined ? [] : ['--', '--url', url];
execFileSync('npm', ['run', 'pack:all', ...place], { cwd: root, stdio: 'inherit' });
if (key === undefined) signForTrial();
else sign(key);
console.log(`release: version ${version} is in ${release}`);
if (isTrial) process.exit(found.length > 0 ? 1 : 0);
run('git', 'tag', '--annotate', `v${version}`, '--message', `Version ${version}`);
const publish = ['publish', join(release, `${name}-${version}.tgz`), '--access', 'public'];
// Only a service that npm trusts can say where a package comes from.
if (process.env.ACTIONS_ID_TOKEN_REQUEST_URL !== undefined) publish.push('--provenance');
execFileSync('npm', publish, { cwd: root, stdio: 'inherit' });
console.log(`release: ${name} ${version} is on npm: push the tag v${version}, and upload the files of ${release}`);
