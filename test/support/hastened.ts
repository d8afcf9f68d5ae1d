import { join } from 'node:path';

/** Environment of a proxy whose timers run out 10 times as fast. */
export const hastened = {
  NODE_OPTIONS: `--require "${join(__dirname, '../../fixtures/hasten.cjs')}"`,
};

/** The same, a tenth as fast: for what a limit must not end on a busy machine. */
export const unhurried = { ...hastened, CAI_HASTEN_BY: '0.1' };
