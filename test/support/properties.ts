/**
 * How often a property is tried. `npm test` tries the same inputs each time; `npm run fuzz` many more,
 * others each time, and tells the seed with which they come again.
 */
import { isNightly } from './nightly';

/** Runs that were asked for by `npm run fuzz`; 0 in `npm test`. */
const fuzzRuns = Number(process.env.CAI_FUZZ_RUNS ?? 0);
const newSeed = Date.now() & 0x7fff_ffff;

/** Settings for `fc.assert`. */
export const runs =
  fuzzRuns > 0
    ? { numRuns: fuzzRuns, seed: Number(process.env.CAI_FUZZ_SEED ?? newSeed) }
    : { numRuns: isNightly ? 300 : 100, seed: 1 };

if (fuzzRuns > 0) process.stderr.write(`CAI_FUZZ_RUNS=${fuzzRuns} CAI_FUZZ_SEED=${runs.seed}\n`);
