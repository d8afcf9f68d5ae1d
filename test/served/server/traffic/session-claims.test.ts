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
  mkdirSync(join(folder, 'sessions'));
  const file = join(folder, 'sessions', `${recordName(id)}.1.5@elsewhere.lock`);
  writeFileSync(file, '');
  return file;
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
  expect(readdirSync(join(folder, 'sessions'))).toHaveLength(1);
  second();
  expect(readdirSync(join(folder, 'sessions'))).toEqual([]);
});

test('whatever a client calls a session, its file is in the folder', () => {
  claims.take('../../out');
  claims.take('a/b\0c');

  expect(readdirSync(folder)).toEqual(['sessions']);
  expect(readdirSync(join(folder, 'sessions'))).toHaveLength(2);
});

test('a folder that cannot be made keeps nobody from a session', () => {
  writeFileSync(join(folder, 'sessions'), '');

  expect(claims.take('s')).toBeDefined();
});
