/**
 * The one owner of a session of the editor: its state, what agents have of it, what was set in it, and the calls that
 * wait for it. Tables only find it. Calls of one session reach its agent in the order in which the editor sent them,
 * because whatever takes longer than a turn of the event loop holds the session, and what comes meanwhile waits here.
 */
import type { WorkspaceChild } from '../child/workspace-child';
import type { PathMap } from '../paths/path-map';
import type { PinnedFolder } from '../paths/pinned-folder';
import type { Call } from './call';
import { within } from '../system/time-limit';
import { SessionSettings } from './session-settings';
import type { WaitingRoom } from './waiting-room';

/** A session as one agent has it. It never changes: another agent, or another folder, makes another of these. */
export interface AgentSession {
  /** The session itself. */
  readonly owner: Session;
  /** Its id on the editor's side, unique there. */
  readonly editorId: string;
  /** Its id on the agent's side, unique within the child. */
  readonly agentId: string;
  /** The child that has it. */
  readonly child: WorkspaceChild;
  /** Its working directory and further roots, then read-only mounts: `fs/*` is confined to these as they were then. */
  readonly roots: readonly PinnedFolder[];
  /** Between the editor's spelling of its paths and the agent's. */
  readonly map: PathMap;
  /**
   * Params of the call that opened it, JSON text, the editor's own; undefined where that cannot be repeated.
   * In memory only: there may be secrets in it.
   */
  readonly openParams?: string | undefined;
}

/** Where a session belongs: its folders as they are now, the mapping of its paths, the params of the call. */
export type Place = Pick<AgentSession, 'roots' | 'map' | 'openParams'>;

/**
 * - `closed`: no agent has it. It is remembered at most, or a call that opens it is on its way.
 * - `open`: an agent has it, or has been asked to open it.
 * - `restoring`: as `open`, by a call of ours: what its agent tells of the past is known to the editor.
 * - `lost`: its agent has ended; its next call restores it.
 */
export type SessionState = 'closed' | 'open' | 'restoring' | 'lost';

/** How long an agent is silent once it has told all of the past, in milliseconds. */
const silenceMs = 250;

/** One session of the editor. */
export class Session {
  /** What has been set in it. */
  readonly settings = new SessionSettings();
  /** Made by `session/new`, and no agent has got more for it than settings: none may have written it down. */
  isUnused: boolean | undefined;
  /** Ends the restore that is under way, because the editor closes the session. */
  endRestore: ((closing: Call) => void) | undefined;
  #state: SessionState = 'closed';
  /** As agents have it. Each call that opens it again adds one, which takes the place of the others if it succeeds. */
  #places: AgentSession[] = [];
  /** Runs while the end of what its agent tells of the past is waited for. */
  #silence: NodeJS.Timeout | undefined;
  #waiting: Call[] = [];
  #isHeld = false;

  /** A session that no agent has. `editorId`: its id on the editor's side. */
  constructor(
    readonly editorId: string,
    private readonly room: WaitingRoom,
  ) {}

  /** What has become of it. */
  get state(): SessionState {
    return this.#state;
  }

  /** As its agent has it now; undefined while no agent has it. */
  get open(): AgentSession | undefined {
    return this.#state === 'open' || this.#state === 'restoring' ? this.#places.at(-1) : undefined;
  }

  /** As the agent had it that has ended. */
  get lost(): AgentSession | undefined {
    return this.#state === 'lost' ? this.#places.at(-1) : undefined;
  }

  /** An agent has it, or is asked to open it. What it was before comes back with `dismiss`, unless `settle` is called. */
  enter(place: AgentSession, state: 'open' | 'restoring'): void {
    this.#places.push(place);
    this.#state = state;
  }

  /** The call that opened it there has succeeded: what it was before is over. */
  settle(place: AgentSession): void {
    const index = this.#places.indexOf(place);
    if (index > 0) this.#places.splice(0, index);
    if (this.#state === 'restoring' && this.open === place) this.#state = 'open';
  }

  /** While it is restored, its agent has told something of the past. */
  toldPast(): void {
    this.#silence?.refresh();
  }

  /**
   * Settles `place` once the agent, which has answered our `session/load`, has told all of the past, at the latest after
   * `limitMs`. By the protocol that comes before the answer, but Gemini CLI 0.61 goes on with it afterwards.
   */
  async settleQuiet(place: AgentSession, limitMs: number): Promise<void> {
    await within(limitMs, new Promise<void>((resolve) => (this.#silence = setTimeout(resolve, silenceMs))));
    clearTimeout(this.#silence);
    this.#silence = undefined;
    this.settle(place);
  }

  /** The call that opened it there has failed. Returns what it was before, if that was all that it was. */
  dismiss(place: AgentSession): AgentSession | undefined {
    const wasLast = this.#places.at(-1) === place;
    this.#places = this.#places.filter((each) => each !== place);
    return wasLast ? this.#places.at(-1) : undefined;
  }

  /** No agent has it any more; `lost`: as the last one had it, for it to be restored. */
  leave(lost?: AgentSession): void {
    this.#state = lost === undefined ? 'closed' : 'lost';
    this.#places = lost === undefined ? [] : [lost];
  }

  /** Calls for it have to wait. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Has a call wait behind those that wait already; false if there is no room for it. */
  wait(call: Call): boolean {
    if (!this.room.take(call)) return false;
    this.#waiting.push(call);
    return true;
  }

  /** Takes the calls out that wait and that are wanted, in their order. */
  takeWaiting(isWanted: (call: Call) => boolean): Call[] {
    const taken = this.#waiting.filter(isWanted);
    this.#waiting = this.#waiting.filter((call) => !isWanted(call));
    for (const call of taken) this.room.leave(call);
    return taken;
  }

  /**
   * Has the calls that come from now on wait until `step` has settled, and then serves them in their order, up to one
   * that holds the session itself. Settles as `step` does.
   */
  async hold(step: () => Promise<void>): Promise<void> {
    this.#isHeld = true;
    try {
      await step();
    } finally {
      this.#isHeld = false;
      this.#goOn();
    }
  }

  #goOn(): void {
    const calls = this.#waiting;
    this.#waiting = [];
    let served = 0;
    for (; served < calls.length && !this.#isHeld; served++) {
      this.room.leave(calls[served]!);
      this.room.serve(calls[served]!);
    }
    this.#waiting = [...calls.slice(served), ...this.#waiting];
  }
}
