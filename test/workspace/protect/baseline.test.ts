import {
  chmodSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import {
  copyOf,
  folderFor,
  innerBaselines,
  readBaseline,
  readTold,
  recordBaseline,
  writeTold,
} from '../../../src/workspace/protect/baseline';
import { digestOf } from '../../../src/workspace/protect/inventory';
import { newFolder } from '../../support/temp-folder';
import { root, state, write } from './recorded-root';

/** Waits until files have a later time of change than those that are there: the system's clock for them is coarse. */
function tick(): void {
  const probe = join(root, 'probe');
  writeFileSync(probe, '');
  const before = statSync(probe).ctimeMs;
  do writeFileSync(probe, 'x');
  while (statSync(probe).ctimeMs === before);
  while (Date.now() <= before);
}

describe('a baseline', () => {
  test('holds what was there at first, with copies that only the user can read', () => {
    write('.envrc', 'one');
    mkdirSync(join(root, '.vscode'));

    recordBaseline(state, root);
    write('.envrc', 'two');
    recordBaseline(state, root);

    const baseline = readBaseline(state, root)!;
    expect(baseline).toMatchObject({ folder: root, root });
    expect([...baseline.units]).toEqual(['.envrc', '.vscode']);
    expect([...baseline.states]).toEqual([['.envrc', expect.stringContaining(digestOf('one'))]]);
    expect(copyOf(state, root, digestOf('one'))!.toString()).toBe('one');
    const place = folderFor(state, root);
    expect(statSync(place).mode & 0o777).toBe(0o700);
    expect(statSync(join(place, 'baseline.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(place, 'copies', digestOf('one'))).mode & 0o777).toBe(0o600);
    expect(readdirSync(place).sort()).toEqual(['baseline.json', 'copies']);
  });

  test('of a folder in another leaves out what was changed since agents could write there', () => {
    write('app/.vscode/old.json');
    write('app/.envrc', 'before');
    tick();
    recordBaseline(state, root);
    tick();
    write('app/.vscode/new.json');
    write('app/.envrc', 'after');
    // An agent can set the other times, and move what it has made.
    utimesSync(join(root, 'app/.vscode/new.json'), 1, 1);
    renameSync(join(root, 'app'), join(root, 'application'));

    recordBaseline(state, join(root, 'application'), { root });

    const [inner, ...more] = innerBaselines(state, root);
    expect(more).toEqual([]);
    expect(inner!.at).toBe(readBaseline(state, root)!.at);
    expect([...inner!.states.keys()]).toEqual(['.vscode/old.json']);
  });

  test.each([
    ['no JSON', '{'],
    ['null', 'null'],
    ['of another folder', JSON.stringify({ folder: '/x', root: '/x', at: 1, units: [], states: {} })],
    ['without states', JSON.stringify({ folder: '/x', root: '/x', at: 1, units: [] })],
  ])('that is damaged is none: %s', (_, text) => {
    recordBaseline(state, root);
    writeFileSync(join(folderFor(state, root), 'baseline.json'), text);

    expect(readBaseline(state, root)).toBeUndefined();
  });

  test('keeps copies that are whole, or none', () => {
    write('.envrc', 'one');
    recordBaseline(state, root);
    writeFileSync(join(folderFor(state, root), 'copies', digestOf('one')), 'other');

    expect(copyOf(state, root, digestOf('one'))).toBeUndefined();
    expect(copyOf(state, root, digestOf('never'))).toBeUndefined();
  });

  test('is no condition for anything: where nothing can be written, there is none', () => {
    const home = newFolder();
    writeFileSync(join(home, 'file'), '');
    const { state } = new Host({ HOME: home, XDG_STATE_HOME: join(home, 'file') }).folders;

    recordBaseline(state, root);
    writeTold(state, root, new Map([['.envrc', 'x']]));

    expect(readBaseline(state, root)).toBeUndefined();
    expect(innerBaselines(state, root)).toEqual([]);
    expect(readTold(state, root)).toBeUndefined();
  });
});

test('what was told is remembered, and a damaged record is none', () => {
  const told = new Map([['.envrc', 'file 644 00']]);

  writeTold(state, root, told);

  expect(readTold(state, root)).toEqual(told);
  writeFileSync(join(folderFor(state, root), 'told.json'), '[1,');
  expect(readTold(state, root)).toBeUndefined();
  chmodSync(folderFor(state, root), 0o700);
  rmSync(folderFor(state, root), { recursive: true });
  expect(readTold(state, root)).toBeUndefined();
});
