/** What is put into a container, made by its path. */
import type { InnerEntry } from '../engine/engine';

type Owner = Pick<InnerEntry, 'uid' | 'gid'>;

const root: Owner = { uid: 0, gid: 0 };

/** A file, of root if nobody else is named, as all of these. */
export function file(path: string, text: string, mode: number, { uid, gid } = root): InnerEntry {
  return { path, is: { file: text }, mode, uid, gid };
}

/** The image's own file, with lines after its last. */
export function longer(path: string, text: string, lines: string): InnerEntry {
  if (text === '') return file(path, lines, 0o644);
  const added = text.endsWith('\n') ? lines : `\n${lines}`;
  return { ...file(path, '', 0o644), is: { file: text + added, added } };
}

export function folder(path: string, mode: number, { uid, gid } = root): InnerEntry {
  return { path, is: 'folder', mode, uid, gid };
}

export function link(path: string, to: string, { uid, gid }: Owner): InnerEntry {
  return { path, is: { link: to }, mode: 0o777, uid, gid };
}
