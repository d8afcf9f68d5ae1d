/** What could steer a terminal or hide text: control and format characters, line separators. */
const unsafe = /[\p{C}\u2028\u2029]/gu;

/**
 * Text for a place in a line of a terminal: every character that could steer the terminal, hide text or begin
 * a line is replaced, because a part of it may be a stranger's.
 */
export function printableCharacters(text: string): string {
  return text.replace(unsafe, '\ufffd');
}

/** The same where several lines, and tabs, are fine. */
export function printable(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(/[^\t\n]+/g, printableCharacters);
}

/** The same on one line, with single spaces. */
export function printableLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim();
}

/**
 * A value as JSON for people to read. What could steer a terminal or hide text is escaped, because the value
 * may be a stranger's.
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
  return json.replace(unsafe, (character) => (character === '\n' ? character : escapedUnits(character)));
}

/** A character as a string in JSON may have it instead: `\\u` and four hex digits for each of its UTF-16 units. */
export function escapedUnits(character: string): string {
  const units = character.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  return units.map((digits) => `\\u${digits}`).join('');
}

/** Text as one word of a shell, whatever is in it. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * A path in a command that people are told to run: as `quoted`, unless a shell would find something in that to run or to
 * replace, because an agent may have chosen the path.
 */
export function commandWord(path: string): string {
  return /[$`"\\!]/.test(path) ? shellWord(printableCharacters(path)) : quoted(path);
}
