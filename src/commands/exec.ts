import { CaiError } from '../errors';

/** `cai exec`: runs a command in a workspace's container, which this version cannot do yet. */
export function run(): Promise<number> {
  throw new CaiError(
    'NO_ENGINE',
    'containers are not available in this version: set CAI_ACP_DIRECT_SPAWN=1 to run the agent on this machine, without isolation',
  );
}
