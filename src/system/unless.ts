/** What is tried, and may fail or find nothing. */
import { errorCodeOf } from '../errors';

/** The object that a text holds as JSON; `undefined` if it holds none, also for a list. */
export function objectIn(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  const value = unlessFails<unknown>(() => JSON.parse(text ?? ''));
  return isObject(value) ? value : undefined;
}

/** Whether a value is an object, and no list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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
