/** The config file of a repository. A stranger wrote it, and the agent can write to it. */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError } from '../../errors';
import { configKeys } from '../config';
import { readSettings, type Setting, type Source } from '../config-reader';
import { placesIn } from '../toml-places';
import { readRegularFile } from '../../system/paths/read-regular-file';
import { isInside } from '../../system/paths/is-inside';

export interface RepositoryFile extends Source {
  /** The settings in the order of the file. */
  readonly settings: readonly Setting[];
  /** SHA-256, in hex, of the bytes of the file and of the Dockerfile that it names: the user trusts both. */
  readonly digest: string;
  /** The text of that Dockerfile; `undefined`: the file names none. */
  readonly dockerfileText: string | undefined;
}

/** Longest file that is read, and longest Dockerfile. */
const maxBytes = 64 * 1024;

/** Where the config file of a repository lies. */
export function repositoryFileOf(root: string): string {
  return posix.join(root, '.containai/config.toml');
}

/**
 * `undefined`: the repository has none. Fails with `CaiError('CONFIG')` for one that is no regular file, lies outside
 * through a link, is too long, or does not fit, and for such a Dockerfile that it names.
 */
export function readRepositoryFile(root: string, home: string): RepositoryFile | undefined {
  const file = repositoryFileOf(root);
  const bytes = readRegularFile(file, maxBytes, realpathSync(root));
  if (bytes === undefined) return undefined;
  if (!isUtf8(bytes)) throw new CaiError('CONFIG', `${file} cannot be read: it is not UTF-8`);
  const text = bytes.toString();
  const source = { file, text, base: { folder: posix.dirname(file), home }, placeOf: placesIn(text) };
  const settings = readSettings(source, configKeys);
  const dockerfile = dockerfileOf(settings, file, root);
  return { ...source, settings, digest: digestOf(bytes, dockerfile), dockerfileText: dockerfile?.toString() };
}

/** The bytes of the Dockerfile that the settings name. It lies in the repository, so the agent can change it. */
function dockerfileOf(settings: readonly Setting[], file: string, root: string): Buffer | undefined {
  const dockerfile = settings.find(({ key }) => key.field === 'dockerfile')?.value as string | undefined;
  if (dockerfile === undefined) return undefined;
  if (!isInside(dockerfile, root))
    throw new CaiError('CONFIG', `${file}: "image.dockerfile" must name a file of the repository`);
  return readRegularFile(dockerfile, maxBytes, realpathSync(root)) ?? Buffer.alloc(0);
}

function digestOf(bytes: Buffer, dockerfile: Buffer | undefined): string {
  const hash = createHash('sha256').update(bytes);
  // TOML has no NUL, so that the two parts cannot be mistaken for each other.
  if (dockerfile !== undefined) hash.update('\0').update(dockerfile);
  return hash.digest('hex');
}
