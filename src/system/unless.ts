/** What is tried, and may fail or find nothing. */
import { CaiError, errorCodeOf, messageOf, type FailureCode } from '../errors';

/** An object of JSON, of which anything can be missing. */
type Json = Readonly<Record<string, unknown>>;

/** The object that a text holds as JSON; `undefined` if it holds none, also for a list. */
export function objectIn(text: string | undefined): Json | undefined {
  const value = unlessFails<unknown>(() => JSON.parse(text ?? ''));
  return isObject(value) ? value : undefined;
}

/** Whether a value of JSON is an object, and no list. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object that a value of JSON is; an empty one for anything else. */
export function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

/** A value of JSON as text; `undefined` if it is nested too deeply, which can be read all the same. */
export function jsonUnlessDeep(value: object): string | undefined {
  return unlessFails(() => JSON.stringify(value));
}

/** Longer texts are not parsed, in characters: of 32 MiB of brackets the parser makes a gigabyte, in seconds. */
const maxParsedLength = 1024 * 1024;

/** The value of a text that is known to be JSON; `undefined` if it is too long to be parsed. */
export function parsedUnlessLong(text: string | undefined): unknown {
  return text === undefined || text.length > maxParsedLength ? undefined : JSON.parse(text);
}

/** What `look` finds; `undefined` if it fails, for whatever reason. */
export function unlessFails<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** What `look` finds; `undefined` if it fails because nothing is there. */
export function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (reason) {
    if (errorCodeOf(reason) === 'ENOENT') return undefined;
    throw reason;
  }
}

/** Whether an error of the system says that nothing is there, also because the way there leads through a file. */
export function isMissing(reason: unknown): boolean {
  return errorCodeOf(reason) === 'ENOENT' || errorCodeOf(reason) === 'ENOTDIR';
}

/** What `read` returns; an error becomes a `CaiError` that names `place`, and what to do if that is known. */
export function reading<T>(place: string, read: () => T, code: FailureCode = 'CONFIG', remedy?: string): T {
  try {
    return read();
  } catch (cause) {
    const what = `${place} cannot be read: ${messageOf(cause)}`;
    throw new CaiError(code, remedy === undefined ? what : `${what}: ${remedy}`, undefined, { cause });
  }
}

/** What `write` returns; an error of the system becomes a `CaiError('CONFIG')` that names `place`. */
export function writing<T>(place: string, write: () => T): T {
  try {
    return write();
  } catch (cause) {
    throw new CaiError('CONFIG', `${place} cannot be written: ${messageOf(cause)}`, undefined, { cause });
  }
}
