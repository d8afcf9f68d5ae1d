/** Reads JSON that may have any form: what Cursor writes changes between its versions. */
import { isObject } from '../../system/unless';

/** A JSON object of unknown form. */
export type Shape = Readonly<Record<string, unknown>>;

/** The object that a value is; an empty one for everything else. */
export function shapeOf(value: unknown): Shape {
  return isObject(value) ? value : {};
}

/** The list that a value is; an empty one for everything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The first text that is not empty. */
export function firstText(...values: readonly unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === 'string' && value !== '');
}

/** The first number; Cursor writes some as text. */
export function firstNumber(...values: readonly unknown[]): number | undefined {
  return values
    .map((value) => (typeof value === 'string' && value !== '' ? Number(value) : value))
    .find((value): value is number => typeof value === 'number' && Number.isFinite(value));
}

/** The text of a list of content blocks, or of one. */
export function textIn(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((block) => firstText(shapeOf(block).text) ?? '')
    .join('');
}

/** What is deeper is left out: all who write it as JSON go down level by level. */
const maxLevels = 200;

/** A JSON object of a line; undefined for every other line. Half a character, which no editor could read, becomes U+FFFD. */
export function lineIn(text: string): Shape | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    return jsonIn(text);
  } catch {
    return undefined;
  }
}

/** The object that a text holds as JSON, down to `maxLevels`. Throws for what is no JSON. */
export function jsonIn(text: string): Shape {
  const hasHalves = /\\ud[89a-f]/i.test(text);
  const whole = (value: unknown, levels: number): unknown => {
    if (typeof value === 'string' && hasHalves) return wellFormed(value);
    if (typeof value !== 'object' || value === null) return value;
    if (levels === 0) return null;
    if (Array.isArray(value)) return value.map((each) => whole(each, levels - 1));
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, whole(each, levels - 1)]));
  };
  return shapeOf(whole(JSON.parse(text), maxLevels));
}

/** The beginning of a text: at most so many UTF-16 units, and no half of a character. */
export function beginning(text: string, length: number): string {
  return wellFormed(text.slice(0, length));
}

function wellFormed(text: string): string {
  return text.replaceAll(/\p{Cs}/gu, '\ufffd');
}
