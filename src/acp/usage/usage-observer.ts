/**
 * Records for `cai usage` how long turns and tool calls take, and which tokens and costs the agent tells. Sources: ACP
 * v1, `usage_update` and `usage` (unstable); `_meta.quota` and `_meta["_claude/model"]` as claude-agent-acp 0.100,
 * codex-acp 2.6 and gemini-cli 0.61 send them.
 */
import { bodyOf, bodyTextOf, fieldOf, stringOf, textOf, type Message } from '../../rpc/message';
import { UsageFile, type Cost, type Spent } from './usage';
import type { AgentSession } from '../sessions/session';
import type { Log } from '../../system/log';
import { updateOf } from '../sessions/session-update';
import type { SessionObserver } from '../sessions/observer';
import { costOf, modelIn, spentIn } from './usage-fields';
import { objectOf } from '../../system/unless';

/** Tool calls of a turn that are followed at once. */
const maxTools = 1_000;
/** Longest id of a tool call that is followed, in bytes of JSON text. */
const maxToolIdBytes = 1_024;
/** Sessions that are closed or lost whose model is known. */
const maxModels = 1_000;
/** Prompts of a session that are followed at once. */
const maxTurns = 100;
/** Longer results are parsed at once, and not kept until their record is made, in bytes. */
const maxKeptBytes = 16 * 1_024;

const noCost: Cost = { amount: 0, currency: '' };

/** An open prompt, and its tool calls. */
interface Turn {
  readonly startedAt: number;
  /** When the tool calls that still run were begun, by their ids. */
  readonly running: Map<string, number>;
  /** Ids of the tool calls that are over. */
  readonly over: Set<string>;
  failed: number;
  timed: number;
  toolMs: number;
}

interface Followed {
  /** Open turns by the id of the prompt, the oldest first. */
  readonly turns: Map<string, Turn>;
  /** The agent is sending the session's history again, after `session/load`. */
  isLoading: boolean;
  model?: string | undefined;
  /** The cost of the whole session, as the agent told it last. */
  cost?: Cost;
  /** The part of the cost that is recorded; absent: the next cost that the agent tells was spent before. */
  counted?: Cost | undefined;
  /** Runs while `counted` is looked for in earlier records. */
  lookUp?: Promise<void> | undefined;
}

/** The observer of all sessions of one proxy. */
export class UsageObserver implements SessionObserver {
  /** By the editor's ids, since a session may go on in another process of its agent. */
  readonly #sessions = new Map<string, Followed>();
  /** The last model of sessions that were closed or lost: an agent need not name it where it opens one again. */
  readonly #models = new Map<string, string>();

  readonly #file: UsageFile;

  /** Writes records into files in `folder`, where they count for `keepMs`. `agent` is the agent's name. */
  constructor(
    folder: string,
    keepMs: number,
    private readonly agent: string,
    log: Log,
  ) {
    this.#file = new UsageFile(folder, keepMs, log);
  }

  /** Resolves when all records are written. */
  end(): Promise<void> {
    return this.#file.end();
  }

  /** A new session has cost nothing; for another one, the cost that was recorded last is looked up. */
  onOpen(session: AgentSession, request: Message, result: Message, isRestored = false): void {
    const followed = this.#follow(session);
    const before = isRestored ? this.#models.get(session.editorId) : undefined;
    followed.model = modelIn(bodyOf(result)) ?? followed.model ?? before;
    if (request.method === 'session/new') {
      followed.counted = noCost;
    } else if (followed.counted === undefined) {
      followed.lookUp = this.#file.costOf(session.editorId).then((cost) => {
        followed.counted ??= cost;
        followed.lookUp = undefined;
      });
    }
  }

  /** A prompt begins a turn. After a load the agent sends the session's history again. */
  onCall(session: AgentSession, call: Message): void {
    const { method, id } = call;
    if (method === 'session/prompt' && id !== undefined) {
      const { turns } = this.#follow(session);
      if (turns.size < maxTurns) turns.set(id, newTurn());
    } else if (method === 'session/load') {
      this.#follow(session).isLoading = true;
    } else if (method === 'session/set_model') {
      const followed = this.#follow(session);
      const currentModelId = objectOf(bodyOf(call)).modelId;
      followed.model = modelIn({ models: { currentModelId } }) ?? followed.model;
    }
  }

  /** Records a turn whose agent has ended. */
  onLost(session: AgentSession, call: Message): void {
    const followed = this.#sessions.get(session.editorId);
    if (followed?.turns.has(call.id ?? '') === true) this.#end(session, followed, call.id!, undefined);
    if (followed !== undefined && call.method === 'session/load') followed.isLoading = false;
  }

  /** Records a turn with the answer to its prompt. */
  onAnswer(session: AgentSession, method: string, answer: Message): void {
    const followed = this.#sessions.get(session.editorId);
    if (followed === undefined) return;
    if (method === 'session/prompt') {
      const [oldest] = followed.turns.keys();
      const id = followed.turns.has(answer.id!) ? answer.id! : oldest;
      if (id !== undefined) this.#end(session, followed, id, answer);
    } else if (method === 'session/load') {
      followed.isLoading = false;
    } else if (method === 'session/set_config_option' && !answer.isError) {
      followed.model = modelIn(bodyOf(answer)) ?? followed.model;
    }
  }

  /** Follows tool calls, costs and the model. Parses only kinds of updates that are rare and small. */
  onUpdate(session: AgentSession, kind: string, update: Message): void {
    if (kind === 'tool_call' || kind === 'tool_call_update') this.#onTool(session, update);
    else if (kind === 'usage_update' || kind === 'config_option_update') this.#onUsage(session, update);
  }

  /** Records open turns, and what the session has cost since its last turn. */
  onClose(session: AgentSession): void {
    const followed = this.#sessions.get(session.editorId);
    if (followed === undefined) return;
    for (const id of [...followed.turns.keys()]) this.#end(session, followed, id, undefined);
    this.#record(session, followed, undefined, () => ({ stop: 'ended', models: [] }));
    this.#sessions.delete(session.editorId);
    if (followed.model === undefined) return;
    this.#models.set(session.editorId, followed.model);
    const [oldest] = this.#models.keys();
    if (this.#models.size > maxModels) this.#models.delete(oldest!);
  }

  #follow(session: AgentSession): Followed {
    const known = this.#sessions.get(session.editorId);
    if (known !== undefined) return known;
    const followed: Followed = { turns: new Map(), isLoading: false };
    this.#sessions.set(session.editorId, followed);
    return followed;
  }

  #onTool(session: AgentSession, update: Message): void {
    const followed = this.#sessions.get(session.editorId);
    const [turn] = followed?.turns.values() ?? [];
    const id = fieldOf(update, 'toolCallId');
    if (turn === undefined || followed?.isLoading !== false || id?.isString !== true) return;
    if (id.end - id.start > maxToolIdBytes) return;
    const toolCallId = textOf(update, id);
    const { running, over } = turn;
    if (over.has(toolCallId)) return;
    const status = stringOf(update, 'toolStatus') ?? '';
    const startedAt = running.get(toolCallId);
    if (status === 'completed' || status === 'failed') {
      if (over.size < maxTools) over.add(toolCallId);
      if (status === 'failed') turn.failed++;
      if (startedAt === undefined) return;
      running.delete(toolCallId);
      turn.timed++;
      turn.toolMs += performance.now() - startedAt;
    } else if (startedAt === undefined ? running.size < maxTools : status === 'in_progress') {
      running.set(toolCallId, performance.now());
    }
  }

  #onUsage(session: AgentSession, update: Message): void {
    const followed = this.#follow(session);
    const told = updateOf(update);
    followed.model = modelIn(told) ?? followed.model;
    // A `config_option_update` has no cost.
    const cost = costOf(told);
    if (cost === undefined) return;
    followed.cost = cost;
    // For a session without records, the first cost was spent before this process.
    if (followed.turns.size === 0 || followed.isLoading) followed.counted ??= cost;
  }

  #end(session: AgentSession, followed: Followed, id: string, answer: Message | undefined): void {
    const turn = followed.turns.get(id)!;
    followed.turns.delete(id);
    const models = followed.model === undefined ? [] : [{ model: followed.model }];
    const stop = answer === undefined ? 'ended' : 'error';
    const isSuccess = answer?.isError === false;
    const told = isSuccess ? spentLater(answer, followed.model) : () => ({ stop, models });
    this.#record(session, followed, turn, told);
  }

  /** Records a turn or, without one, what the session has cost since the last record, if anything. */
  #record(session: AgentSession, followed: Followed, turn: Turn | undefined, told: () => Spent): void {
    const { cost: sessionCost } = followed;
    const { startedAt, running, over, failed, timed, toolMs } = turn ?? newTurn();
    const record = {
      session: session.editorId,
      agent: this.agent,
      root: session.child.root ?? '',
      turns: turn === undefined ? 0 : 1,
      durationMs: turn === undefined ? 0 : Math.round(performance.now() - startedAt),
      sessionCost,
      tools: running.size + over.size,
      failedTools: failed,
      timedTools: timed,
      toolMs: Math.round(toolMs),
    };
    const write = (): void => {
      const cost = costBetween(followed.counted, sessionCost);
      followed.counted = sessionCost ?? followed.counted;
      if (turn === undefined && cost === undefined) return;
      this.#file.append(() => Object.assign(record, told(), { cost }));
    };
    if (followed.lookUp === undefined) write();
    else void followed.lookUp.then(write);
  }
}

function newTurn(): Turn {
  const startedAt = performance.now();
  return { startedAt, running: new Map(), over: new Set(), failed: 0, timed: 0, toolMs: 0 };
}

/** Reads what the answer to a prompt tells, later if possible, because the editor waits for the answer. */
function spentLater(answer: Message, model: string | undefined): () => Spent {
  if (answer.bodyEnd - answer.bodyStart > maxKeptBytes) {
    const spent = spentIn(bodyOf(answer), model);
    return () => spent;
  }
  const text = bodyTextOf(answer) ?? 'null';
  return () => spentIn(JSON.parse(text), model);
}

/** The difference of two costs; if the later one is smaller, the agent has begun to count from 0 again. */
export function costBetween(before: Cost | undefined, now: Cost | undefined): Cost | undefined {
  if (before === undefined || now === undefined) return undefined;
  const isOn = before.currency === now.currency && before.amount <= now.amount;
  const amount = isOn ? now.amount - before.amount : now.amount;
  return amount > 0 ? { amount, currency: now.currency } : undefined;
}
