/** The archives in which Docker's API takes files. */
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import type { InnerEntry } from '../engine';

/** A tar archive of these, to be extracted at `/`; the folders above them are not in it. */
export async function tarOf(entries: readonly InnerEntry[]): Promise<Buffer> {
  const archive = pack();
  for (const { path, is, ...owner } of entries) {
    const name = path.slice(1);
    if (is === 'folder') archive.entry({ name: `${name}/`, type: 'directory', ...owner });
    else if ('link' in is) archive.entry({ name, type: 'symlink', linkname: is.link, ...owner });
    else archive.entry({ name, ...owner }, is.file);
  }
  archive.finalize();
  return await buffer(archive);
}
