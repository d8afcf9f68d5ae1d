/** A settings file of an editor: JSON that people write, with comments, which stay. */
import {
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { parse, parseTree, printParseErrorCode, type ParseError } from 'jsonc-parser';
import { checkWrittenPath } from '../../config/chosen-path';
import { CaiError } from '../../errors';
import { makeFolder } from '../../system/files/make-folder';
import { replaceFile } from '../../system/files/replace-file';
import { utf8Of } from '../../system/files/utf8';
import type { Host } from '../../system/host';
import { realOrSame } from '../../system/real-path';
import { objectOf, reading, unlessFails, unlessGone, writing } from '../../system/unless';
import { forget, record, recorded } from '../../workspace/records';
import { doubledKey, withValue, withoutValue } from './settings-text';

const byHand = 'change it by hand ("cai setup" with --print shows what belongs there)';

/** What stands where no file is. */
const nothing = '{}\n';

/**
 * Sets a value in a file, which is made if it is missing. What was there before is kept beside it, with `.before-cai` at
 * the end of the name, or `.before-cai-2` and so on: what is kept is never replaced. Returns false if the value stands
 * there already. Throws `CaiError('CONFIG')` for a file that cannot be read, is no JSON, has a key of the path twice,
 * cannot be written, or would be where an agent decides; then nothing has changed.
 */
export function setInFile(file: string, path: readonly string[], value: unknown, host: Host): boolean {
  const before = read(file);
  const after = edited(file, before ?? nothing, path, value);
  if (after === before) return false;
  checkWrittenPath(host, file, byHand);
  writing(file, () => write(file, before, after, host.folders.state));
  return true;
}

/**
 * Takes back what `setInFile` has set there, however often. Where nothing else has changed since, the file is, to the byte,
 * what it would be without, or goes with the folders that were made for it; else only the value goes. Returns false if
 * there is no value. Throws as `setInFile` does.
 */
export function unsetInFile(file: string, path: readonly string[], host: Host): boolean {
  const now = read(file);
  if (now === undefined || !hasValue(now, path)) return false;
  checkWrittenPath(host, file, byHand);
  const real = realpathSync(file);
  const without = edited(file, now, path, undefined);
  const parent = path.slice(0, -1);
  const all = earlier(file, now, parent);
  const from = all.findLastIndex(({ text, set }) => set !== undefined && !hasValue(text, path));
  const base = all[from];
  const rest = base?.set?.filter(([name]) => name !== path.at(-1)) ?? [];
  const isAsBefore = base !== undefined && rest.length === 0;
  writing(file, () => {
    refuseReadOnly(real);
    if (isAsBefore && base.kept === undefined) rmSync(file);
    else replaceFile(real, base === undefined ? without : withAll(base.text, parent, rest), statSync(real));
    if (base !== undefined) removeMade(all.slice(isAsBefore ? from : from + 1), base, parent);
    if (isAsBefore && base.kept === undefined) removeFolders(file, host.folders.state);
  });
  return true;
}

/** Removes what is kept of texts that we alone have made of `base`, the newest first, up to one that others have changed. */
function removeMade(later: readonly Earlier[], base: Earlier, parent: readonly string[]): void {
  const names = base.set!.map(([name]) => name);
  for (const { kept, text } of [...later].reverse()) {
    const set = setSince(base.text, text, parent);
    if (kept === undefined || set?.every(([name]) => names.includes(name)) !== true) return;
    rmSync(kept);
  }
}

/** The names under which earlier contents of a file are kept beside it, the newest last. */
export function keptBeside(file: string): string[] {
  return namesBeside(realOrSame(file)).slice(0, -1);
}

interface Earlier {
  readonly text: string;
  /** The file that has it; `undefined`: no file was there. */
  readonly kept: string | undefined;
  /** As `setSince` has it, of what is there now. */
  readonly set: Entries | undefined;
}

/** What may have been there before us, the newest last. */
function earlier(file: string, now: string, parent: readonly string[]): readonly Earlier[] {
  return [undefined, ...keptBeside(file)].flatMap((kept) => {
    const text = kept === undefined ? nothing : unlessFails(() => read(kept));
    return text === undefined ? [] : [{ kept, text, set: setSince(text, now, parent) }];
  });
}

type Entries = readonly (readonly [name: string, value: unknown])[];

/** What has another value below `parent` than before; `undefined` if more has changed than `setInFile` changes. */
function setSince(before: string, after: string, parent: readonly string[]): Entries | undefined {
  const [old, now] = [before, after].map((text) => objectOf(valueIn(text, parent)));
  const set = Object.entries(now!).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(old![name]),
  );
  return unlessFails(() => withAll(before, parent, set)) === after ? set : undefined;
}

function withAll(text: string, parent: readonly string[], entries: Entries): string {
  return entries.reduce((whole, [name, value]) => edited('', whole, [...parent, name], value), text);
}

/** The object at the end of the path; empty where none is, or the file cannot be read. */
export function objectInFile(file: string, path: readonly string[]): Readonly<Record<string, unknown>> {
  return objectOf(valueIn(unlessFails(() => read(file)) ?? '', path));
}

function hasValue(text: string, path: readonly string[]): boolean {
  return valueIn(text, path) !== undefined;
}

function valueIn(text: string, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (inner as Record<string, unknown> | undefined)?.[key],
    parse(withoutMark(text)),
  );
}

function edited(file: string, whole: string, path: readonly string[], value: unknown): string {
  const text = withoutMark(whole);
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  const [first] = errors;
  if (first !== undefined || (root ?? { type: 'object' }).type !== 'object') {
    const what =
      first === undefined ? 'no object' : `${printParseErrorCode(first.error)} at offset ${first.offset}`;
    throw new CaiError(
      'CONFIG',
      `${file} is not what an editor writes (${what}): correct it, or use --print`,
    );
  }
  const twice = doubledKey(root, path);
  if (twice !== undefined)
    throw new CaiError(
      'CONFIG',
      `${file} has ${JSON.stringify(twice)} twice, of which an editor takes one: make one of them, or use --print`,
    );
  const after = value === undefined ? withoutValue(text, path) : withValue({ file, text, root }, path, value);
  return whole.slice(0, whole.length - text.length) + after;
}

/** Editors read over a byte order mark, and it stays. */
function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** Undefined: the file does not exist. */
function read(file: string): string | undefined {
  const text = reading(file, () => unlessGone(() => utf8Of(readFileSync(file))));
  const target = text === undefined ? unlessFails(() => readlinkSync(file)) : undefined;
  if (target === undefined) return text;
  throw new CaiError('CONFIG', `${file} leads to ${target}, which is not there: make it, or remove the link`);
}

/** A link stays one: people keep their settings elsewhere. */
function write(file: string, before: string | undefined, after: string, state: string): void {
  if (before === undefined) {
    const made = foldersAbove(file).findLast((folder) => !existsSync(folder));
    unlessFails(() =>
      made === undefined ? forget(state, 'made-folders', file) : record(state, 'made-folders', file, made),
    );
    makeFolder(dirname(file), 0o777);
    writeFileSync(file, after, { flag: 'wx' });
    return;
  }
  const real = realpathSync(file);
  refuseReadOnly(real);
  copyFileSync(real, namesBeside(real).at(-1)!, constants.COPYFILE_EXCL);
  replaceFile(real, after, statSync(real));
}

/** Removes those that `write` has made, but for one that has something else in it, and what is above that. */
function removeFolders(file: string, state: string): void {
  const made = recorded(state, 'made-folders', file);
  if (made === undefined) return;
  forget(state, 'made-folders', file);
  const folders = foldersAbove(file);
  unlessFails(() => folders.slice(0, folders.indexOf(made) + 1).forEach((folder) => rmdirSync(folder)));
}

/** The innermost first. */
function foldersAbove(file: string): string[] {
  const folder = dirname(file);
  return folder === file ? [] : [folder, ...foldersAbove(folder)];
}

/** Whoever made it so does not want it changed; the folder alone would let us. */
function refuseReadOnly(real: string): void {
  if ((statSync(real).mode & 0o222) === 0) throw new Error('it is read-only');
}

/** The names beside a file under which earlier contents are kept, the newest last, and behind them the first free one. */
function namesBeside(file: string): string[] {
  const names = [`${file}.before-cai`];
  while (lstatSync(names.at(-1)!, { throwIfNoEntry: false }) !== undefined)
    names.push(`${names[0]}-${names.length + 1}`);
  return names;
}
