import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { knownHosts, knownHostsText, knownIn } from '../../../src/network/ssh-agent/known-hosts';
import { newKey } from '../../support/ssh-world';
import { newFolder } from '../../support/temp-folder';

const folder = newFolder();
const [one, other] = [newKey(folder, 'one'), newKey(folder, 'other', 'ecdsa')];
const bare = ({ line }: { readonly line: string }) => line.split(' ').slice(0, 2).join(' ');

/** Keys of the host, as base64. */
const keysIn = (text: string, host: string) =>
  knownIn([text], [host])[0]!.keys.map((key) => key.toString('base64'));
const base64 = (key: { readonly blob: Buffer }) => key.blob.toString('base64');

test.each([
  ['its name', 'git.example', 'git.example'],
  ['one of several names, in any case', 'other.example,Git.Example,192.0.2.1', 'git.example'],
  ['a pattern', '*.example', 'git.example'],
  ['a port', '[git.example]:2222', 'git.example:2222'],
  ['the usual port', 'git.example', 'git.example:22'],
])('a line is about a host by %s', (_, names, host) => {
  expect(keysIn(`# comment\n\n${names} ${one.line}\n`, host)).toEqual([base64(one)]);
});

test.each([
  ['another name', 'git.example.org', 'git.example'],
  ['a name that is part of it', 'example', 'git.example'],
  ['a pattern that it does not fit', '?.example', 'git.example'],
  ['an exception', '*.example,!git.example', 'git.example'],
  ['another port', '[git.example]:2222', 'git.example'],
  ['no port', 'git.example', 'git.example:2222'],
])('a line is not about a host by %s', (_, names, host) => {
  expect(keysIn(`${names} ${one.line}\n`, host)).toEqual([]);
});

test('names that ssh-keygen has hashed are found', () => {
  const file = join(folder, 'hashed');
  writeFileSync(file, `git.example ${one.line}\n[git.example]:2222 ${other.line}\n`);
  spawnSync('ssh-keygen', ['-H', '-f', file]);
  const text = readFileSync(file, 'utf8');

  expect(text).not.toContain('git.example');
  expect(keysIn(text, 'git.example')).toEqual([base64(one)]);
  expect(keysIn(text, 'git.example:2222')).toEqual([base64(other)]);
  expect(keysIn(text, 'example')).toEqual([]);
});

test('a key that is revoked, one of an authority and one of another type than its line says do not count', () => {
  const lines = [
    `git.example ${one.line}`,
    `@revoked * ${one.line}`,
    `@cert-authority git.example ${other.line}`,
    `git.example ssh-rsa ${base64(other)}`,
    'git.example ssh-ed25519 %%%',
    'git.example',
  ];

  expect(keysIn(lines.join('\n'), 'git.example')).toEqual([]);
});

test('what is known is written as ssh reads it, each key once', () => {
  const text = `*.example ${one.line}\ngit.example ${one.line}\ngit.example ${other.line}\n[git.example]:2222 ${one.line}\n`;

  const written = knownHostsText(knownIn([text], ['git.example', 'git.example:2222', 'unknown.org']));

  expect(written).toBe(
    `git.example ${bare(one)}\ngit.example ${bare(other)}\n[git.example]:2222 ${bare(one)}\n`,
  );
});

test('the files of the user are read, but not where an agent could change them', () => {
  const home = newFolder();
  mkdirSync(join(home, '.ssh'));
  writeFileSync(join(home, '.ssh/known_hosts'), `git.example ${one.line}\n`);
  const keys = (folderOfAgent: string | undefined) =>
    knownHosts(['git.example'], { home }, { onWayTo: () => folderOfAgent })[0]!.keys;

  expect(keys(undefined)).toEqual([one.blob]);
  expect(keys(home)).toEqual([]);
});
