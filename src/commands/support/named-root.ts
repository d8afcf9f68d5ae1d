/** Which workspace a command is about that can do without one. */
import { resolve } from 'node:path';
import type { Host } from '../../system/host';
import { CaiError } from '../../errors';
import { findWorkspace, type Workspace } from '../../workspace/root';

/** The workspace of a folder; `undefined`: the folder can be in no workspace. */
export async function workspaceIfAny(folder: string, host: Host): Promise<Workspace | undefined> {
  try {
    return await findWorkspace(resolve(folder), { host });
  } catch (reason) {
    if (!(reason instanceof CaiError) || reason.code !== 'WORKSPACE') throw reason;
    return undefined;
  }
}

/** The root of a folder's workspace. A folder that is gone, or can be in no workspace any more, may have been a root. */
export async function namedRoot(folder: string, host: Host): Promise<string> {
  return (await workspaceIfAny(folder, host))?.root ?? resolve(folder);
}
