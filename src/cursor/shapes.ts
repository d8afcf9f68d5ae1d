/** Reads JSON that may have any form: what Cursor writes changes between its versions. */

/** A JSON object of unknown form. */
export type Shape = Readonly<Record<string, unknown>>;

/** The object that a value is; an empty one for everything else. */
export function shapeOf(value: unknown): Shape {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Shape) : {};
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
