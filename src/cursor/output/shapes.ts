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

/** A JSON object of a line; undefined for every other line. Half a character, which no editor could read, becomes U+FFFD. */
export function lineIn(text: string): Shape | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    const whole = (_: string, value: unknown) => (typeof value === 'string' ? wellFormed(value) : value);
    return shapeOf(/\\ud[89a-f]/i.test(text) ? JSON.parse(text, whole) : JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** The beginning of a text: at most so many UTF-16 units, and no half of a character. */
export function beginning(text: string, length: number): string {
  return wellFormed(text.slice(0, length));
}

function wellFormed(text: string): string {
  return text.replaceAll(/\p{Cs}/gu, '\ufffd');
}
