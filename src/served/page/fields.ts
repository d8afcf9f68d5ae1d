/** What an agent says is read without trust: any part of it may be missing, or be something else. */

export type Fields = Readonly<Record<string, unknown>>;

/** The value as an object; of anything else an empty one. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** The objects of a list; of anything else none. */
export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The value if it is a number that can be shown. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** Whether the params of a message say that it is from cai. Agents cannot say so: cai takes the mark from their messages. */
export function isOurs({ _meta }: Fields): boolean {
  return fieldsOf(_meta).containai === true;
}

// eslint-disable-next-line no-control-regex -- these are what it looks for
const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * The text as it may be shown: characters that are invisible and turn the order of others around, so that a command
 * looks like another one, are written out.
 */
export function shown(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(steering, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
