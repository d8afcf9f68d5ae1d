/**
 * Which server has a session open, of all that have the same state folder: two agents in one session would not know of each
 * other. A server that was killed elsewhere keeps its claims for as long as its locks.
 */
import { join } from 'node:path';
import { ProcessLocks, type Lock } from '../../../system/process-lock';
import { recordName } from '../../../system/state-folder';
import { unlessFails } from '../../../system/unless';

/** Why a session is not opened here. */
export const openInAnotherServer =
  'the session is open in another server with the same state folder: come in there, or, if that one has ended, try again in half a minute';

export class SessionClaims {
  /** By session: several users may have the same one open here. */
  readonly #taken = new Map<string, { readonly lock: Lock | undefined; uses: number }>();

  /** `folder`: that of the server, in the state folder. */
  constructor(private readonly folder: string) {}

  /** Gives the claim back when it is called; `undefined`: another server has the session open. */
  take(id: string): (() => void) | undefined {
    const claim = this.#taken.get(id) ?? this.#claim(id);
    if (claim === undefined) return undefined;
    this.#taken.set(id, claim);
    claim.uses++;
    return () => {
      if (--claim.uses > 0) return;
      this.#taken.delete(id);
      claim.lock?.release();
    };
  }

  /**
   * Clients choose ids. A folder that cannot be written keeps nobody from a session. A lock lists its folder, so claims
   * are in 256 folders: one client may have thousands.
   */
  #claim(id: string): { readonly lock: Lock | undefined; uses: number } | undefined {
    const name = recordName(id);
    const locks = new ProcessLocks(join(this.folder, 'sessions', name.slice(0, 2)));
    const tried = unlessFails(() => ({ lock: locks.tryTake(name) }));
    return tried !== undefined && tried.lock === undefined ? undefined : { lock: tried?.lock, uses: 0 };
  }
}
