/**
 * The files of an image. A pod must have its files before it runs, and only one that runs can be looked into: so another
 * pod of the same image is. What was found is kept on this machine, because an image that is named by its digest never changes.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../../system/files/replace-file';
import type { InnerFiles } from '../engine';
import type { InnerFile } from '../engine-info';
import { objectIn, unlessFails } from '../../../system/unless';

/** A pod that is there to be looked into. */
export interface Look {
  readonly inside: InnerFiles;
  readonly end: () => Promise<void>;
}

/** As JSON has it; `null`: there is no such file. */
type Kept = (Omit<InnerFile, 'content'> & { readonly content: string }) | null;

/** Works with the files of an image: `read` is as of `InnerFiles`. A pod is made for what is not known in `folder`. */
export async function withImageFiles<T>(
  image: string,
  { folder, look }: { readonly folder: string; readonly look: () => Promise<Look> },
  work: (read: InnerFiles['read']) => Promise<T>,
): Promise<T> {
  const file = join(folder, `${createHash('sha256').update(image).digest('hex')}.json`);
  const known = new Map(Object.entries(unlessFails(() => objectIn(readFileSync(file, 'utf8'))) ?? {}));
  let looking: Promise<Look> | undefined;
  const read = async (path: string): Promise<InnerFile | undefined> => {
    if (!known.has(path)) {
      const found = await (await (looking ??= look())).inside.read(path);
      known.set(path, found === undefined ? null : { ...found, content: found.content.toString('base64') });
    }
    const kept = known.get(path) as Kept;
    return kept === null ? undefined : { ...kept, content: Buffer.from(kept.content, 'base64') };
  };
  try {
    return await work(read);
  } finally {
    await looking?.then(
      ({ end }) => end(),
      () => undefined,
    );
    // It can be looked for again.
    if (looking !== undefined && image.includes('@sha256:'))
      unlessFails(() => replaceFile(file, JSON.stringify(Object.fromEntries(known))));
  }
}
