/** The two kinds of SSH keys: ours, with which we log in everywhere, and the one of each container. */
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { utils } from 'ssh2';
import { CaiError, errorCodeOf, messageOf } from '../../errors';
import { fingerprint } from '../../network';
import { stateRemedy } from '../../system/state-folder';
import { makeOnce } from '../../system/files/replace-file';

const keyType = 'ssh-ed25519';
const comment = 'containai';
/** Two strings with their lengths: the type, and 32 bytes. Source: RFC 8709, 4. */
const publicBlobBytes = 4 + keyType.length + 4 + 32;

/** The key that we log in with. */
export interface ClientKey {
  /** In OpenSSH's format. */
  readonly privateKey: string;
  /** One line for `authorized_keys`, without a newline. */
  readonly publicKey: string;
}

/**
 * Our key, `ssh/id_ed25519` below the state folder; made when it is first wanted, and one only if several processes
 * want it at once. Rejects with `SSH_SETUP` if it cannot be read or made, or others can read it.
 */
export async function clientKey(stateFolder: string): Promise<ClientKey> {
  const path = join(stateFolder, 'ssh', 'id_ed25519');
  try {
    const privateKey = (await read(path)) ?? (await make(path));
    return { privateKey, publicKey: `${keyType} ${publicBlobOf(privateKey).toString('base64')} ${comment}` };
  } catch (reason) {
    if (reason instanceof CaiError) throw reason;
    const [what, remedy] = existsSync(path)
      ? [`the SSH key ${path} cannot be used`, 'remove the key to get a new one']
      : [`there can be no SSH key in ${dirname(path)}`, stateRemedy(stateFolder)];
    throw new CaiError('SSH_SETUP', `${what}: ${messageOf(reason)}: ${remedy}`);
  }
}

/** A new key for a container, by whose fingerprint the container is then known. */
export function newHostKey(): { readonly privateKey: string; readonly fingerprint: string } {
  const privateKey = newPrivateKey();
  return { privateKey, fingerprint: fingerprint(publicBlobOf(privateKey)) };
}

async function read(path: string): Promise<string | undefined> {
  const file = await open(path).catch((reason: unknown) => {
    if (errorCodeOf(reason) !== 'ENOENT') throw reason;
  });
  if (file === undefined) return undefined;
  try {
    const { mode } = await file.stat();
    if ((mode & 0o077) === 0) return await file.readFile('utf8');
    const what = `others can read the SSH key ${path}`;
    throw new CaiError('SSH_SETUP', `${what}: run "chmod 600 ${path}", or remove it`);
  } finally {
    await file.close();
  }
}

async function make(path: string): Promise<string> {
  makeOnce(path, newPrivateKey());
  const key = await read(path);
  if (key === undefined) throw new Error('it has just been removed');
  return key;
}

/**
 * A new key in OpenSSH's format. The generator of ssh2 drops zero bytes at the beginning of a public key, which is then
 * no key: that happens to one in 256, and another is made.
 */
function newPrivateKey(): string {
  for (;;) {
    const { private: text } = utils.generateKeyPairSync('ed25519', { comment });
    const key = utils.parseKey(text);
    if (!(key instanceof Error) && key.getPublicSSH().length === publicBlobBytes) return text;
  }
}

function publicBlobOf(privateKey: string): Buffer {
  const key = utils.parseKey(privateKey);
  if (key instanceof Error) throw key;
  return key.getPublicSSH();
}
