import { once } from 'node:events';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ProfileStore, type ProfileKey } from '../../../src/acp/profiles/profile';
import { openLog } from '../../../src/system/log';
import { compiled, run } from '../../support/program';
import { newFolder } from '../../support/temp-folder';

const key: ProfileKey = {
  command: ['agent', '--acp'],
  image: 'containai:agent',
  protocolVersion: 1,
  client: 'editor',
  capabilities: { fs: { readTextFile: true }, terminal: false },
};
const profile = { result: '{ "protocolVersion":1,"n":1.0,"s":"\\u00e9"}', program: 'sha256:1' };

let folder: string;
let logPath: string;
let store: ProfileStore;

beforeEach(() => {
  const base = newFolder();
  folder = join(base, 'state/profiles');
  logPath = join(base, 'log');
  store = newStore();
});

describe('ProfileStore', () => {
  test('gives back what another process has kept, byte for byte', () => {
    store.keep(key, profile);

    expect(newStore().find(key)).toEqual(profile);
  });

  test('replaces what it has for a key', () => {
    store.keep(key, profile);
    store.keep(key, { result: '{}', program: 'sha256:2' });

    expect(newStore().find(key)).toEqual({ result: '{}', program: 'sha256:2' });
    expect(readdirSync(folder)).toHaveLength(1);
  });

  test('keeps one for each working directory and one for all, and drops one alone', () => {
    const keys = [key, { ...key, folder: '/srv/a' }, { ...key, folder: '/srv/b' }];
    for (const [index, each] of keys.entries()) store.keep(each, { ...profile, program: String(index) });
    expect(keys.map((each) => newStore().find(each)?.program)).toEqual(['0', '1', '2']);

    store.drop(keys[1]!);
    store.drop(keys[1]!);

    expect(keys.map((each) => newStore().find(each)?.program)).toEqual(['0', undefined, '2']);
  });

  test('keeps files that only their owner can read', () => {
    store.keep(key, profile);

    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(onlyFile()).mode & 0o777).toBe(0o600);
  });

  test.each<[string, Partial<ProfileKey>]>([
    ['command', { command: ['agent', '--acp', '--fast'] }],
    ['image', { image: 'containai:agent-2' }],
    ['protocol version', { protocolVersion: 2 }],
    ['editor', { client: 'another editor' }],
    ['working directory', { folder: '/srv/a' }],
    ['client capability', { capabilities: { fs: { readTextFile: false }, terminal: false } }],
  ])('has nothing for another %s', (_, change) => {
    store.keep(key, profile);

    expect(store.find({ ...key, ...change })).toBeUndefined();
  });

  test('has nothing for an agent without an image or an editor without a name where one was kept with it', () => {
    const { image, client, ...rest } = key;
    store.keep(key, profile);

    expect(store.find({ ...rest, client: client! })).toBeUndefined();
    expect(store.find({ ...rest, image: image! })).toBeUndefined();
  });

  test('takes no file for another key that lies in its place', () => {
    store.keep({ ...key, client: 'another editor' }, profile);
    const other = readFileSync(onlyFile());
    rmSync(onlyFile());
    store.keep(key, profile);
    writeFileSync(onlyFile(), other);

    expect(store.find(key)).toBeUndefined();
  });

  test.each([
    ['is empty', ''],
    ['was cut short', (text: string) => text.slice(0, -10)],
    ['is no object', 'null'],
    ['is of another version', (text: string) => text.replace('"version":2', '"version":3')],
    ['has no result', (text: string) => text.replace('"result"', '"resul"')],
    ['has a program that is no text', (text: string) => text.replace('"sha256:1"', '1')],
    ['would break a line', (text: string) => text.replace('{ ', '{\\n')],
    ['is too long', (text: string) => text.replace('{ ', `{${' '.repeat(600_000)}`)],
  ])('ignores a file that %s, says so, and replaces it', (_, damage) => {
    store.keep(key, profile);
    const text = readFileSync(onlyFile(), 'utf8');
    writeFileSync(onlyFile(), typeof damage === 'string' ? damage : damage(text));

    expect(store.find(key)).toBeUndefined();
    expect(readFileSync(logPath, 'utf8')).toContain(onlyFile());
    store.keep(key, profile);
    expect(store.find(key)).toEqual(profile);
  });

  test('follows no link that lies in the place of a file', () => {
    store.keep(key, profile);
    const [file, target] = [onlyFile(), join(folder, '../target')];
    writeFileSync(target, readFileSync(file));
    rmSync(file);
    symlinkSync(target, file);

    expect(store.find(key)).toBeUndefined();
    store.keep(key, { ...profile, program: 'sha256:2' });
    expect(readFileSync(target, 'utf8')).toContain('sha256:1');
  });

  test('keeps no answer that is too long', () => {
    store.keep(key, { ...profile, result: `"${'x'.repeat(256 * 1024)}"` });

    expect(store.find(key)).toBeUndefined();
  });

  test('goes on without a folder that it could write to', () => {
    mkdirSync(join(folder, '..'), { recursive: true });
    writeFileSync(folder, '');

    store.keep(key, profile);

    expect(store.find(key)).toBeUndefined();
    expect(readFileSync(logPath, 'utf8')).toContain('a profile could not be kept');
  });

  test('keeps the hundred that were written last', () => {
    for (let i = 0; i < 100; i++) {
      store.keep({ ...key, client: String(i) }, profile);
      const newest = readdirSync(folder).find((name) => readFileSync(join(folder, name), 'utf8').includes(`"client":"${i}"`))!; // prettier-ignore
      utimesSync(join(folder, newest), i, i);
    }
    store.keep(key, profile);

    expect(readdirSync(folder)).toHaveLength(100);
    expect(store.find({ ...key, client: '0' })).toBeUndefined();
    expect(store.find({ ...key, client: '1' })).toEqual(profile);
    expect(store.find(key)).toEqual(profile);
  });

  test('removes what a process began that died, not what one is writing', () => {
    store.keep(key, profile);
    const [old, recent] = [join(folder, 'a.json.1'), join(folder, 'a.json.2')];
    for (const path of [old, recent]) writeFileSync(path, '');
    utimesSync(old, 1, 1);

    store.keep(key, profile);

    expect(readdirSync(folder).filter((name) => !name.endsWith('.json'))).toEqual(['a.json.2']);
  });

  test('has a whole file at any time while processes write it', async () => {
    const writer = compiled(`
      import { ProfileStore } from './src/acp/profiles/profile';
      import { openLog } from './src/system/log';
      const [folder, key, mark] = process.argv.slice(2);
      const store = new ProfileStore(folder, openLog(process.env));
      process.stdin.once('data', () => {
        const result = JSON.stringify({ text: mark.repeat(20_000) });
        for (let i = 0; i < 200; i++) store.keep(JSON.parse(key), { result, program: mark });
        process.stdin.destroy();
      });
      process.stdout.write('ready');
    `);
    const writers = ['a', 'b'].map((mark) =>
      run(writer, [folder, JSON.stringify(key), mark], { CAI_LOG_FILE: logPath }),
    );
    await Promise.all(writers.map((each) => once(each.stdout, 'data')));
    store.keep(key, { result: '{"text":""}', program: '' });

    let running = writers.length;
    const ends = writers.map((each) => once(each, 'exit').then(() => running--));
    for (const each of writers) each.stdin.write('go');
    while (running > 0) {
      const { result, program } = store.find(key)!;
      expect(JSON.parse(result)).toEqual({ text: program.repeat(20_000) });
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(ends);

    expect(store.find(key)!.program).not.toBe('');
    expect(readdirSync(folder)).toHaveLength(1);
    expect(readFileSync(logPath, 'utf8')).toBe('');
  });
});

function newStore(): ProfileStore {
  return new ProfileStore(folder, openLog({ CAI_LOG_FILE: logPath, CAI_LOG_LEVEL: 'info' }));
}

function onlyFile(): string {
  const [name, ...more] = readdirSync(folder);
  if (name === undefined || more.length > 0) throw new Error(`not one file, but ${more.length + 1}`);
  return join(folder, name);
}
