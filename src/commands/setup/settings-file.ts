/** A settings file of an editor: JSON that people write, with comments, which stay. */
import {
  constants,
  copyFileSync,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { applyEdits, modify, parse, printParseErrorCode, type ParseError } from 'jsonc-parser';
import { CaiError, messageOf, errorCodeOf } from '../../errors';
import { makeFolder } from '../../system/files/make-folder';

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
  try {
    write(file, before, after);
  } catch (reason) {
    throw new CaiError('CONFIG', `${file} cannot be written: ${messageOf(reason)}`);
  }
  return true;
}

function edited(file: string, text: string, path: readonly string[], value: unknown): string {
  const errors: ParseError[] = [];
  const options = { allowTrailingComma: true, allowEmptyContent: true };
  const settings: unknown = parse(text, errors, options);
  const [first] = errors;
  const isObject =
    settings === undefined || (typeof settings === 'object' && settings !== null && !Array.isArray(settings));
  if (first !== undefined || !isObject) {
    const what =
      first === undefined ? 'no object' : `${printParseErrorCode(first.error)} at offset ${first.offset}`;
    throw new CaiError(
      'CONFIG',
      `${file} is not what an editor writes (${what}): correct it, or use --print`,
    );
  }
  const formattingOptions = { insertSpaces: true, tabSize: 2, insertFinalNewline: true };
  return applyEdits(text, modify(text, [...path], value, { formattingOptions }));
}

/** Undefined: there is none. */
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
  copyFileSync(real, unusedName(`${real}.before-cai`), constants.COPYFILE_EXCL);
  const draft = `${real}.cai-draft`;
  writeFileSync(draft, after, { mode: statSync(real).mode });
  renameSync(draft, real);
}

function unusedName(name: string): string {
  for (let number = 2, free = name; ; free = `${name}-${number++}`) if (!existsSync(free)) return free;
}
