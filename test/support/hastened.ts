import { join } from 'node:path';

/** Environment of a proxy whose timers run out 10 times as fast. */
export const hastened = {
  NODE_OPTIONS: `--require "${join(__dirname, '../../fixtures/hasten.cjs')}"`,
};
