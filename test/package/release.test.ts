/**
 * `npm run release -- --dry-run` on a clean checkout: all that it makes for people and for registries. In the single files
 * for other machines a program that does nothing stands for Node; `single.test.ts` has one of macOS.
 */
import { execFileSync, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { version } from '../../package.json';
import { commandOf } from '../../src/agent/registry/installation';
import { readEntry } from '../../src/agent/registry/entry';
import { newFolder } from '../support/temp-folder';

const root = resolve(__dirname, '../..');
const checkout = newFolder();
const release = join(checkout, 'release');
const tarball = join(release, `containai-${version}.tgz`);
const deb = join(release, 'cai-linux-x64.deb');
let dryRun: SpawnSyncReturns<string>;

/** The checker of such files, if this machine has it. */
const check = (program: string, ...args: string[]): { status: number | null; output: string } | undefined => {
  const { error, status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (error === undefined) return { status, output: `${stdout}${stderr}` };
  process.stderr.write(`not checked by ${program}: ${error.message}\n`);
  return undefined;
};
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((each) =>
    statSync(join(folder, each)).isFile(),
  );

/** Makes a clean checkout of what is here. */
function checkOut(): void {
  const isLeftOut = (path: string): boolean => ['.git', 'node_modules', 'release'].includes(basename(path));
  for (const each of readdirSync(root).filter((name) => !isLeftOut(name)))
    cpSync(join(root, each), join(checkout, each), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', checkout, '-c', 'user.name=me', '-c', 'user.email=me@example.org', ...args]);
  git('init', '--quiet');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'All of it');
}

/** A package with Node, below a new folder. */
function packageWith(node: Buffer): string {
  const folder = newFolder();
  mkdirSync(join(folder, 'package/bin'), { recursive: true });
  writeFileSync(join(folder, 'package/bin/node'), node, { mode: 0o755 });
  writeFileSync(join(folder, 'package/LICENSE'), '');
  return folder;
}

/** A folder for PATH with an npm that has the Node of this process, and a program that does nothing for other machines. */
function npmWithoutOthers(): string {
  const own = packageWith(readFileSync(process.execPath));
  const fuse = Buffer.from('NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:0');
  const other = packageWith(Buffer.concat([readFileSync('/bin/true'), fuse]));
  const npm = execFileSync('which', ['npm'], { encoding: 'utf8' }).trim();
  const script = `#!/bin/sh
case "$*" in
  'pack --silent node-linux-${process.arch}@'*) folder='${own}' ;;
  'pack --silent node-'*) folder='${other}' ;;
  *) exec '${npm}' "$@" ;;
esac
tar -c -C "$folder" package | gzip -1 >node.tgz && echo node.tgz
`;
  const programs = newFolder();
  writeFileSync(join(programs, 'npm'), script, { mode: 0o755 });
  return programs;
}

beforeAll(() => {
  checkOut();
  dryRun = spawnSync('npm', ['run', '--silent', 'release', '--', '--dry-run'], {
    cwd: checkout,
    env: { ...process.env, PATH: `${npmWithoutOthers()}:${process.env.PATH}`, DEBEMAIL: 'me@example.org' },
    encoding: 'utf8',
  });
});

describe('npm run release -- --dry-run', () => {
  test('makes all that people install, and finds nothing missing', () => {
    const { status, stdout, stderr } = dryRun;

    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: expect.not.stringContaining('release:') as string,
    });
    expect(stdout).toMatch(new RegExp(`^release: version ${version} is in ${release}$`, 'm'));
    expect(filesIn(release).sort()).toEqual([
      'SHA256SUMS',
      'SHA256SUMS.sig',
      ...['agent.json', 'icon.svg'].map((name) => `acp-registry/containai/${name}`),
      'allowed_signers',
      ...['arm64', 'arm64.deb', 'x64', 'x64.deb'].map((name) => `cai-linux-${name}`),
      ...['arm64', 'x64'].map((name) => `cai-macos-${name}`),
      basename(tarball),
      'containai.rb',
      'install.sh',
    ]);
  });

  test('has the sum of each file, which is signed', () => {
    const sums = readFileSync(join(release, 'SHA256SUMS'));
    const summed = sums.toString().trim().split('\n');
    const rest = ['SHA256SUMS', 'SHA256SUMS.sig'];
    const signers = ['-I', 'containai', '-f', 'allowed_signers', '-s', 'SHA256SUMS.sig'];
    const verify = (input: Buffer) =>
      spawnSync('ssh-keygen', ['-Y', 'verify', '-n', 'containai', ...signers], { cwd: release, input });

    expect(summed.map((line) => line.split('  ')[1])).toEqual(
      filesIn(release)
        .filter((each) => !rest.includes(each))
        .sort(),
    );
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: release });
    expect(verify(sums).status).toBe(0);
    expect(verify(Buffer.concat([sums, Buffer.from('\n')])).status).not.toBe(0);
  });

  test('leaves no tag', () => {
    expect(execFileSync('git', ['-C', checkout, 'tag', '--list'], { encoding: 'utf8' })).toBe('');
  });
});

describe('the Debian package', () => {
  test('says what it is and needs', () => {
    const fields = execFileSync('dpkg-deb', ['--field', deb], { encoding: 'utf8' });

    expect(fields).toMatch(/^Package: containai$/m);
    expect(fields).toMatch(new RegExp(`^Version: ${version}$`, 'm'));
    expect(fields).toMatch(/^Architecture: amd64$/m);
    expect(fields).toMatch(/^Maintainer: The developers of cai <me@example\.org>$/m);
    expect(fields).toMatch(/^Depends: git, /m);
  });

  test('has the program, completions, the manual page and the licences, which everybody can read', () => {
    const target = newFolder();
    execFileSync('dpkg-deb', ['--extract', deb, target]);
    const listing = execFileSync('dpkg-deb', ['--contents', deb], { encoding: 'utf8' }).trim().split('\n');

    expect(filesIn(target).sort()).toEqual([
      'usr/bin/cai',
      'usr/share/bash-completion/completions/cai',
      ...['LICENCES.gz', 'changelog.gz', 'copyright'].map((each) => `usr/share/doc/containai/${each}`),
      'usr/share/fish/vendor_completions.d/cai.fish',
      'usr/share/lintian/overrides/containai',
      'usr/share/man/man1/cai.1.gz',
      'usr/share/zsh/vendor-completions/_cai',
    ]);
    const manual = gunzipSync(readFileSync(join(target, 'usr/share/man/man1/cai.1.gz'))).toString();
    expect(manual).toMatch(/^\.TH CAI 1/);
    expect(listing.filter((line) => !/^(drwx|-rw.)r[-x].r[-x]. root\/root /.test(line))).toEqual([]);
  });

  test("is what Debian's own checker accepts", () => {
    const found = check('lintian', '--allow-root', '--fail-on', 'none', deb);
    if (found === undefined) return;

    expect(found.output.split('\n').filter((line) => /^[EW]:/.test(line))).toEqual([]);
  });
});

test('the formula of Homebrew names the package, where it is, and its sum, and is Ruby', () => {
  const file = join(release, 'containai.rb');
  const [sum] = execFileSync('sha256sum', [tarball], { encoding: 'utf8' }).split(' ');

  expect(readFileSync(file, 'utf8')).toContain(
    `  homepage "file://${release}/"\n  url "file://${tarball}"\n  sha256 "${sum}"\n`,
  );
  const syntax = check('ruby', '-wc', file);
  if (syntax !== undefined) expect(syntax).toEqual({ status: 0, output: 'Syntax OK\n' });
});

test('the entry of the ACP registry is one that we would install, with an icon in one colour', () => {
  const folder = join(release, 'acp-registry/containai');
  const entry = readEntry(JSON.parse(readFileSync(join(folder, 'agent.json'), 'utf8')));
  const icon = readFileSync(join(folder, 'icon.svg'), 'utf8');

  expect(entry.id).toBe('containai');
  expect(commandOf(entry).at(-2)).toBe('--acp');
  expect(icon).toContain('width="16" height="16"');
  expect([...icon.matchAll(/(?:fill|stroke)="(.*?)"/g)].map(([, colour]) => colour)).toEqual([
    'none',
    'currentColor',
    'currentColor',
  ]);
});

describe('npm run release', () => {
  const scripts = '.config/release';
  const run = (folder: string, ...args: string[]) => {
    const { DEBEMAIL: _, ...env } = process.env;
    return spawnSync(process.execPath, [join(folder, scripts, 'release.mjs'), ...args], {
      env,
      encoding: 'utf8',
    });
  };

  test('needs an address and a key', () => {
    const { status, stderr } = run(root);

    expect(status).toBe(2);
    expect(stderr).toBe(
      'release needs --url URL, from which people load the files, and --key FILE, the SSH key that signs; or --dry-run\n',
    );
  });

  test('makes nothing of a version without a date, or of changes that are not committed', () => {
    const copy = newFolder();
    mkdirSync(join(copy, scripts), { recursive: true });
    mkdirSync(join(copy, 'docs'));
    cpSync(join(root, scripts, 'release.mjs'), join(copy, scripts, 'release.mjs'));
    writeFileSync(join(copy, 'package.json'), JSON.stringify({ name: 'containai', version: '9.0.0' }));
    writeFileSync(join(copy, 'docs/CHANGELOG.md'), '## [Unreleased]\n');
    execFileSync('git', ['init', '--quiet', copy]);

    const { status, stderr } = run(copy, '--url', 'https://example.org', '--key', 'k');

    expect(status).toBe(1);
    expect(stderr.split('\n')).toEqual([
      'release: docs/CHANGELOG.md has no section "## [9.0.0] - DATE"',
      'release: there are changes that are not committed',
      'release: DEBEMAIL does not name the maintainer of the Debian package',
      '',
    ]);
    expect(readdirSync(copy).sort()).toEqual(['.config', '.git', 'docs', 'package.json']);
  });
});
