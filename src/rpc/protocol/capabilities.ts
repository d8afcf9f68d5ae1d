import type { JsonObject } from '../json';
import { editorMethods } from './methods';

/** Whether capabilities offer what a dotted path names: it is neither absent, `null` nor `false`. */
export function offers(capabilities: JsonObject | undefined, path: string): boolean {
  let value: unknown = capabilities;
  for (const key of path.split('.')) {
    // An agent may choose the name, so inherited members do not count.
    if (value === undefined || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as JsonObject)[key];
  }
  return value !== undefined && value !== null && value !== false;
}

/** The method that opens a known session: rather `resume`, by which the past is not told again. `undefined`: it has none. */
export function reopenerOf(capabilities: JsonObject | undefined): string | undefined {
  return ['session/resume', 'session/load'].find((each) =>
    offers(capabilities, editorMethods[each]!.capability!),
  );
}
