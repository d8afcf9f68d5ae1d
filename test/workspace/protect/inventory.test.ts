import { execFileSync } from 'node:child_process';
import type * as fs from 'node:fs';
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  contentOf,
  contentsOf,
  digestOf,
  fileIn,
  linkIn,
  openState,
  placesIn,
  unitsIn,
} from '../../../src/workspace/protect/inventory';
import { newFolder } from '../../support/temp-folder';

let folder: string;

beforeEach(() => (folder = newFolder()));

function write(path: string, text = path): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

/** What is found, by path. */
function states(): Record<string, string> {
  return Object.fromEntries(placesIn(folder).map((place) => [place.path, contentOf(folder, place).state]));
}

test('finds each file in a protected folder, and no example of a hook', () => {
  write('.vscode/tasks.json');
  write('.vscode/deep/er/launch.json');
  write('.git/hooks/pre-commit');
  write('.git/hooks/pre-commit.sample');
  write('.git/modules/sub/hooks/update.sample');
  write('.vscode/kept.sample');
  write('src/main.ts');

  expect(Object.keys(states())).toEqual([
    '.git/hooks/pre-commit',
    '.vscode/deep/er/launch.json',
    '.vscode/kept.sample',
    '.vscode/tasks.json',
  ]);
});

test('tells of an index that is too much to read, and of configuration that git was not asked about', () => {
  execFileSync('git', ['init', '-q', folder]);
  const links: string[] = [];
  for (const lib of ['a', 'b', 'c', 'd', 'e']) {
    for (const name of ['objects', 'refs']) mkdirSync(join(folder, lib, '.git', name), { recursive: true });
    write(`${lib}/.git/HEAD`, 'ref: refs/heads/main\n');
    write(`${lib}/.git/config`, '');
    write(`${lib}/.git/index`, '');
    truncateSync(join(folder, lib, '.git/index'), 20 * 1_024 * 1_024);
    links.push(`160000 ${'1'.repeat(40)} 0\t${lib}\n`);
  }
  execFileSync('git', ['-C', folder, 'update-index', '--index-info'], { input: links.join('') });

  const crowds = unitsIn(folder, { unasked: ['a/.git/config'] }).filter(({ kind }) => kind === 'crowd');

  expect(crowds.map(({ path }) => path).sort()).toEqual([
    'a/.git/config',
    ...['c', 'd', 'e'].map((lib) => `${lib}/.git/index`),
  ]);
});

test('reads the names of a folder once for all patterns, and tells where that are too many to compare', () => {
  for (let n = 0; n < 1_050; n++) write(`d/f${n}`, '');
  const look = (count: number) =>
    unitsIn(folder, { patterns: Array.from({ length: count }, (_, n) => `d/*a*${n}`) });
  const opened = jest.spyOn(jest.requireActual<typeof fs>('node:fs'), 'opendirSync');

  expect(look(1_900)).toEqual([]);
  expect(opened.mock.calls.filter(([path]) => path === join(folder, 'd'))).toHaveLength(1);
  expect(look(2_000)).toEqual([{ path: 'd', kind: 'folder' }]);
  opened.mockRestore();
});

test('reads so many bytes in one look, and tells the rest by size and time', () => {
  const places = Array.from({ length: 600 }, (_, n) => `.vscode/${String(n).padStart(3, '0')}`);
  for (const path of places) write(path, 'x'.repeat(120 * 1_024));

  const contents = contentsOf(folder, placesIn(folder));

  expect(contents).toHaveLength(600);
  expect(contents.filter(({ bytes }) => bytes !== undefined).length).toBeLessThan(560);
  expect(contents.at(-1)!.state).toMatch(/ of 122880 bytes, changed /);
});

test('tells folders in which others can write, if they hold what is looked at', () => {
  write('.git/HEAD');
  write('.git/hooks/pre-commit');
  write('.git/objects/x');
  write('.claude/hooks/x.sh');
  write('src/main.ts');
  const modes = { '.': 0o777, '.git': 0o775, '.git/hooks': 0o757, '.git/objects': 0o777, '.claude': 0o755, '.claude/hooks': 0o1777, src: 0o777 }; // prettier-ignore
  for (const [path, mode] of Object.entries(modes)) chmodSync(join(folder, path), mode);

  const open = Object.entries(states()).filter(([, state]) => state.startsWith(openState));

  expect(open).toEqual([
    ['./', 'open folder 777'],
    ['.claude/hooks/', 'open folder 1777'],
    ['.git/', 'open folder 775'],
    ['.git/hooks/', 'open folder 757'],
  ]);
});

test('tells a file by its bytes and permissions, which can be read back', () => {
  write('.envrc', 'a');
  chmodSync(join(folder, '.envrc'), 0o600);
  const { '.envrc': before } = states();
  expect(fileIn(before!)).toEqual({ mode: 0o600, digest: digestOf('a') });

  chmodSync(join(folder, '.envrc'), 0o755);
  const { '.envrc': executable } = states();
  write('.envrc', 'b');
  const { '.envrc': changed } = states();

  expect(new Set([before, executable, changed]).size).toBe(3);
});

test('reads no file that is large, and tells it from one of the same size', () => {
  write('mise.toml', '');
  truncateSync(join(folder, 'mise.toml'), 2 ** 40);
  const [place] = placesIn(folder);
  const first = contentOf(folder, place!);
  const later = contentOf(folder, { ...place!, stats: Object.assign(place!.stats!, { ctimeMs: 1 }) });

  expect(first.bytes).toBeUndefined();
  expect(fileIn(first.state)).toBeUndefined();
  expect(later.state).not.toBe(first.state);
});

test('follows no link, and waits for no FIFO', () => {
  const secret = join(newFolder(), 'secret');
  writeFileSync(secret, 'SECRET');
  symlinkSync(secret, join(folder, '.envrc'));
  mkdirSync(join(folder, '.zed'));
  symlinkSync(dirname(secret), join(folder, '.zed/link'));
  symlinkSync(dirname(secret), join(folder, '.idea'));
  execFileSync('mkfifo', [join(folder, 'mise.toml')]);

  expect(states()).toEqual({
    '.envrc': `link ${secret}`,
    '.idea': `link ${dirname(secret)}`,
    '.zed/link': `link ${dirname(secret)}`,
    'mise.toml': 'other',
  });
  expect(linkIn(`link ${secret}`)).toBe(secret);
  expect(linkIn('other')).toBeUndefined();
});

test('reads nothing that lies elsewhere by the time it is read', () => {
  write('.vscode/tasks.json', 'mine');
  const [place] = placesIn(folder);
  const elsewhere = newFolder();
  writeFileSync(join(elsewhere, 'tasks.json'), 'SECRET');
  execFileSync('rm', ['-r', join(folder, '.vscode')]);
  symlinkSync(elsewhere, join(folder, '.vscode'));

  expect(contentOf(folder, place!)).toEqual({
    state: expect.stringMatching(/^file 644 of 4 bytes, changed /) as string,
  });
});

test('tells each change of a file that cannot be read: not all of them are one state', () => {
  write('.vscode/tasks.json', 'mine');
  const [place] = placesIn(folder);
  // More than there was at the first look is not read.
  write('.vscode/tasks.json', 'longer than that');
  const stateAt = (ctimeMs: number): string =>
    contentOf(folder, { ...place!, stats: Object.assign(place!.stats!, { ctimeMs }) }).state;

  expect(stateAt(1)).toBe('file 644 of 4 bytes, changed 1');
  expect(stateAt(2)).not.toBe(stateAt(1));
});

test('counts an index that cannot be read as a crowd: which repositories it names is not known', () => {
  write('.git/index');
  expect(states()).toEqual({});
  execFileSync('ln', ['-sf', 'elsewhere', join(folder, '.git/index')]);
  expect(states()).toEqual({ '.git/index': 'crowd' });
});

test('of a folder with very much in it only says so', () => {
  mkdirSync(join(folder, '.idea'));
  for (let i = 0; i <= 1_000; i++) writeFileSync(join(folder, `.idea/${i}`), '');
  write('.envrc');

  expect(states()).toEqual({ '.envrc': expect.stringMatching(/^file /) as string, '.idea': 'crowd' });
});
