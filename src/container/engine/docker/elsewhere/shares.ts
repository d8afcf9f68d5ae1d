/** What an engine on another machine may mount: folders that are the same there. */
import { realpathSync } from 'node:fs';
import { CaiError } from '../../../../errors';
import { quoted } from '../../../../system/quoted';
import type { EngineAddress } from '../context';
import { sentenceOf } from '../engine-error';
import { unlessFails } from '../../../../system/unless';
import { isInside } from '../../../../system/paths/is-inside';

/**
 * Fails with `CaiError('WORKSPACE')` for what lies outside of the folders that the user's configuration says are the
 * same there.
 */
export function checkShared(
  { endpoint }: EngineAddress,
  shares: readonly string[],
  binds: readonly { readonly source: string }[],
): void {
  // What is mounted has no link in its path.
  const folders = shares.map((share) => unlessFails(() => realpathSync(share)) ?? share);
  const outside = binds.find(({ source }) => !folders.some((folder) => isInside(source, folder)));
  if (outside === undefined) return;
  const named = shares.length === 0 ? '' : `, which names ${shares.map(quoted).join(', ')}`;
  throw new CaiError(
    'WORKSPACE',
    `${quoted(outside.source)} cannot be mounted, because the engine at ${endpoint} is on another machine, where that may be another folder: if a network file system has it at the same path there, name it, or a folder above it, in "shares" in [engine] of your config.toml${named}; if not, use an engine here`,
  );
}

/** For the failure to make a container: throws it, or `CaiError('WORKSPACE')` if a folder is not on the other machine. */
export function explainMissing({ endpoint, isElsewhere }: EngineAddress): (reason: unknown) => never {
  return (reason) => {
    // Docker's words, and podman's.
    const words = /bind source path does not exist: (.*)|^statfs (.*): no such file or directory/;
    const [, ofDocker, ofPodman] = words.exec(sentenceOf(reason)) ?? [];
    const path = ofDocker ?? ofPodman;
    if (isElsewhere !== true || path === undefined) throw reason;
    throw new CaiError(
      'WORKSPACE',
      `${quoted(path)} is not on the machine of the engine at ${endpoint}: mount it there at the same path, or correct "shares" in [engine] of your config.toml`,
    );
  };
}
