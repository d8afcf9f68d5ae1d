/** What the build of an image gets to read for an agent of the ACP registry, beside `registry-agent.sh`, which uses it. */
import { createHash } from 'node:crypto';
import { createReadStream, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Architecture, ArchiveTarget } from '../../agent/registry/entry';
import type { Installation } from '../../agent/registry/installation';
import type { HostNetwork } from '../../config/config';
import { ownValue } from '../../config/own-property';
import { CaiError, messageOf } from '../../errors';
import { Requests } from '../../network';
import { readRegularFile } from '../../system/paths/read-regular-file';
import { replaceFile } from '../../system/files/replace-file';
import { readState, writeState } from '../../system/state-folder';
import { whileLocked } from './build-lock';
import type { Progress } from './progress';
import { shellWord } from '../../system/quoted';
import { objectIn, unlessFails } from '../../system/unless';
import { makeFolder } from '../../system/files/make-folder';

/** Files of a build context by path: texts, and files of this machine. */
export interface RegistryAgentFiles {
  readonly texts: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
  readonly discard: () => void;
}

interface Surroundings {
  readonly network: HostNetwork;
  readonly stateFolder: string;
  /** The processor that the image is for, in the words of images. */
  readonly architecture: string | undefined;
  readonly progress: Progress;
}

/** The largest of the registry's archives has 120 MB. */
const maxArchiveBytes = 2 ** 30;
const downloadLimitMs = 30 * 60_000;
const maxDigestBytes = 2 ** 20;
/** No build takes as long, in milliseconds: what is older was left by one that was ended. */
const leftMs = 24 * 60 * 60_000;

const architectures: Readonly<Record<string, Architecture>> = { amd64: 'x86_64', arm64: 'aarch64' };

/**
 * The files. An archive is fetched and checked: against the digest in the registry, else against the one that it had
 * when it was first fetched from there. Rejects with `CaiError('IMAGE')`.
 */
export async function registryAgentFiles(
  { program, env, from }: Installation,
  surroundings: Surroundings,
): Promise<RegistryAgentFiles> {
  const variables = Object.entries(env).map(([name, value]) => `export ${name}=${shellWord(value)}\n`);
  const texts = { 'registry/variables': variables.join('') };
  if (from.kind !== 'archive') {
    const { kind, spec, name, cmd = '' } = from;
    const settings = { kind, program, spec, name, cmd, format: '' };
    return { texts: { ...texts, ...settingsFile(settings) }, files: {}, discard: () => undefined };
  }
  const { architecture = 'amd64' } = surroundings;
  const known = architectures[architecture];
  const target = known && from.targets[known];
  if (target === undefined)
    throw new CaiError(
      'IMAGE',
      `${program} cannot be installed: the registry of agents has nothing of it for ${architecture}`,
    );
  const folder = newFolder(surroundings.stateFolder);
  const discard = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const file = join(folder, 'archive');
    await fetchArchive(target, file, surroundings);
    const { cmd, archive } = target;
    const settings = { kind: from.kind, program, spec: '', name: '', cmd, format: formatOf(archive) };
    return {
      texts: { ...texts, ...settingsFile(settings) },
      files: { 'registry/archive': file },
      discard,
    };
  } catch (reason) {
    discard();
    throw reason;
  }
}

async function fetchArchive(target: ArchiveTarget, file: string, surroundings: Surroundings): Promise<void> {
  const { network, stateFolder, progress } = surroundings;
  const { archive } = target;
  progress.begin(`fetching ${archive}`);
  try {
    await new Requests(network, downloadLimitMs).download(new URL(archive), file, maxArchiveBytes);
  } catch (reason) {
    if (reason instanceof CaiError) throw reason;
    const remedy = 'check the network, and [network] in your configuration';
    throw new CaiError('IMAGE', `${archive} cannot be fetched: ${messageOf(reason)}: ${remedy}`);
  }
  // Another build may have fetched it for the first time, too: the second is compared with the first.
  await whileLocked(stateFolder, 'archive-digests', progress, async () => {
    const hash = createHash('sha256');
    await pipeline(createReadStream(file), hash);
    checkDigest(target, hash.digest('hex'), stateFolder);
  });
}

/** A registry that tells no digest is believed once. */
function checkDigest({ archive, sha256 }: ArchiveTarget, actual: string, stateFolder: string): void {
  const name = 'archive-digests.json';
  const kept = readState(stateFolder, name, (path) =>
    objectIn(readRegularFile(path, maxDigestBytes)?.toString('utf8')),
  );
  const before = ownValue(kept ?? {}, archive);
  const expected = sha256 ?? (typeof before === 'string' ? before : undefined);
  const file = join(stateFolder, name);
  if (expected !== undefined && expected !== actual) {
    const [whose, remedy] =
      sha256 === undefined
        ? ['that it had before', `if its author says why, remove the line with this address from ${file}`]
        : ['that the registry tells', 'run "cai agents update" and try again'];
    throw new CaiError(
      'IMAGE',
      `${archive} has another SHA-256 (${actual}) than the one ${whose} (${expected}), so it is not used: ${remedy}`,
    );
  }
  if (sha256 !== undefined || expected !== undefined) return;
  const text = `${JSON.stringify({ ...kept, [archive]: actual }, undefined, 2)}\n`;
  writeState(stateFolder, file, () => replaceFile(file, text), 'IMAGE');
}

function newFolder(stateFolder: string): string {
  const folder = join(stateFolder, 'archives');
  const make = () => {
    makeFolder(folder);
    for (const path of readdirSync(folder).map((name) => join(folder, name))) {
      const madeMs = unlessFails(() => statSync(path).mtimeMs) ?? Infinity;
      if (Date.now() - madeMs > leftMs) rmSync(path, { recursive: true, force: true });
    }
    return mkdtempSync(join(folder, 'download-'));
  };
  return writeState(stateFolder, folder, make, 'IMAGE');
}

/** By the end of the path: a file with another end is the program itself. */
function formatOf(archive: string): string {
  const { pathname } = new URL(archive);
  const formats: readonly (readonly [RegExp, string])[] = [
    [/\.(tar\.gz|tgz)$/i, 'tar.gz'],
    [/\.(tar\.bz2|tbz2)$/i, 'tar.bz2'],
    [/\.zip$/i, 'zip'],
  ];
  return formats.find(([end]) => end.test(pathname))?.[1] ?? 'plain';
}

function settingsFile(settings: Readonly<Record<string, string>>): Record<string, string> {
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${shellWord(value)}\n`);
  return { 'registry/settings': lines.join('') };
}
