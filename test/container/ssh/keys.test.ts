import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { utils } from 'ssh2';
import { clientKey, newHostKey } from '../../../src/container/ssh/keys';
import { newFolder } from '../../support/temp-folder';
import { expectedError } from '../../expected-error';

/** The parsed private key; its public half and its signatures are checked against each other. */
function parsed(privateKey: string) {
  const key = utils.parseKey(privateKey);
  if (key instanceof Error) throw key;
  return key;
}

/** Of the public half, in bytes. */
function publicLength(privateKey: string): number {
  const bytes = Buffer.from(privateKey.replace(/-----.*-----/g, ''), 'base64');
  return bytes.readUInt32BE(bytes.indexOf('ssh-ed25519') + 'ssh-ed25519'.length);
}

describe('clientKey', () => {
  test('makes a key for its owner alone and returns the same one ever after', async () => {
    const state = join(newFolder(), 'state');

    const first = await clientKey(state);
    expect(await clientKey(state)).toEqual(first);
    expect(first.publicKey).toMatch(/^ssh-ed25519 [A-Za-z0-9+/=]{68} containai$/);
    expect(readdirSync(join(state, 'ssh'))).toEqual(['id_ed25519']);
    expect(statSync(join(state, 'ssh')).mode & 0o777).toBe(0o700);
    expect(statSync(join(state, 'ssh/id_ed25519')).mode & 0o777).toBe(0o600);
  });

  test('gives one key to all who want the first at once', async () => {
    const state = newFolder();

    const [first, ...others] = await Promise.all([1, 2, 3, 4, 5].map(() => clientKey(state)));

    expect(others).toEqual([first, first, first, first]);
    expect(await clientKey(state)).toEqual(first);
    expect(readdirSync(join(state, 'ssh'))).toEqual(['id_ed25519']);
  });

  test.each([
    ['can be read by others', 0o644, 'run "chmod 600'],
    ['is damaged', 0o600, 'remove the key'],
  ])('refuses a key that %s', async (_, mode, remedy) => {
    const state = newFolder();
    mkdirSync(join(state, 'ssh'));
    writeFileSync(join(state, 'ssh/id_ed25519'), 'no key');
    chmodSync(join(state, 'ssh/id_ed25519'), mode);

    await expect(clientKey(state)).rejects.toMatchObject(expectedError('SSH_SETUP', remedy));
    expect(readFileSync(join(state, 'ssh/id_ed25519'), 'utf8')).toBe('no key');
  });

  test('says that it is the state folder when that cannot be made', async () => {
    const state = join(newFolder(), 'file');
    writeFileSync(state, '');

    await expect(clientKey(state)).rejects.toMatchObject(
      expectedError(
        'SSH_SETUP',
        /^there can be no SSH key in .*\/file\/ssh: not a directory: make .*\/file a folder that you can/,
      ),
    );
  });
});

describe('newHostKey', () => {
  test('makes keys that sign for the fingerprint they come with', () => {
    // The generator of ssh2 drops a zero byte at the beginning of one key in 256: that is none.
    let broken = utils.generateKeyPairSync('ed25519');
    while (publicLength(broken.private) === 32) broken = utils.generateKeyPairSync('ed25519');
    jest.spyOn(utils, 'generateKeyPairSync').mockReturnValueOnce(broken);

    for (let i = 0; i < 20; i++) {
      const { privateKey, fingerprint } = newHostKey();
      const key = parsed(privateKey);

      const signature = key.sign(Buffer.from('text'));

      expect(key.getPublicSSH()).toHaveLength(51);
      expect(key.verify(Buffer.from('text'), signature)).toBe(true);
      // As ssh-keygen prints it: the hash without padding.
      const hash = createHash('sha256').update(key.getPublicSSH()).digest('base64');
      expect(fingerprint).toBe(`SHA256:${hash.slice(0, -1)}`);
    }
  });
});
