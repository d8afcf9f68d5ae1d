/** Where a call wants its session: the workspace of its `cwd`, and the folders besides. */
import { CaiError } from '../errors';
import { bodyTextOf, stringOf, textOf } from '../rpc/scan';
import type { Message } from '../rpc/scan';
import type { Session } from '../session/workspace-child';
import { isFilePath } from '../workspace/real-path';
import type { Workspace } from '../workspace/root';
import { findCheckedWorkspace } from '../workspace/trust';
import type { Children } from './children';

/** Where a session belongs: its folders as the editor spells them, the mapping of its paths, the call's params. */
export type Place = Pick<Session, 'roots' | 'map' | 'openParams'>;

/** What was found for a call. */
export interface Found {
  /** The workspace that its `cwd` lies in. */
  readonly workspace: Workspace;
  /** What its session is to have. */
  readonly place: Place;
}

/** Finds the places of sessions. */
export class SessionPlaces {
  /** The look-up that is going on for each folder: calls that share it go on in the order of their arrival. */
  readonly #lookUps = new Map<string, Promise<Workspace>>();

  /** `children` know what their agents see of this machine. */
  constructor(
    private readonly children: Children,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  /** For a call that opens a session, in `folder` or else its `cwd`. Rejects where it cannot be served. */
  async find(message: Message, folder = cwdOf(message)): Promise<Found> {
    if (folder === undefined) {
      throw new CaiError('INVALID_PARAMS', `${message.method}: cwd must be an absolute path`);
    }
    const workspace = await this.#lookUp(folder);
    const map = this.children.mapFor(workspace);
    const roots = [workspace.cwd, ...furtherRoots(message)];
    for (const root of roots.slice(1)) requireServable(root, this.children.canSee(root, workspace));
    // Without a folder of its own, the call could not be repeated.
    const openParams = cwdOf(message) === undefined ? undefined : bodyTextOf(message);
    return { workspace, place: { roots, map, openParams } };
  }

  #lookUp(cwd: string): Promise<Workspace> {
    const known = this.#lookUps.get(cwd);
    const found = known ?? findCheckedWorkspace(cwd, this.env).finally(() => this.#lookUps.delete(cwd));
    this.#lookUps.set(cwd, found);
    return found;
  }
}

function cwdOf(message: Message): string | undefined {
  return stringOf(message, 'cwd');
}

function furtherRoots(message: Message): string[] {
  const fields = message.fields.filter((field) => field.kind === 'root');
  return fields.map((field) => (field.isString ? textOf(message, field) : ''));
}

/** Source: ACP v1, session setup: additional directories are absolute, and served or refused. */
function requireServable(root: string, isServed: boolean): void {
  if (!isFilePath(root)) {
    throw new CaiError('INVALID_PARAMS', `additionalDirectories: "${root}" is not an absolute path`);
  }
  if (isServed) return;
  throw new CaiError(
    'WORKSPACE',
    `additionalDirectories: "${root}" lies outside the workspace and is not mounted for the agent: add a table [[mounts]] with path = "${root}" to your configuration`,
  );
}
