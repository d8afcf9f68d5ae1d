import type { CaiError } from '../../src/errors';

/** The code of the `CaiError` with which an action fails; `undefined`: it does not. */
export function codeOf(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (reason) {
    return (reason as CaiError).code;
  }
}
