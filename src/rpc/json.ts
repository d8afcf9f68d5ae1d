/** The door to `json/`: what others than `rpc/` need to read JSON as bytes. */
export { closeBrace, closeBracket, colon, comma, newline, openBrace, openBracket, quote } from './json/bytes';
export { stringEnd, unquote } from './json/string';
export { scalarEnd, skipSpace } from './json/tokens';
export { wantedIn } from './json/wanted-places';
export type { Field, Plan } from './json/wanted-places';
export { Walk } from './json/walk';

/** A JSON object whose members are not checked yet, such as capabilities. */
export type JsonObject = Readonly<Record<string, unknown>>;
