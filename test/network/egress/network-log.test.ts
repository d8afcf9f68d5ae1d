import { once } from 'node:events';
import { appendFileSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { recordName } from '../../../src/system/state-folder';
import { NetworkLog, readLog } from '../../../src/network/egress/network-log';
import { compiled, run } from '../../support/program';
import { newFolder } from '../../support/temp-folder';

const root = '/srv/bakery';
let state: string;
let folder: string;
let file: string;

beforeEach(() => {
  state = newFolder();
  folder = join(state, 'network');
  file = join(folder, `${recordName(root)}.log`);
});

const places = () => readLog(state, root).map(({ place, outcome }) => `${place} ${outcome}`);

describe('the log of a network', () => {
  test('is empty, and no file, until something is noted', () => {
    const log = new NetworkLog(state, root, 'claude');

    expect(readLog(state, root)).toEqual([]);
    expect(readdirSync(state)).toEqual([]);

    log.note('a.example:443', 'allowed', 'a.example');
    expect(readLog(state, root)).toEqual([
      {
        at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        agent: 'claude',
        place: 'a.example:443',
        outcome: 'allowed',
        because: 'a.example',
      },
    ]);
    expect([statSync(folder).mode & 0o777, statSync(file).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  test('has each place once for each outcome and process, and those of one workspace alone', () => {
    const log = new NetworkLog(state, root, 'claude');
    for (const because of ['not listed', 'asked', 'denied']) log.note('a.example:443', 'refused', because);
    log.note('a.example:443', 'allowed', 'a.example');
    log.note('a.example:80', 'allowed', 'a.example');
    new NetworkLog(state, root, 'gemini').note('a.example:443', 'refused', 'not listed');
    new NetworkLog(state, undefined, 'gemini').note('b.example:443', 'refused', 'not listed');

    expect(places()).toEqual([
      'a.example:443 refused',
      'a.example:443 allowed',
      'a.example:80 allowed',
      'a.example:443 refused',
    ]);
    expect(readLog(state, undefined).map(({ place }) => place)).toEqual(['b.example:443']);
  });

  test('leaves out lines that are damaged, and goes on after one without an end', () => {
    const log = new NetworkLog(state, root, 'claude');
    mkdirSync(folder);
    writeFileSync(
      file,
      'x\n{}\n{"at":"2026","agent":"a","place":"p:1","outcome":"maybe","because":""}\n{"at":',
    );

    log.note('a.example:443', 'allowed', 'a.example');

    expect(places()).toEqual(['a.example:443 allowed']);
  });

  test('keeps its newest half when it is full, in bounded files', () => {
    const reason = 'x'.repeat(300);
    const count = 2_000;
    for (let index = 0; index < count; index++)
      new NetworkLog(state, root, 'claude').note(`h${index}.example:443`, 'refused', reason);

    const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
    expect(sizes).toHaveLength(2);
    for (const size of sizes) expect(size).toBeLessThan(129 * 1024);
    const kept = readLog(state, root);
    expect(kept.length).toBeGreaterThan(250);
    const expected = Array.from(kept, (_, index) => `h${count - kept.length + index}.example:443`);
    expect(kept.map(({ place }) => place)).toEqual(expected);
  });

  test('shortens what an agent chooses, and notes only so much of it', () => {
    const log = new NetworkLog(state, root, 'claude');
    log.note(`${'a'.repeat(10_000)}:443`, 'refused', 'b'.repeat(10_000));
    const [{ place, because } = { place: '', because: '' }] = readLog(state, root);
    expect([place, because]).toEqual(['a'.repeat(300), 'b'.repeat(300)]);

    for (let index = 0; index < 6_000; index++) log.note(`${index}:1`, 'refused', '');
    expect(places().at(-1)).toBe('4998:1 refused');
  });

  test('never fails whoever notes something', () => {
    writeFileSync(folder, '');

    new NetworkLog(state, root, 'claude').note('a.example:443', 'allowed', 'a.example');

    expect(() => readLog(state, root)).toThrow('ENOTDIR');
  });
});

/** Notes so many places, each with its name. */
const noter = compiled(`
  import { NetworkLog } from './src/network/egress/network-log';
  const [state, root, name, count] = process.argv.slice(2);
  const log = new NetworkLog(state, root, name);
  for (let index = 0; index < Number(count); index++) log.note(name + index + ':1', 'allowed', '');
`);

test('nothing is lost when several processes write at once, also where the log becomes full', async () => {
  mkdirSync(folder);
  // Nearly as long as a half may be: the processes meet where it ends.
  appendFileSync(file, 'x'.repeat(126 * 1024));
  const names = ['a', 'b', 'c'];

  await Promise.all(names.map((name) => once(run(noter, [state, root, name, '100']), 'close')));

  const all = names.flatMap((name) => Array.from({ length: 100 }, (_, index) => `${name}${index}:1 allowed`));
  expect(places().sort()).toEqual(all.sort());
  expect(readdirSync(folder).sort()).toEqual([`${recordName(root)}.log`, `${recordName(root)}.old.log`]);
});
