/** A settings file of an editor: JSON that people write, with comments, which stay. */
import {
  constants,
  copyFileSync,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { applyEdits, modify, parse, printParseErrorCode, type ParseError } from 'jsonc-parser';
import { CaiError, messageOf, errorCodeOf } from '../../errors';
import { isObject, unlessFails } from '../../system/unless';
import { makeFolder } from '../../system/files/make-folder';
import { writing } from '../../system/files/replace-file';

/**
 * Sets a value in a file, which is made if it is missing. What was there before is kept beside it, with `.before-cai` at
 * the end of the name, or `.before-cai-2` and so on: what is kept is never replaced. Returns false if the value stands
 * there already. Throws `CaiError('CONFIG')` for a file that cannot be read, is no JSON, or cannot be written; then
 * nothing has changed.
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
  const value = now === undefined ? undefined : valueAt(parse(now), path);
  if (now === undefined || value === undefined) return false;
  const real = realpathSync(file);
  const kept = namesBeside(real).at(-2);
  const before = kept === undefined ? '{}\n' : read(kept)!;
  const isAsLeft = edited(file, before, path, value) === now;
  const without = edited(file, now, path, undefined);
  writing(file, () => {
    if (!isAsLeft) replace(real, without);
    else if (kept === undefined) rmSync(file);
    else renameSync(kept, real);
  });
  return true;
}

/** The names in the object at the end of the path; empty where none is, or the file cannot be read. */
export function namesInFile(file: string, path: readonly string[]): string[] {
  const settings: unknown = parse(unlessFails(() => read(file)) ?? '');
  return Object.keys(valueAt(settings, path) ?? {});
}

function valueAt(settings: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (inner as Record<string, unknown> | undefined)?.[key],
    settings,
  );
}

function edited(file: string, text: string, path: readonly string[], value: unknown): string {
  const errors: ParseError[] = [];
  const options = { allowTrailingComma: true, allowEmptyContent: true };
  const settings: unknown = parse(text, errors, options);
  const [first] = errors;
  if (first !== undefined || !(settings === undefined || isObject(settings))) {
    const what =
      first === undefined ? 'no object' : `${printParseErrorCode(first.error)} at offset ${first.offset}`;
    throw new CaiError(
      'CONFIG',
      `${file} is not what an editor writes (${what}): correct it, or use --print`,
    );
  }
  const formattingOptions = { insertSpaces: !/^\t/m.test(text), tabSize: 2, insertFinalNewline: true };
  try {
    return applyEdits(text, modify(text, [...path], value, { formattingOptions }));
  } catch {
    const what = JSON.stringify(path[0]);
    throw new CaiError('CONFIG', `${file} has no object as ${what}: correct it, or use --print`);
  }
}

/** Undefined: the file does not exist. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (reason) {
    if (errorCodeOf(reason) === 'ENOENT') return undefined;
    throw new CaiError('CONFIG', `${file} cannot be read: ${messageOf(reason)}`);
  }
}

/** A link stays one: people keep their settings elsewhere. */
function write(file: string, before: string | undefined, after: string): void {
  if (before === undefined) {
    makeFolder(dirname(file), 0o777);
    writeFileSync(file, after, { flag: 'wx' });
    return;
  }
  const real = realpathSync(file);
  copyFileSync(real, namesBeside(real).at(-1)!, constants.COPYFILE_EXCL);
  replace(real, after);
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
