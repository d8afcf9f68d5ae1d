/** The SSH key that the user signs commits with, by git's configuration outside of any repository. */
import { posix } from 'node:path';
import { CaiError } from '../../errors';
import type { AgentFolders } from '../../system/paths/agent-folders';
import { readRegularFile } from '../../system/paths/read-regular-file';
import type { Host } from '../../system/host';
import { realOrSame } from '../../system/real-path';
import { globalValue } from '../../workspace/git';

/** Longer than any public key, and than most private ones. */
const maxKeyBytes = 16 * 1024;

/**
 * The key as `authorized_keys` has it: type and base64, without a comment. Rejects with `CaiError('CONFIG')` where git has
 * none, or one that an agent could have put there.
 */
export async function signingKey(host: Host, folders: AgentFolders): Promise<string> {
  const [format, named] = await Promise.all([
    globalValue('gpg.format', host),
    globalValue('user.signingkey', host),
  ]);
  if (format !== 'ssh' || named === undefined)
    throw cannotSign(
      'git on this machine does not sign with an SSH key: set gpg.format to "ssh", and user.signingkey, with git config --global',
    );
  const literal = named.startsWith('key::') ? named.slice('key::'.length) : named;
  const key = publicKeyIn(literal) ?? keyOfFile(named, host, folders);
  if (key === undefined)
    throw cannotSign(
      `user.signingkey of git names ${named}, which is no public SSH key and has none beside it: name a file that ends with .pub`,
    );
  return key;
}

function keyOfFile(named: string, { home }: Host, folders: AgentFolders): string | undefined {
  const path = posix.resolve(home, named.replace(/^~(?=\/)/, home));
  // git may name the private key, which is not looked at where the public one lies beside it.
  for (const file of path.endsWith('.pub') ? [path] : [`${path}.pub`, path]) {
    const folder = folders.onWayTo(file);
    if (folder !== undefined)
      throw cannotSign(
        `user.signingkey of git leads through ${folder}, where an agent could put another key: move it elsewhere`,
      );
    const key = publicKeyIn(readRegularFile(realOrSame(file), maxKeyBytes)?.toString() ?? '');
    if (key !== undefined) return key;
  }
  return undefined;
}

/** The first line of a file of one key. */
function publicKeyIn(text: string): string | undefined {
  return /^((?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[\w@.-]+ [A-Za-z0-9+/]+={0,2})(?:\s|$)/.exec(text)?.[1];
}

/** As SSH sends it. */
export function keyBlob(line: string): Buffer {
  return Buffer.from(line.split(' ')[1] ?? '', 'base64');
}

function cannotSign(why: string): CaiError {
  return new CaiError('CONFIG', `git.sign is set, and ${why}`);
}
