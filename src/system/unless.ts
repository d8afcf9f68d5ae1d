/** What is tried, and may fail or find nothing. */
import { errorCodeOf } from '../errors';

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
