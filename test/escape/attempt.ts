import { missing } from '../engine/engines';

/**
 * One attack on the whole of `cai`, by name: `reach` does it and tells what it reached; undefined: nothing. The
 * test fails if something was reached, and says what. `reach` rejects where the attack could not be tried at
 * all, so that nothing passes for having done nothing.
 *
 * The name is a sentence that says what happens if the attack succeeds: "an agent that swaps its working folder
 * for a link has a file of the user written". It is a literal, and `ATTACKS.md` lists it once
 * `node test/escape/list.mjs --write` was run.
 */
export function attempt(name: string, reach: () => Promise<string | undefined>, timeoutMs?: number): void {
  test(name, async () => await fails(reach), timeoutMs);
}

/** `attempt` of what needs this of the engine; where that is missing, skipped with the reason in the name. */
export function attemptWith(need: Parameters<typeof missing>[0]): typeof attempt {
  const reason = missing(need);
  if (reason === undefined) return attempt;
  return (name, reach, timeoutMs) => {
    test.skip(`${name} (${reason})`, async () => await fails(reach), timeoutMs);
  };
}

async function fails(reach: () => Promise<string | undefined>): Promise<void> {
  const reached = await reach();
  if (reached !== undefined) throw new Error(`The attack succeeded. Reached: ${reached.slice(0, 2_000)}`);
}

/** `reached` if that is so, else undefined. */
export function reachedIf(isReached: boolean, reached: string): string | undefined {
  return isReached ? reached : undefined;
}
