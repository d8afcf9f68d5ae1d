/**
 * The one owner of a session of the editor: its state, what it is at each agent, its settings, and the calls that wait
 * for it. Tables only find it. Calls of one session reach its agent in the order in which the editor sent them:
 * whatever takes longer than a turn of the event loop holds the session, and calls that come meanwhile wait here.
 */
import type { Child } from '../child/child';
import type { CaiError } from '../../errors';
import type { PathMap } from '../../system/paths/path-map';
import type { PinnedFolder } from '../../system/paths/pinned-folder';
import { withOwnLine, type Call, type CallBudget } from './editor-call';
import { within } from '../../system/time-limit';
import { SessionSettings } from './session-settings';

/** A session as one agent has it. It never changes: with another agent or folder, there is another object. */
export interface AgentSession {
  readonly owner: Session;
  /** Its id on the editor's side, unique there. */
  readonly editorId: string;
  /** Its id on the agent's side, unique within the child. */
  readonly agentId: string;
  readonly child: Child;
  /** Its working directory and further roots, then what is read-only below them: `fs/*` is confined to these. */
  readonly roots: readonly PinnedFolder[];
  /** Between the editor's spelling of its paths and the agent's. */
  readonly map: PathMap;
  /**
   * Params of the editor's call that opened it, JSON text; undefined if that call cannot be repeated. In memory only:
   * they may hold secrets.
   */
  readonly openParams?: string | undefined;
}

/** What is known before an agent has it, with the editor's working directory where it has a worktree instead. */
export type SessionFolders = Pick<AgentSession, 'roots' | 'map' | 'openParams'> & { editorCwd?: string };

/**
 * - `closed`: no agent has it. It may be remembered, and a call that opens it may be on its way.
 * - `open`: an agent has it, or has been asked to open it.
 * - `restoring`: as `open`, by a call of ours: the editor knows already what its agent tells of the past.
 * - `lost`: its agent has ended; its next call restores it.
 */
export type SessionState = 'closed' | 'open' | 'restoring' | 'lost';

/** After so long without an update, an agent has told all of the past, in milliseconds. */
const silenceMs = 250;

const isPrompt = ({ message }: Call): boolean => message.method === 'session/prompt';

export class Session {
  readonly settings = new SessionSettings();
  /** It was made by `session/new` and got nothing but settings since, so its agent may not have stored it. */
  isUnused: boolean | undefined;
  /** Ends the restore that is under way, because the editor closes the session. */
  endRestore: ((closing: Call) => void) | undefined;
  #state: SessionState = 'closed';
  /** As agents have it. Each call that opens it again adds one, which replaces the others if the call succeeds. */
  #atAgents: AgentSession[] = [];
  /** Runs while its agent may still tell of the past. */
  #silence: NodeJS.Timeout | undefined;
  #waiting: Call[] = [];
  /** How many of `#waiting` are prompts: a cancel must not have to look at all of them. */
  #waitingPrompts = 0;
  #isHeld = false;

  /**
   * A session that no agent has. `editorId`: its id on the editor's side. Calls that wait take their room from `budget`,
   * and `serve` gets them when their turn comes.
   */
  constructor(
    readonly editorId: string,
    private readonly budget: CallBudget,
    private readonly serve: (call: Call) => void,
  ) {}

  get state(): SessionState {
    return this.#state;
  }

  /** As its agent has it; undefined while no agent has it. */
  get atAgent(): AgentSession | undefined {
    return this.#state === 'open' || this.#state === 'restoring' ? this.#atAgents.at(-1) : undefined;
  }

  /** As its last agent had it; undefined unless it is lost. */
  get lost(): AgentSession | undefined {
    return this.#state === 'lost' ? this.#atAgents.at(-1) : undefined;
  }

  /** An agent has it, or is asked to open it. `settle` makes that final, `dismiss` takes it back. */
  enter(session: AgentSession, state: 'open' | 'restoring'): void {
    this.#atAgents.push(session);
    this.#state = state;
  }

  /** The call that opened it as `session` has succeeded: what it was before is over. */
  settle(session: AgentSession): void {
    const index = this.#atAgents.indexOf(session);
    if (index > 0) this.#atAgents.splice(0, index);
    if (this.#state === 'restoring' && this.atAgent === session) this.#state = 'open';
  }

  /** Its agent has told something of the past while the session is restored. */
  toldPast(): void {
    this.#silence?.refresh();
  }

  /**
   * Settles `session` once the agent has told all of the past, at the latest after `limitMs`. By the protocol an agent
   * tells the past before it answers `session/load`, but Gemini CLI 0.61 goes on afterwards.
   */
  async settleQuiet(session: AgentSession, limitMs: number): Promise<void> {
    await within(limitMs, new Promise<void>((resolve) => (this.#silence = setTimeout(resolve, silenceMs))));
    clearTimeout(this.#silence);
    this.#silence = undefined;
    this.settle(session);
  }

  /** The call that opened it as `session` has failed. Returns what it was before that, if anything. */
  dismiss(session: AgentSession): AgentSession | undefined {
    const wasLast = this.#atAgents.at(-1) === session;
    this.#atAgents = this.#atAgents.filter((each) => each !== session);
    return wasLast ? this.#atAgents.at(-1) : undefined;
  }

  /** What it was before the call that opened it as `session`, if that call is still open; else `session`. */
  settledBefore(session: AgentSession): AgentSession {
    return this.#atAgents.includes(session) ? this.#atAgents[0]! : session;
  }

  /** No agent has it any more. `lost`: what it was at the last one, if it can be restored. */
  leave(lost?: AgentSession): void {
    this.#state = lost === undefined ? 'closed' : 'lost';
    this.#atAgents = lost === undefined ? [] : [lost];
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Has a call wait behind the others; false if there is no room for it. */
  wait(call: Call): boolean {
    const kept = withOwnLine(call);
    if (!this.budget.take(kept)) return false;
    this.#waiting.push(kept);
    if (isPrompt(kept)) this.#waitingPrompts++;
    return true;
  }

  /** The failure of a call that could not wait. */
  crowded(call: Call): CaiError {
    return this.budget.crowded(this.editorId, withOwnLine(call));
  }

  /** Takes the waiting prompts out, in their order. */
  takePrompts(): Call[] {
    return this.#waitingPrompts === 0 ? [] : this.takeWaiting(isPrompt);
  }

  /** Takes the waiting calls out that are wanted, in their order. */
  takeWaiting(isWanted: (call: Call) => boolean): Call[] {
    const taken = this.#waiting.filter(isWanted);
    this.#waiting = this.#waiting.filter((call) => !isWanted(call));
    for (const call of taken) this.#release(call);
    return taken;
  }

  /**
   * Has calls wait until `step` has settled, then serves them in their order until one of them holds the session again.
   * Settles as `step` does.
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

  #release(call: Call): void {
    if (isPrompt(call)) this.#waitingPrompts--;
    this.budget.giveBack(call);
  }

  #goOn(): void {
    const calls = this.#waiting;
    this.#waiting = [];
    let served = 0;
    for (; served < calls.length && !this.#isHeld; served++) {
      this.#release(calls[served]!);
      this.serve(calls[served]!);
    }
    // A call that holds the session may wait in it itself, as the first.
    this.#waiting = [...this.#waiting, ...calls.slice(served)];
  }
}
