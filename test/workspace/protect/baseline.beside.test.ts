import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Host } from '../../../src/system/host';
import {
  folderFor,
  readBaseline,
  recordBaseline,
  besidesOf,
  nameOf,
  recordBeside,
} from '../../../src/workspace/protect/baseline';
import { accept, changesIn } from '../../../src/workspace/review/changes';
import { Watch } from '../../../src/workspace/review/watch';
import { newFolder } from '../../support/temp-folder';

let state: string;
let root: string;
let mounted: string;
let git: string;

beforeEach(() => {
  state = new Host({ HOME: newFolder() }).folders.state;
  root = newFolder();
  mounted = newFolder();
  git = newFolder();
  write(join(mounted, '.envrc'));
  write(join(git, 'HEAD'));
  write(join(git, 'config'));
  recordBaseline(state, root, { readOnly: [root] });
  const folders = [
    { folder: mounted, isGit: false },
    { folder: git, isGit: true },
  ];
  recordBeside(state, root, folders, ['/']);
});

function write(path: string, text = path): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

async function news(): Promise<readonly string[]> {
  const watch = new Watch(state, root);
  return await new Promise((resolve, reject) =>
    watch.look([root], ({ changed }) => resolve(changed), reject),
  );
}

test('what an agent makes beside its workspace is told, and listed until it is accepted', async () => {
  expect(besidesOf(state, root)).toEqual([git, mounted].sort());
  expect(changesIn(state, root)).toEqual([]);

  write(join(git, 'commondir'));
  write(join(mounted, '.vscode/tasks.json'));

  const names = [join(git, 'commondir'), join(mounted, '.vscode/tasks.json')].sort();
  expect([...(await news())].sort()).toEqual(names);
  const changes = changesIn(state, root);
  expect(changes.map(({ kind, name }) => `${kind} ${name}`).sort()).toEqual(
    names.map((name) => `new ${name}`),
  );

  accept(state, root, changes);
  expect(changesIn(state, root)).toEqual([]);
  expect(readBaseline(state, git)).toMatchObject({ folder: git, root: git, isGit: true });
});

test('what is left in a folder that later is a workspace is not taken for known there', () => {
  write(join(mounted, '.vscode/tasks.json'));

  recordBaseline(state, mounted, { readOnly: [mounted] });

  expect(changesIn(state, mounted).map(({ name }) => name)).toEqual(['.vscode/tasks.json']);
});

test('a folder that is no longer beside it is not looked at; without a place for records, nothing fails', () => {
  write(join(mounted, '.vscode/tasks.json'));
  recordBeside(state, root, [], []);
  expect([besidesOf(state, root), changesIn(state, root)]).toEqual([[], []]);

  rmSync(folderFor(state, root), { recursive: true });
  write(folderFor(state, root));
  recordBeside(state, root, [{ folder: mounted, isGit: false }], [mounted]);
  expect(besidesOf(state, root)).toEqual([]);
});

test('names are below the root, or whole', () => {
  expect(nameOf('/p', '/p', '.envrc')).toBe('.envrc');
  expect(nameOf('/p', '/p/app', '.envrc')).toBe('app/.envrc');
  expect(nameOf('/p', '/lib', '.envrc')).toBe('/lib/.envrc');
});
