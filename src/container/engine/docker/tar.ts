/** The archives in which Docker's API takes files. */
import { posix } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import type { InnerEntry } from '../engine';

/** A tar archive of these, to be extracted at `folder`, in which they all are; the folders above them are not in it. */
export async function tarOf(entries: readonly InnerEntry[], folder: string): Promise<Buffer> {
  const archive = pack();
  for (const { path, is, ...owner } of entries) {
    const name = posix.relative(folder, path);
    if (is === 'folder') archive.entry({ name: `${name}/`, type: 'directory', ...owner });
    else if ('link' in is) archive.entry({ name, type: 'symlink', linkname: is.link, ...owner });
    else archive.entry({ name, ...owner }, is.file);
  }
  archive.finalize();
  return await buffer(archive);
}
