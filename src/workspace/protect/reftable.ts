/** References of a repository in git's reftable format by which git shows one object in the place of another. */
import { posix } from 'node:path';
import { readGitFile } from '../git';
import { startOf } from './git-layout';
import { unlessGone } from '../../system/unless';

/** Longer lists of tables are not read, in bytes: git merges tables, so that there are few. */
const maxListBytes = 64 * 1024;
/** Of all tables in one folder so much is read, in bytes, enough for 200 000 references. */
const mostBytes = 16 * 1024 * 1024;
/** So much a table counts at least, also one that is not there: to look for it takes time. */
const tableBytes = 4_096;
/** Of one folder only so many are told. */
const mostReplaces = 256;
const prefix = 'refs/replace/';
/** 'r' */
const blockOfRefs = 0x72;

/** What git folders have of them; below the root. */
interface Replaces {
  /** "GIT-FOLDER/refs/replace/OBJECT OTHER", each once. */
  readonly names: readonly string[];
  /** Lists of tables that were not read to the end, and may have any. */
  readonly unread: readonly string[];
}

/** The replacements in git folders (below `root`). */
export function replacesIn(root: string, gitFolders: readonly string[]): Replaces {
  const [names, unread] = [new Set<string>(), new Set<string>()];
  let room = mostBytes;
  for (const gitFolder of gitFolders) {
    const list = posix.join(gitFolder, 'reftable/tables.list');
    try {
      for (const table of readGitFile(posix.join(root, list), maxListBytes).split('\n').filter(Boolean)) {
        // Git follows it anywhere.
        if (table.includes('/') || room <= 0) unread.add(list);
        if (room <= 0) break;
        const file = posix.join(root, gitFolder, 'reftable', posix.basename(table));
        const start = unlessGone(() => startOf(file, room));
        room -= Math.max(tableBytes, start?.index.length ?? 0);
        if (start === undefined) continue;
        for (const name of start.isWhole ? replacesOf(start.index) : []) {
          if (names.size < mostReplaces) names.add(posix.join(gitFolder, name));
          else unread.add(list);
        }
        if (!start.isWhole) unread.add(list);
      }
    } catch {
      // Nobody may read it, or it is damaged.
      unread.add(list);
    }
  }
  return { names: [...names], unread: [...unread] };
}

/**
 * Those of one table; throws a `RangeError` where it is cut off or makes no sense. Source: git's reftable.adoc. Blocks
 * with references come first; the length of the first counts the head of the file. After a block there is the next one,
 * or nulls up to a multiple of the size of blocks.
 */
function* replacesOf(table: Buffer): Generator<string> {
  if (table.toString('latin1', 0, 4) !== 'REFT') throw new RangeError('this is no reftable');
  const isSecond = table.readUInt8(4) === 2;
  const hashBytes = isSecond && table.toString('latin1', 24, 28) === 's256' ? 32 : 20;
  const blockBytes = table.readUIntBE(5, 3);
  let block = 0;
  for (let start = isSecond ? 28 : 24; table[start] === blockOfRefs; start = block) {
    const end = block + table.readUIntBE(start + 1, 3);
    yield* replacesOfBlock(table, start + 4, end - 2 - 3 * table.readUInt16BE(end - 2), hashBytes);
    block = table[end] === 0 && blockBytes > 0 ? block + blockBytes : end;
    // One that is shorter than its own head, or reaches into the next one, could be read without an end.
    if (end < start + 6 || block < end) throw new RangeError('this is no block of a reftable');
  }
}

/** A record has the length that its name shares with the one before, the rest of its name, and its value. */
function* replacesOfBlock(table: Buffer, start: number, end: number, hashBytes: number): Generator<string> {
  let at = start;
  const number = (): number => {
    let byte = table.readUInt8(at++);
    let value = byte & 0x7f;
    while (byte >= 0x80) {
      byte = table.readUInt8(at++);
      value = (value + 1) * 0x80 + (byte & 0x7f);
    }
    return value;
  };
  // Longer ones than of a replaced object are not needed, and would take long.
  const longest = prefix.length + 2 * hashBytes;
  let name = '';
  while (at < end) {
    const shared = number();
    const kindAndLength = number();
    const [kind, length] = [kindAndLength % 8, Math.floor(kindAndLength / 8)];
    if (shared < longest) {
      const rest = table.toString('latin1', at, at + Math.min(length, longest - shared));
      name = name.slice(0, shared) + rest;
    }
    at += length;
    // When it was set.
    number();
    const valueBytes = kind === 3 ? number() : kind * hashBytes;
    const value = table.subarray(at, at + valueBytes);
    at += valueBytes;
    if (kind > 0 && name.startsWith(prefix)) yield `${name} ${value.toString('hex', 0, hashBytes)}`;
  }
}
