/**
 * Text for a terminal: several lines are fine, but nothing in it can steer the terminal, because a part of
 * it may be a stranger's.
 */
export function printable(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '\ufffd'); // eslint-disable-line no-control-regex -- those are meant
}

/** The same on one line. */
export function printableLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim();
}

/**
 * A value as JSON for people to read. What could steer a terminal or hide text (control and format
 * characters, line separators) is escaped, because the value may be a stranger's.
 */
export function quoted(value: unknown): string {
  return escaped(JSON.stringify(value));
}

/** The same, indented on several lines. */
export function quotedLines(value: unknown): string {
  return escaped(JSON.stringify(value, undefined, 2));
}

/** No string in JSON has a line end that is not escaped already. */
function escaped(json: string): string {
  return json.replace(/(?!\n)[\p{C}\u2028\u2029]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}
