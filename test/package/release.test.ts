/** What is made of the package for those who do not use npm, and for registries. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { version } from '../../package.json';
import { commandOf } from '../../src/agent/registry/installation';
import { readEntry } from '../../src/agent/registry/entry';
import { newFolder } from '../support/temp-folder';

const root = resolve(__dirname, '../..');
const scripts = join(root, '.config/release');
const release = newFolder();
const stage = newFolder();
const single = join(newFolder(), 'cai');
const deb = join(release, 'cai.deb');

/** A module of the release's, run with one argument; resolves with what it prints. */
const made = (module: string, make: string, argument: object): string => {
  const program = `import { ${make} } from ${JSON.stringify(join(scripts, module))}; process.stdout.write(${make}(${JSON.stringify(argument)}) ?? '');`;
  return execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
};
/** The checker of such files, if this machine has it. */
const check = (program: string, ...args: string[]): { status: number | null; output: string } | undefined => {
  const { error, status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (error === undefined) return { status, output: `${stdout}${stderr}` };
  process.stderr.write(`not checked by ${program}: ${error.message}\n`);
  return undefined;
};

beforeAll(() => {
  execFileSync(process.execPath, [join(scripts, 'pack.mjs'), release]);
  const tarball = join(release, `containai-${version}.tgz`);
  execFileSync('tar', ['-xzf', tarball, '-C', stage, '--strip-components=1']);
  // What is in it is for the tests of the single file.
  writeFileSync(single, '#!/bin/sh\n', { mode: 0o755 });
  made('deb.mjs', 'makeDeb', { file: deb, single, arch: 'x64', stage, version });
});

describe('the Debian package', () => {
  test('says what it is and needs', () => {
    const fields = execFileSync('dpkg-deb', ['--field', deb], { encoding: 'utf8' });

    expect(fields).toMatch(/^Package: containai$/m);
    expect(fields).toMatch(new RegExp(`^Version: ${version}$`, 'm'));
    expect(fields).toMatch(/^Architecture: amd64$/m);
    expect(fields).toMatch(/^Depends: git, /m);
  });

  test('has the program, completions, the manual page and the licences, which everybody can read', () => {
    const target = newFolder();
    execFileSync('dpkg-deb', ['--extract', deb, target]);
    const files = readdirSync(target, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name).slice(target.length + 1));
    const listing = execFileSync('dpkg-deb', ['--contents', deb], { encoding: 'utf8' }).trim().split('\n');

    expect(files.sort()).toEqual([
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

  test("is what Debian's own checker accepts, but for the address that is given only for a release", () => {
    const found = check('lintian', '--allow-root', '--fail-on', 'none', deb);
    if (found === undefined) return;

    const lines = found.output.split('\n').filter((line) => /^[EW]:/.test(line));
    expect(lines.filter((line) => !line.includes('bogus-mail-host'))).toEqual([]);
  });
});

test('the formula of Homebrew names the package and its sum, and is Ruby', () => {
  const tarball = join(release, `containai-${version}.tgz`);
  const url = `https://example.org/v${version}/containai-${version}.tgz`;
  const formula = made('formula.mjs', 'formulaOf', { tarball, url, description: 'Run agents' });
  const [sum] = execFileSync('sha256sum', [tarball], { encoding: 'utf8' }).split(' ');

  expect(formula).toContain(
    `  homepage "https://example.org/v${version}/"\n  url "${url}"\n  sha256 "${sum}"\n`,
  );
  const file = join(newFolder(), 'containai.rb');
  writeFileSync(file, formula);
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
  const program = join(scripts, 'release.mjs');
  const run = (...args: string[]) => spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });

  test('needs an address and a key', () => {
    const { status, stderr } = run('--dry-run');

    expect(status).toBe(2);
    expect(stderr).toBe(
      'release needs --url URL, from which people load the files, and --key FILE, the SSH key that signs\n',
    );
  });

  test('makes nothing of a version without a date, or of changes that are not committed', () => {
    const copy = newFolder();
    mkdirSync(join(copy, '.config/release'), { recursive: true });
    mkdirSync(join(copy, 'docs'));
    for (const each of ['release.mjs', 'formula.mjs'])
      writeFileSync(join(copy, '.config/release', each), readFileSync(join(scripts, each)));
    writeFileSync(join(copy, 'package.json'), JSON.stringify({ name: 'containai', version: '9.0.0' }));
    writeFileSync(join(copy, 'docs/CHANGELOG.md'), '## [Unreleased]\n');
    execFileSync('git', ['init', '--quiet', copy]);
    const { DEBEMAIL: _, ...env } = process.env;
    const copied = join(copy, '.config/release/release.mjs');

    const { status, stderr } = spawnSync(
      process.execPath,
      [copied, '--url', 'https://example.org', '--key', 'k'],
      { env, encoding: 'utf8' },
    );

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
