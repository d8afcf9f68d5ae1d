/**
 * A value as JSON for people to read. What could steer a terminal or hide text (control and format
 * characters, line separators) is escaped, because the value may be a stranger's.
 */
export function quoted(value: unknown): string {
  return JSON.stringify(value).replace(/[\p{C}\u2028\u2029]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}
