/**
 * Faults to be seeded into the proxy, one at a time, as `run.mjs` does: in `file`, `find` (which stands
 * there once) becomes `replace`, and a test of each statement in `breaks` has to fail, of those that run the
 * proxy or of the file `tests`. Each is a mistake that could be made.
 */
import { lineFaults } from './faults/lines.mjs';
import { requestFaults } from './faults/requests.mjs';
import { agentRequestFaults } from './faults/agent-requests.mjs';
import { sessionFaults } from './faults/sessions.mjs';
import { pathFaults } from './faults/paths.mjs';
import { lifeFaults } from './faults/life.mjs';
import { initializeFaults } from './faults/initialize.mjs';
import { signInFaults } from './faults/sign-in.mjs';
import { recoveryFaults } from './faults/recovery.mjs';
import { sessionSetupFaults } from './faults/session-setup.mjs';

/** All of them. */
export const faults = [
  ...lineFaults,
  ...requestFaults,
  ...agentRequestFaults,
  ...sessionFaults,
  ...pathFaults,
  ...lifeFaults,
  ...initializeFaults,
  ...signInFaults,
  ...sessionSetupFaults,
  ...recoveryFaults,
];
