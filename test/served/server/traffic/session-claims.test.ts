import type * as fs from 'node:fs';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SessionClaims } from '../../../../src/served/server/traffic/session-claims';
import { recordName } from '../../../../src/system/state-folder';
import { newFolder } from '../../../support/temp-folder';

let folder: string;
let claims: SessionClaims;

beforeEach(() => {
  folder = newFolder();
  claims = new SessionClaims(folder);
});

/** What a server in another container has for as long as it lives. */
function claimElsewhere(id: string): string {
  const name = recordName(id);
  const place = join(folder, 'sessions', name.slice(0, 2));
  mkdirSync(place, { recursive: true });
  const file = join(place, `${name}.1.5@elsewhere.lock`);
  writeFileSync(file, '');
  return file;
}

function claimFiles(): string[] {
  const names = readdirSync(join(folder, 'sessions'), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.lock'));
}

test('a session that a server elsewhere has open is had by nobody here until it is given back', () => {
  const file = claimElsewhere('s');

  expect(claims.take('s')).toBeUndefined();
  expect(claims.take('other')).toBeDefined();
  rmSync(file);
  expect(claims.take('s')).toBeDefined();
});

test('a session may be had several times here, and is given back with the last of them', () => {
  const [first, second] = [claims.take('s')!, claims.take('s')!];

  first();
  expect(claimFiles()).toHaveLength(1);
  second();
  expect(claimFiles()).toEqual([]);
});

test('whatever a client calls a session, its file is in the folder', () => {
  claims.take('../../out');
  claims.take('a/b\0c');

  expect(readdirSync(folder)).toEqual(['sessions']);
  expect(claimFiles()).toHaveLength(2);
});

test('a session is taken without a look at most of the others that are open', () => {
  for (let i = 0; i < 256; i++) claims.take(`s${i}`);
  const list = jest.spyOn(jest.requireActual<typeof fs>('node:fs'), 'readdirSync');
  claims.take('s');
  const seen = list.mock.results.reduce((sum, { value }) => sum + (value as string[]).length, 0);
  list.mockRestore();

  expect(seen).toBeLessThan(20);
});

test('a folder that cannot be made keeps nobody from a session', () => {
  writeFileSync(join(folder, 'sessions'), '');

  expect(claims.take('s')).toBeDefined();
});
