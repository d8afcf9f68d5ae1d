import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentFolders, rememberAgentFolders } from '../../../src/system/paths/agent-folders';
import { keyBlob, signingKey } from '../../../src/network/ssh-agent/signing-key';
import { Host } from '../../../src/system/host';
import { newKey } from '../../support/ssh-world';
import { newFolder } from '../../support/temp-folder';

const home = newFolder();
const key = newKey(home, 'id');
const wanted = key.line.split(' ').slice(0, 2).join(' ');
const host = new Host({ HOME: home, PATH: process.env.PATH, XDG_STATE_HOME: join(home, 'state') });
const state = host.folders.state;

function configure(named: string | undefined, format = 'ssh'): void {
  const signing = named === undefined ? '' : `[user]\n\tsigningkey = "${named}"\n`;
  writeFileSync(join(home, '.gitconfig'), `[gpg]\n\tformat = ${format}\n${signing}`);
}

const found = () => signingKey(host, new AgentFolders(state));

test.each([
  ['the file of the public key', () => `${key.file}.pub`],
  ['a path below the home folder', () => '~/id.pub'],
  ['the private key beside it', () => key.file],
  ['the key itself', () => key.line],
  ['the key itself, as git wants it', () => `key::${key.line}`],
])('user.signingkey may be %s', async (_, named) => {
  configure(named());

  expect(await found()).toBe(wanted);
  expect(keyBlob(wanted)).toEqual(key.blob);
});

test.each([
  ['of OpenPGP', '0123456789ABCDEF', 'openpgp'],
  ['that is missing', undefined, 'ssh'],
  ['whose file is missing', '~/missing.pub', 'ssh'],
])('a key %s is an error that names what to do', async (_, named, format) => {
  configure(named, format);

  await expect(found()).rejects.toMatchObject({ code: 'CONFIG' });
  await expect(found()).rejects.toThrow(/^git.sign is set, and .*(git config --global|ends with .pub)/);
});

test('a key that an agent could have put there is refused', async () => {
  const workspace = join(home, 'workspace');
  mkdirSync(workspace);
  newKey(workspace, 'theirs');
  rememberAgentFolders(state, [workspace]);
  configure(join(workspace, 'theirs.pub'));

  await expect(found()).rejects.toThrow(/where an agent could put another key/);
});
