/** What a build is given to read: tar archives, ours made in memory, the user's read from its folder. */
import dockerignore from '@balena/dockerignore';
import { createReadStream } from 'node:fs';
import { lstat, readFile, readdir, readlink } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pack, type Header, type Pack } from 'tar-stream';

/** An archive of these texts, and of copies of these files, each by its path there. What cannot be read fails the stream. */
export function textContext(
  texts: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
): Readable {
  const archive = pack();
  for (const [name, text] of Object.entries(texts)) archive.entry({ name, mode: 0o644 }, text);
  return filled(archive, async () => {
    for (const [name, file] of Object.entries(files)) await addFile(archive, { name, mode: 0o644 }, file);
  });
}

/**
 * An archive of a folder without what its `.dockerignore` names; `dockerfile`, a file in it, is always
 * there. Owners are left out, as builders do not look at them. What cannot be read fails the stream.
 */
export function folderContext(folder: string, dockerfile: string): Readable {
  const archive = pack();
  return filled(archive, () => fill(archive, folder, dockerfile));
}

function filled(archive: Pack, work: () => Promise<void>): Readable {
  work().then(
    () => archive.finalize(),
    (reason: unknown) => archive.destroy(reason instanceof Error ? reason : new Error(String(reason))),
  );
  return Readable.from(archive);
}

async function fill(archive: Pack, folder: string, dockerfile: string): Promise<void> {
  const rules = await readFile(join(folder, '.dockerignore'), 'utf8').catch(() => '');
  const isWanted = dockerignore({ ignorecase: false }).add(rules).createFilter();
  // An exception can be deep within a folder that is left out.
  const hasExceptions = /^[ \t]*!/m.test(rules);
  const addFolder = async (inner: string): Promise<void> => {
    for (const entry of (await readdir(join(folder, inner))).sort()) {
      const name = posix.join(inner, entry);
      const wanted = name === dockerfile || isWanted(name);
      const isFolder = (await lstat(join(folder, name))).isDirectory();
      if (wanted) await add(archive, folder, name);
      if (isFolder && (wanted || hasExceptions)) await addFolder(name);
    }
  };
  await addFolder('');
}

/** Folders, files and links; there is no use for anything else in an image. */
async function add(archive: Pack, folder: string, name: string): Promise<void> {
  const path = join(folder, name);
  const info = await lstat(path);
  const header = { name, mode: info.mode & 0o7777, mtime: info.mtime };
  if (info.isDirectory()) archive.entry({ ...header, type: 'directory' });
  else if (info.isSymbolicLink())
    archive.entry({ ...header, type: 'symlink', linkname: await readlink(path) });
  else if (info.isFile()) await addFile(archive, header, path);
}

async function addFile(
  archive: Pack,
  header: Pick<Header, 'name' | 'mode'> & Partial<Pick<Header, 'mtime'>>,
  path: string,
): Promise<void> {
  const { size } = await lstat(path);
  // A file that grows meanwhile would not fit what the archive says of it.
  const end = size - 1;
  if (size === 0) archive.entry(header, '');
  else await pipeline(createReadStream(path, { end }), archive.entry({ ...header, size }));
}
