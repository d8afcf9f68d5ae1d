/** Whether this run may take hours (`.ci/run --nightly`): a test then takes all of its cases, and otherwise the first ones. */
export const isNightly = process.env.CAI_NIGHTLY === '1';

/** What is tried in each run, with what is tried nightly only. */
export function tried<T>(always: readonly T[], nightly: readonly T[]): readonly T[] {
  return isNightly ? [...always, ...nightly] : always;
}
