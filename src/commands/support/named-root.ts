/** Which workspace a command is about that needs nothing but its name. */
import type { Host } from '../../system/host';
import { CaiError } from '../../errors';
import { findWorkspace } from '../../workspace/root';

/**
 * The root of the workspace that a folder, absolute, lies in. One that is gone, or can no longer be a workspace,
 * may have been the root of one.
 */
export async function namedRoot(folder: string, host: Host): Promise<string> {
  try {
    return (await findWorkspace(folder, { host })).root;
  } catch (reason) {
    if (!(reason instanceof CaiError) || reason.code !== 'WORKSPACE') throw reason;
    return folder;
  }
}
