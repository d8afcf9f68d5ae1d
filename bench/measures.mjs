/* What is measured, in the order in which it is. */
import * as cluster from './measures/cluster.mjs';
import * as containers from './measures/containers.mjs';
import * as history from './measures/history.mjs';
import * as initialize from './measures/initialize.mjs';
import * as memory from './measures/memory.mjs';
import * as network from './measures/network.mjs';
import * as quiet from './measures/quiet.mjs';
import * as roundtrip from './measures/roundtrip.mjs';
import * as serve from './measures/serve.mjs';
import * as sessions from './measures/sessions.mjs';
import * as throughput from './measures/throughput.mjs';

/**
 * By name. A measure has `names` of contenders, `metrics` with unit and the contender to compare with, and
 * `round`, which returns the figures of one round by metric and contender. It may have `unavailable`, which
 * resolves with the reason why it cannot be run here, and `isExtra`: it is run only if it is asked for.
 */
export const measures = {
  throughput,
  roundtrip,
  sessions,
  quiet,
  initialize,
  memory,
  history,
  containers,
  network,
  serve,
  cluster,
};
