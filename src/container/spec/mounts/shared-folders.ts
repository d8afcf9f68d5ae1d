/** How a folder of this machine is known again on another one, where the engine is. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { CaiError } from '../../../errors';
import { quoted } from '../../../system/quoted';
import type { ContainerInfo } from '../../engine/container-info';
import type { EngineAbout } from '../../engine/engine-info';
import type { Bind } from '../spec';

/**
 * What the keeper compares for each bind, before anything else runs in the container. On this kernel that is what was
 * looked at; in a virtual machine of this one nothing, because it numbers files otherwise. On another machine the device is
 * another one, so that a folder is known by its inode number and when it and what is in it was changed last, as it is now,
 * and a file by its inode number.
 */
export async function identifiedFor(
  { sharesKernel, machine }: Pick<EngineAbout, 'sharesKernel' | 'machine'>,
  binds: readonly Bind[],
): Promise<readonly Bind[]> {
  if (sharesKernel) return binds;
  return machine === undefined ? [] : await Promise.all(binds.map(asShared));
}

/** The same where a container gets all its files when it is made, and may start much later: by the inode numbers alone. */
export function identifiedByInode(binds: readonly Bind[]): readonly Bind[] {
  return binds
    .filter(({ identity }) => identity !== '')
    .map((bind) => ({ ...bind, identity: `:${bind.identity.split(':')[1]}` }));
}

async function asShared(bind: Bind): Promise<Bind> {
  const [, inode] = bind.identity.split(':');
  if (inode === undefined) return bind;
  const times = bind.isRoot ? await timesOf(bind.source) : '';
  return { ...bind, identity: `:${inode}${times}` };
}

/** In seconds: file systems of a network may keep no parts of them. One that is opened is asked for again. */
async function timesOf(folder: string): Promise<string> {
  const file = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const { mtimeMs, ctimeMs } = await file.stat();
    return [mtimeMs, ctimeMs].map((time) => `:${Math.floor(time / 1000)}`).join('');
  } finally {
    await file.close();
  }
}

/** With which the keeper ends a container whose folders are not those of here: ESTALE. Source: src/container/inside/keeper. */
export const notSharedStatus = 116;

/** What to say of that; `log`: the keeper's word on it. */
export function notShared(
  machine: string | undefined,
  { mounts }: Pick<ContainerInfo, 'mounts'>,
  log: string,
): CaiError {
  const place = /^cai: (\/.*) is not the same there as here$/m.exec(log)?.[1];
  const source = mounts.find(({ target }) => target === place)?.source;
  const what = source === undefined ? 'what is mounted' : quoted(source);
  return new CaiError(
    'WORKSPACE',
    `${what} is not the same on the machine of the engine${machine === undefined ? '' : `, ${machine},`} as here: ${shareRemedy}`,
  );
}

const shareRemedy =
  '"shares" in [engine] of your config.toml may only name what a network file system has at the same path on both; correct it, or use an engine here';
