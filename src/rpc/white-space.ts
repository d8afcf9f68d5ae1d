/** White space of messages, where it could be taken for something else. */
import { backslash, carriageReturn, newline, quote, space, tab } from './json/bytes';

/** Nothing but white space, which is no message. */
export function isBlank(line: Buffer): boolean {
  for (const c of line) if (c !== space && c !== tab && c !== carriageReturn) return false;
  return true;
}

/** A message that came in one piece: its line ends, which valid JSON has only between tokens, become spaces. */
export function onOneLine(message: Buffer): Buffer {
  if (!message.includes(newline) && !message.includes(carriageReturn)) return message;
  const line = Buffer.from(message);
  for (let at = 0; at < line.length; at++)
    if (line[at] === newline || line[at] === carriageReturn) line[at] = space;
  return line;
}

/**
 * A CR may stand between two tokens, but some readers take it for a line end: they would see other
 * messages than we do. So it becomes a space. In a string it stays, which is not valid JSON.
 */
export function withoutReturns(line: Buffer): Buffer {
  if (!line.includes(carriageReturn)) return line;
  const copy = Buffer.from(line);
  let isInString = false;
  for (let at = 0; at < copy.length; at++) {
    if (copy[at] === quote) isInString = !isInString;
    else if (copy[at] === backslash && isInString) at++;
    else if (copy[at] === carriageReturn && !isInString) copy[at] = space;
  }
  return copy;
}
