/** How wide the workspace of a folder is: no wider than when it was first opened, unless the user has agreed. */
import type { Host } from '../system/host';
import { CaiError } from '../errors';
import { commandWord, quoted } from '../system/quoted';
import { resolvePath } from '../system/real-path';
import { recorded, recordedRoots, recordFirst } from './records';
import { findWorkspace, type Workspace } from './root';
import { isInside } from '../system/paths/is-inside';

type Placed = Pick<Workspace, 'cwd' | 'realCwd' | 'root' | 'isUnsure'>;

/**
 * The root that was recorded for a working directory, or else the nearest one that it lies in, by its real path, if `root`,
 * which it has now, is neither that nor below it.
 */
export function outgrownRoot(state: string, { cwd, realCwd, root }: Placed): string | undefined {
  const known = recorded(state, 'roots', cwd) ?? nearestRoot(state, realCwd);
  return known === undefined || isInside(root, known) ? undefined : known;
}

/** Whoever works in a recorded root could have broken its repository, so that one around it counts. */
function nearestRoot(state: string, realCwd: string): string | undefined {
  const around = recordedRoots(state).filter((each) => isInside(realCwd, each));
  return around.sort((one, other) => other.length - one.length)[0];
}

/**
 * The recorded root that a working directory is spelled through and does not lie in, because of a link there: an
 * agent may have made that link. `undefined`: none, or the directory has its own record.
 */
export async function rootLeftByLink(
  state: string,
  { cwd, realCwd, root }: Workspace,
): Promise<string | undefined> {
  if (cwd === realCwd || recorded(state, 'roots', cwd) !== undefined) return undefined;
  const { links } = await resolvePath(cwd);
  return recordedRoots(state).find(
    (known) => !isInside(root, known) && links.some((link) => isInside(link, known)),
  );
}

/**
 * Fails with `CaiError('WORKSPACE')` for a root that is wider than the one that was recorded for the working directory
 * as it is spelled, or lies elsewhere: what the agent or a stranger changes in a repository must not choose what is
 * mounted. Records the root of a directory that has no record, unless it is `isForNow`: only looked at, or so because git
 * took too long. A narrower root than the recorded one is not recorded either.
 */
export function checkRoot(state: string, workspace: Placed, isForNow = workspace.isUnsure === true): void {
  const { cwd, root } = workspace;
  const outgrown = outgrownRoot(state, workspace);
  if (outgrown !== undefined)
    throw new CaiError(
      'WORKSPACE',
      `${quoted(cwd)} belonged to the workspace ${quoted(outgrown)} and now leads to ${quoted(root)}, which holds more or lies elsewhere: if that is right, run: cai trust ${commandWord(cwd)}`,
    );
  if (!isForNow) recordFirst(state, 'roots', cwd, root);
}

/** Rejects with `CaiError('WORKSPACE')` for a workspace that `rootLeftByLink` knows one for. */
export async function checkLinks(state: string, workspace: Workspace): Promise<void> {
  const left = await rootLeftByLink(state, workspace);
  if (left === undefined) return;
  const [folder, root] = [quoted(workspace.cwd), quoted(workspace.root)];
  throw new CaiError(
    'WORKSPACE',
    `${folder} leads to ${root} by a link in the workspace ${quoted(left)}, where an agent can make links: if that is right, run: cai trust ${commandWord(workspace.cwd)}`,
  );
}

/**
 * The workspace of a working directory, which is its root where the identity of that is `known`. Rejects as
 * `findWorkspace`, `checkLinks` and `checkRoot` do.
 */
export async function findCheckedWorkspace(cwd: string, host: Host, known?: string): Promise<Workspace> {
  const workspace = await findWorkspace(cwd, { host, isRoot: known !== undefined });
  await checkLinks(host.folders.state, workspace);
  checkRoot(host.folders.state, workspace);
  return workspace;
}
