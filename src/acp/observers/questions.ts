/** What commands ask the user of an editor: may an agent connect to a place for which there is no rule? */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../rpc/json';
import type { WorkspaceChild } from '../child/workspace-child';
import { messageOf } from '../../errors';
import type { Core } from '../relay/core';
import { cancelLine, ownMark, ownUpdateLine, requestLine } from '../../rpc/answer';
import { bodyOf, type Message } from '../../rpc/message';
import type { SessionObserver } from '../sessions/observer';
import type { AgentSession, Session } from '../sessions/session';
import { within } from '../../system/time-limit';
import { askMs, shownPlace } from '../../network';
import { objectOf, unlessFails } from '../../system/unless';

const maxCards = 8;
/** About how many places an editor is asked in one turn, and how many are allowed for one session. */
const maxPlaces = 1_000;

/** Two of a kind are allowed; what each means is ours. Source: ACP v1, `PermissionOption`. */
const options = [
  { optionId: 'turn', name: 'Allow in this turn', kind: 'allow_once' },
  { optionId: 'session', name: 'Allow in this session', kind: 'allow_always' },
  { optionId: 'workspace', name: 'Always allow in this workspace', kind: 'allow_always' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
] as const;
/** Offered, too, to somebody who has said No this often in a turn. */
const noToAll = { optionId: 'none', name: 'No to all in this turn', kind: 'reject_always' } as const;
const manyRefusals = 3;

type Option = (typeof options)[number] | typeof noToAll;
type Choice = Option['optionId'];

/** A tool call in the thread of a session, with which a permission is requested. */
interface Card {
  readonly requestId: string;
  /** `undefined`: the card is over, and nothing was chosen. */
  readonly verdict: Promise<boolean | undefined>;
}

/** From a prompt until the session has no prompt open. */
interface Turn {
  readonly session: AgentSession;
  readonly cards: Map<string, Card>;
  /** What was chosen, by place; undefined where the editor has answered without a choice. */
  readonly chosen: Map<string, boolean | undefined>;
  /** Its user, or its editor, is not to be asked any more. */
  isMute: boolean;
  refusesAll: boolean;
}

export interface QuestionsOptions {
  /**
   * Allows a workspace, or what runs without one, to connect to a place, until somebody takes that back. `undefined`:
   * whoever answers may not decide that, and is not offered it.
   */
  readonly allowAlways: ((root: string | undefined, place: string) => void) | undefined;
  /** Whether the editor itself has named the place to the agents of a workspace, as the address of an MCP server. */
  isNamed(root: string | undefined, place: string): boolean;
}

export class Questions implements SessionObserver {
  /** In the order in which they began. */
  readonly #turns = new Map<AgentSession, Turn>();
  /** What is allowed until the session closes. */
  readonly #granted = new WeakMap<Session, Set<string>>();
  /** What agents were told that they may connect to, and have not been told that they no longer may. */
  readonly #told = new WeakMap<WorkspaceChild, Set<string>>();

  constructor(
    private readonly core: Pick<Core, 'isEditorGone' | 'log' | 'requests' | 'sessions'>,
    private readonly options: QuestionsOptions,
  ) {}

  /**
   * Whether an agent may connect to a place; undefined if nobody can be asked, or has answered in time. Which session it
   * acts for is not known: what was chosen in any that is at a turn counts, and the last one to begin is asked.
   */
  async ask(child: WorkspaceChild, place: string): Promise<boolean | undefined> {
    const answer = await this.#answer(child, place);
    if (answer !== true) return answer;
    // The turn may have ended with the answer.
    if (!this.#isAllowed(child, place)) return undefined;
    const told = this.#told.get(child) ?? new Set();
    this.#told.set(child, told.add(place));
    return true;
  }

  async #answer(child: WorkspaceChild, place: string): Promise<boolean | undefined> {
    if (this.options.isNamed(child.root, place)) return true;
    const turns = [...this.#turns.values()].filter(({ session }) => session.child === child).reverse();
    if (turns.some(({ session }) => this.#granted.get(session.owner)?.has(place))) return true;
    const known = turns.find(({ chosen }) => chosen.has(place));
    if (known !== undefined) return known.chosen.get(place);
    const asked = turns.find(({ cards }) => cards.has(place))?.cards.get(place);
    const free = turns.find(({ isMute }) => !isMute);
    const card = asked ?? this.#open(free, place);
    if (card !== undefined) return await within(askMs, card.verdict);
    return turns.some(({ refusesAll }) => refusesAll) ? false : undefined;
  }

  /** Whether an agent may connect to a place by what was answered, or by what the editor has named. */
  #isAllowed(child: WorkspaceChild, place: string): boolean {
    const turns = [...this.#turns.values()].filter(({ session }) => session.child === child);
    if (turns.some(({ chosen }) => chosen.get(place) === true)) return true;
    const sessions = [...this.core.sessions.of(child).byAgentId.values()];
    if (sessions.some(({ owner }) => this.#granted.get(owner)?.has(place))) return true;
    return this.options.isNamed(child.root, place);
  }

  /** Tells an agent's command what it may connect to no more, which ends what is open there. */
  #endGrants(child: WorkspaceChild): void {
    const told = this.#told.get(child);
    const ended = [...(told ?? [])].filter((place) => !this.#isAllowed(child, place));
    for (const place of ended) told!.delete(place);
    if (ended.length > 0) child.link?.endGrants(ended);
  }

  /** A prompt begins a turn, or goes on with it; a cancel ends its cards, and what was allowed for it. */
  onCall(session: AgentSession, { kind, method }: Message): void {
    const turn = this.#turns.get(session);
    if (method === 'session/cancel' && turn !== undefined) {
      turn.isMute = true;
      turn.chosen.clear();
      this.#takeBack(turn);
      this.#endGrants(session.child);
    }
    if (method !== 'session/prompt' || kind !== 'request') return;
    this.#turns.delete(session);
    const isNew = turn === undefined || turn.isMute;
    this.#turns.set(session, isNew ? newTurn(session) : turn);
  }

  /** The last prompt ends the turn, and its cards before the editor gets the answer. */
  onPromptOver(session: AgentSession): void {
    if (!session.child.requests.turns.has(session)) this.#end(session);
  }

  /** What was allowed outlives an agent that has ended, as the session does. */
  onClose(session: AgentSession): void {
    if (session.child.isUsable) this.#granted.delete(session.owner);
    this.#end(session);
  }

  #end(session: AgentSession): void {
    const turn = this.#turns.get(session);
    this.#turns.delete(session);
    if (turn !== undefined) this.#takeBack(turn);
    this.#endGrants(session.child);
  }

  /** Nobody needs the open cards of a turn any more. */
  #takeBack({ session, cards }: Turn): void {
    for (const { requestId } of [...cards.values()]) {
      this.#tell(session, cancelLine(requestId));
      this.core.requests.settleOwn(requestId);
    }
  }

  /** Undefined if the editor cannot be asked. */
  #open(turn: Turn | undefined, place: string): Card | undefined {
    if (this.core.isEditorGone || turn === undefined) return undefined;
    if (turn.cards.size >= maxCards || turn.chosen.size >= maxPlaces) return undefined;
    const { session } = turn;
    const toolCallId = `cai-${randomUUID()}`;
    const title = `Connect to ${asMarkdown(shownPlace(place))}`;
    const call = { toolCallId, title, kind: 'fetch', status: 'pending' };
    const offered = this.#offered(turn);
    let settle: (isAllowed: boolean | undefined) => void;
    const verdict = new Promise<boolean | undefined>((resolve) => (settle = resolve));
    const requestId = this.core.requests.newEditorId((answer) => {
      turn.cards.delete(place);
      const isAllowed = this.#heard(turn, place, answer, offered);
      this.#update(session, { toolCallId, status: isAllowed === true ? 'completed' : 'failed' });
      settle(isAllowed);
    });
    const card = { requestId, verdict };
    turn.cards.set(place, card);
    // Not all editors take the call in the request for an announcement, and updates are of calls that were announced.
    this.#update(session, call, 'tool_call');
    const params = JSON.stringify({
      sessionId: session.editorId,
      toolCall: call,
      options: offered,
      ...ownMark,
    });
    this.#tell(session, requestLine(requestId, 'session/request_permission', params));
    this.core.log.info({ place: shownPlace(place) }, 'the editor is asked about a connection');
    return card;
  }

  #offered({ chosen }: Turn): readonly Option[] {
    const refusals = [...chosen.values()].filter((isAllowed) => isAllowed === false);
    const all = refusals.length < manyRefusals ? options : [...options, noToAll];
    return all.filter(({ optionId }) => optionId !== 'workspace' || this.options.allowAlways !== undefined);
  }

  /** Notes what was chosen, and returns whether the connection is allowed. */
  #heard(
    turn: Turn,
    place: string,
    answer: Message | undefined,
    offered: readonly Option[],
  ): boolean | undefined {
    const choice = answer === undefined ? undefined : choiceOf(answer, offered);
    // It cannot be asked, or what it says cannot be read.
    if (answer?.isError !== false) turn.isMute = true;
    if (choice === 'none') turn.isMute = turn.refusesAll = true;
    const allows = choice !== undefined && choice !== 'no' && choice !== 'none';
    const isAllowed = choice === undefined && !turn.refusesAll ? undefined : allows;
    turn.chosen.set(place, isAllowed);
    if (choice === 'none') this.#takeBack(turn);
    if (choice === 'session' || (choice === 'workspace' && !this.#allowAlways(turn, place)))
      this.#grant(turn, place);
    this.core.log.info({ place: shownPlace(place), choice }, 'the editor was asked about a connection');
    return isAllowed;
  }

  #grant({ session: { owner } }: Turn, place: string): void {
    const granted = this.#granted.get(owner) ?? new Set();
    if (granted.size < maxPlaces) this.#granted.set(owner, granted.add(place));
  }

  /** False if that was not possible. */
  #allowAlways({ session }: Turn, place: string): boolean {
    try {
      this.options.allowAlways!(session.child.root, place);
      return true;
    } catch (reason) {
      this.core.log.warn({ reason: messageOf(reason) }, 'a permission counts for its session only');
      return false;
    }
  }

  /** Tells the thread of a session about a tool call, unless the editor has closed the session. */
  #update(session: AgentSession, call: JsonObject, sessionUpdate = 'tool_call_update'): void {
    const { child, editorId: sessionId, owner } = session;
    if (owner.openPlace === undefined && child.isUsable) return;
    this.#tell(session, ownUpdateLine(sessionId, { sessionUpdate, ...call }));
  }

  #tell({ child }: AgentSession, line: Buffer): void {
    if (!this.core.isEditorGone) child.deliver(line);
  }
}

function newTurn(session: AgentSession): Turn {
  return { session, cards: new Map(), chosen: new Map(), isMute: false, refusesAll: false };
}

/** Editors show titles as Markdown; nothing else in a place is markup there. */
function asMarkdown(place: string): string {
  return place.replaceAll('_', '\\_');
}

/** What the user has chosen; undefined for any other answer. Source: ACP v1, `RequestPermissionOutcome`. */
function choiceOf(answer: Message, offered: readonly Option[]): Choice | undefined {
  const result = answer.isError ? undefined : unlessFails(() => objectOf(bodyOf(answer)));
  const { outcome, optionId } = objectOf(result?.outcome);
  return outcome === 'selected' ? offered.find((each) => each.optionId === optionId)?.optionId : undefined;
}
