/** A settings file of an editor: JSON that people write, with comments, which stay. */
import {
  constants,
  copyFileSync,
  existsSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { parse, parseTree, printParseErrorCode, type ParseError } from 'jsonc-parser';
import { CaiError } from '../../errors';
import { realOrSame } from '../../system/real-path';
import { reading, unlessFails, unlessGone, writing } from '../../system/unless';
import { utf8Of } from '../../system/files/utf8';
import { doubledKey, withValue, withoutValue } from './settings-text';
import { makeFolder } from '../../system/files/make-folder';

/**
 * Sets a value in a file, which is made if it is missing. What was there before is kept beside it, with `.before-cai` at
 * the end of the name, or `.before-cai-2` and so on: what is kept is never replaced. Returns false if the value stands
 * there already. Throws `CaiError('CONFIG')` for a file that cannot be read, is no JSON, has a key of the path twice, or
 * cannot be written; then nothing has changed.
 */
export function setInFile(file: string, path: readonly string[], value: unknown): boolean {
  const before = read(file);
  const after = edited(file, before ?? '{}\n', path, value);
  if (after === before) return false;
  writing(file, () => write(file, before, after));
  return true;
}

/**
 * Takes back what `setInFile` has set last. Where nothing else has changed since, the file is again what it was, to the byte,
 * or goes if no file existed; else only the value goes. Returns false if there is no value. Throws as `setInFile` does.
 */
export function unsetInFile(file: string, path: readonly string[]): boolean {
  const now = read(file);
  const value = now === undefined ? undefined : valueAt(parse(withoutMark(now)), path);
  if (now === undefined || value === undefined) return false;
  const real = realpathSync(file);
  const kept = keptBeside(file).at(-1);
  const before = kept === undefined ? '{}\n' : read(kept)!;
  const isAsLeft = edited(file, before, path, value) === now;
  const without = edited(file, now, path, undefined);
  writing(file, () => {
    refuseReadOnly(real);
    if (!isAsLeft) replace(real, without);
    else if (kept === undefined) rmSync(file);
    else renameSync(kept, real);
  });
  return true;
}

/** The names under which earlier contents of a file are kept beside it, the newest last. */
export function keptBeside(file: string): string[] {
  return namesBeside(realOrSame(file)).slice(0, -1);
}

/** The object at the end of the path; empty where none is, or the file cannot be read. */
export function objectInFile(file: string, path: readonly string[]): Readonly<Record<string, unknown>> {
  const settings: unknown = parse(withoutMark(unlessFails(() => read(file)) ?? ''));
  return (valueAt(settings, path) ?? {}) as Readonly<Record<string, unknown>>;
}

function valueAt(settings: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (inner as Record<string, unknown> | undefined)?.[key],
    settings,
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
function write(file: string, before: string | undefined, after: string): void {
  if (before === undefined) {
    makeFolder(dirname(file), 0o777);
    writeFileSync(file, after, { flag: 'wx' });
    return;
  }
  const real = realpathSync(file);
  refuseReadOnly(real);
  copyFileSync(real, namesBeside(real).at(-1)!, constants.COPYFILE_EXCL);
  replace(real, after);
}

/** Whoever made it so does not want it changed; the folder alone would let us. */
function refuseReadOnly(real: string): void {
  if ((statSync(real).mode & 0o222) === 0) throw new Error('it is read-only');
}

/** At once: an editor may read it meanwhile. */
function replace(real: string, text: string): void {
  const draft = `${real}.cai-draft`;
  writeFileSync(draft, text, { mode: statSync(real).mode });
  renameSync(draft, real);
}

/** The names beside a file under which earlier contents are kept, the newest last, and behind them the first free one. */
function namesBeside(file: string): string[] {
  const names = [`${file}.before-cai`];
  while (existsSync(names.at(-1)!)) names.push(`${names[0]}-${names.length + 1}`);
  return names;
}
