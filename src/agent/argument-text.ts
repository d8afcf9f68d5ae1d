/** Whether it is a text that can be an argument or a value of a program: NUL would end it, and it has to be Unicode. */
export function isPassable(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0') && !/\p{Surrogate}/u.test(value);
}

/** Whether it can be the name of a variable of the environment. */
export function isVariableName(value: unknown): value is string {
  return isPassable(value) && value !== '' && !value.includes('=');
}
