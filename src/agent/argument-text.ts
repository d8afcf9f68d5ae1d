/** Whether a value can be an argument or variable: a text of whole Unicode characters without NUL. */
export function isPassable(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0') && !/\p{Surrogate}/u.test(value);
}

/** Whether a value can be the name of an environment variable. */
export function isVariableName(value: unknown): value is string {
  return isPassable(value) && value !== '' && !value.includes('=');
}
