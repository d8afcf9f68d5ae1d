/** What commands ask the user of an editor: may an agent connect to a place for which there is no rule? */
import type { Child } from '../child/child';
import { messageOf } from '../../errors';
import type { Core } from '../relay/core';
import { ownMark } from '../../rpc/answer';
import type { AgentSession, Session } from '../sessions/session';
import { within } from '../../system/time-limit';
import { askMs, shownPlace } from '../../network';
import { OwnQuestions, Turn } from './own-questions';

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

/** What is asked and chosen in a turn, by place. */
class AskingTurn extends Turn {
  /** Resolves with `undefined` where the card is over, and nothing was chosen. */
  readonly cards = new Map<string, Promise<boolean | undefined>>();
  /** Undefined where the editor has answered without a choice. */
  readonly chosen = new Map<string, boolean | undefined>();
  /** Its user, or its editor, is not to be asked any more. */
  isMute = false;
  refusesAll = false;
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

export class Questions extends OwnQuestions<AskingTurn> {
  /** What is allowed until the session closes. */
  readonly #granted = new WeakMap<Session, Set<string>>();
  /** What agents were told that they may connect to, and have not been told that they no longer may. */
  readonly #told = new WeakMap<Child, Set<string>>();

  constructor(
    private readonly core: Pick<Core, 'isEditorGone' | 'log' | 'requests' | 'sessions'>,
    private readonly options: QuestionsOptions,
  ) {
    super(core, AskingTurn, ownMark);
  }

  /**
   * Whether an agent may connect to a place; undefined if nobody can be asked, or has answered in time. Which session it
   * acts for is not known: what was chosen in any that is at a turn counts, and the last one to begin is asked.
   */
  async ask(child: Child, place: string): Promise<boolean | undefined> {
    const answer = await this.#answer(child, place);
    if (answer !== true) return answer;
    // The turn may have ended with the answer.
    if (!this.#isAllowed(child, place)) return undefined;
    const told = this.#told.get(child) ?? new Set();
    this.#told.set(child, told.add(place));
    return true;
  }

  async #answer(child: Child, place: string): Promise<boolean | undefined> {
    if (this.options.isNamed(child.root, place)) return true;
    const turns = this.turnsOf(child);
    if (turns.some(({ session }) => this.#granted.get(session.owner)?.has(place))) return true;
    const known = turns.find(({ chosen }) => chosen.has(place));
    if (known !== undefined) return known.chosen.get(place);
    const asked = turns.find(({ cards }) => cards.has(place))?.cards.get(place);
    const free = turns.find(({ isMute }) => !isMute);
    const card = asked ?? this.#open(free, place);
    if (card !== undefined) return await within(askMs, card);
    return turns.some(({ refusesAll }) => refusesAll) ? false : undefined;
  }

  /** Whether an agent may connect to a place by what was answered, or by what the editor has named. */
  #isAllowed(child: Child, place: string): boolean {
    if (this.turnsOf(child).some(({ chosen }) => chosen.get(place) === true)) return true;
    const sessions = [...this.core.sessions.of(child).byAgentId.values()];
    if (sessions.some(({ owner }) => this.#granted.get(owner)?.has(place))) return true;
    return this.options.isNamed(child.root, place);
  }

  /** Tells an agent's command what it may connect to no more, which ends what is open there. */
  protected override onTurnOver({ child }: AgentSession): void {
    const told = this.#told.get(child);
    const ended = [...(told ?? [])].filter((place) => !this.#isAllowed(child, place));
    for (const place of ended) told!.delete(place);
    if (ended.length > 0) child.link?.endGrants(ended);
  }

  /** What was allowed outlives an agent that has ended, as the session does. */
  override onClose(session: AgentSession): void {
    if (session.child.isUsable) this.#granted.delete(session.owner);
    super.onClose(session);
  }

  /** Undefined if the editor cannot be asked. */
  #open(turn: AskingTurn | undefined, place: string): Promise<boolean | undefined> | undefined {
    if (this.core.isEditorGone || turn === undefined) return undefined;
    if (turn.cards.size >= maxCards || turn.chosen.size >= maxPlaces) return undefined;
    const offered = this.#offered(turn);
    const card = new Promise<boolean | undefined>((resolve) => {
      const about = { title: `Connect to ${asMarkdown(shownPlace(place))}`, kind: 'fetch' };
      this.askPermission(turn, about, offered, (chosen, answer) => {
        turn.cards.delete(place);
        // It cannot be asked, or what it says cannot be read.
        if (answer?.isError !== false) turn.isMute = true;
        const choice = offered.find(({ optionId }) => optionId === chosen)?.optionId;
        const isAllowed = this.#heard(turn, place, choice);
        resolve(isAllowed);
        return isAllowed === true;
      });
    });
    turn.cards.set(place, card);
    this.core.log.info({ place: shownPlace(place) }, 'the editor is asked about a connection');
    return card;
  }

  #offered({ chosen }: AskingTurn): readonly Option[] {
    const refusals = [...chosen.values()].filter((isAllowed) => isAllowed === false);
    const all = refusals.length < manyRefusals ? options : [...options, noToAll];
    return all.filter(({ optionId }) => optionId !== 'workspace' || this.options.allowAlways !== undefined);
  }

  /** Notes what was chosen, and returns whether the connection is allowed. */
  #heard(turn: AskingTurn, place: string, choice: Choice | undefined): boolean | undefined {
    if (choice === 'none') turn.isMute = turn.refusesAll = true;
    const allows = choice !== undefined && choice !== 'no' && choice !== 'none';
    const isAllowed = choice === undefined && !turn.refusesAll ? undefined : allows;
    turn.chosen.set(place, isAllowed);
    if (choice === 'none') this.takeBack(turn);
    if (choice === 'session' || (choice === 'workspace' && !this.#allowAlways(turn.session, place)))
      this.#grant(turn.session, place);
    this.core.log.info({ place: shownPlace(place), choice }, 'the editor was asked about a connection');
    return isAllowed;
  }

  #grant({ owner }: AgentSession, place: string): void {
    const granted = this.#granted.get(owner) ?? new Set();
    if (granted.size < maxPlaces) this.#granted.set(owner, granted.add(place));
  }

  /** False if that was not possible. */
  #allowAlways({ child }: AgentSession, place: string): boolean {
    try {
      this.options.allowAlways!(child.root, place);
      return true;
    } catch (reason) {
      this.core.log.warn({ reason: messageOf(reason) }, 'a permission counts for its session only');
      return false;
    }
  }
}

/** Editors show titles as Markdown; nothing else in a place is markup there. */
function asMarkdown(place: string): string {
  return place.replaceAll('_', '\\_');
}
