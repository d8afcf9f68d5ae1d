/** What `cai inspect` shows of each line of a recording: read in order, and nothing but open requests is kept. */
import { wantedIn, type JsonObject } from '../../rpc/json';
import { bodyOf, scan, stringOf, textOf, type Message, type Plans } from '../../rpc/message';
import { objectIn, unlessFails } from '../../system/unless';
import type { Cost, TokenCounts } from '../usage/usage';
import { costOf, spentIn } from '../usage/usage-fields';
import { updateOf } from '../sessions/session-update';
import { costBetween } from '../usage/usage-observer';
import { contentOf, isSide, type Side } from './recording';
import { redactedText } from './redact';

/** Open requests that are kept; the oldest makes room. */
const maxOpen = 10_000;
/** Sessions of which the cost so far is kept, and agents of which the workspace is. */
const maxKept = 10_000;
/** Of a text only its beginning is told, in characters. */
const maxTextLength = 120;

/** One line of a recording. What is absent is not known, or does not exist. */
export interface RecordingRow {
  /** Its number in the file, from 1. */
  readonly line: number;
  /** Where the line lies in the file, in bytes. */
  readonly at: number;
  readonly bytes: number;
  /** `defect`: a line that is no message; `damaged`: not even a line of a recording. */
  readonly kind: Message['kind'] | 'event' | 'damaged';
  /** Milliseconds after the start. */
  readonly ms?: number;
  readonly side?: Side;
  /** Number of the agent. */
  readonly child?: number;
  /** JSON text of the message's id. */
  readonly id?: string;
  /** Of an answer: the method of its request. */
  readonly method?: string;
  readonly session?: string;
  /** Which variant of `session/update`. */
  readonly update?: string;
  /** Id and state of the tool call that it is about. */
  readonly tool?: string;
  readonly status?: string;
  /** The beginning of what it says. */
  readonly text?: string;
  /** Bytes of the message. */
  readonly size?: number;
  /** How many values were replaced. */
  readonly redacted?: number;
  /** Line of the request that it answers, and how long that took. */
  readonly to?: number;
  readonly tookMs?: number;
  readonly isError?: true;
  /** What the agent tells here that it has spent. */
  readonly spent?: Spent;
}

/** Tokens of a turn, or cost since the agent told it last. */
export interface Spent {
  /** Root of the workspace; empty without one. */
  readonly workspace: string;
  readonly tokens?: TokenCounts;
  readonly cost?: Cost;
}

interface About {
  readonly child?: number;
  readonly method: string | undefined;
  readonly session: string | undefined;
  readonly update: string | undefined;
}

interface OpenRequest {
  readonly line: number;
  readonly ms: number;
  readonly method: string;
  readonly session: string | undefined;
}

const told = {
  sessionId: 'session',
  update: {
    sessionUpdate: 'update',
    toolCallId: 'tool',
    status: 'status',
    title: 'text',
    content: { text: 'text' },
  },
  toolCall: { toolCallId: 'tool', title: 'text' },
  outcome: { outcome: 'text', optionId: 'text' },
  prompt: { '*': { text: 'text' } },
  ...{ cwd: 'text', path: 'text', command: 'text', modeId: 'text', methodId: 'text', stopReason: 'text' },
};
const plan = wantedIn(told);
const plans: Plans = { params: () => plan, result: () => plan, error: wantedIn({ message: 'text' }) };

const otherSide: Readonly<Record<Side, Side>> = {
  'from editor': 'to editor',
  'to editor': 'from editor',
  'from agent': 'to agent',
  'to agent': 'from agent',
};

/** One reading of one recording, from its second line on. */
export class RecordingRows {
  readonly #open = new Map<string, OpenRequest>();
  readonly #workspaces = new Map<number, string>();
  /** Cost of sessions so far, by agent and session. */
  readonly #costs = new Map<string, Cost>();
  #line = 1;

  /** The row for the next line, which stands at that offset. */
  next(at: number, bytes: Buffer): RecordingRow {
    const place = { line: ++this.#line, at, bytes: bytes.length };
    const record = objectIn(bytes.toString());
    const { ms, side, event, child } = record ?? {};
    const isKnown = isSide(side) || typeof event === 'string';
    if (record === undefined || typeof ms !== 'number' || !isKnown)
      return { ...place, kind: 'damaged', text: beginning(bytes.toString('utf8', 0, maxTextLength)) };
    const about = { ...place, ms, ...(typeof child === 'number' && { child }) };
    return isSide(side) ? this.#ofLine(about, side, record) : this.#ofEvent(about, record);
  }

  #ofEvent(about: Pick<RecordingRow, 'line' | 'at' | 'bytes' | 'child'>, record: JsonObject): RecordingRow {
    const { event, workspace } = record;
    const root = typeof workspace === 'string' ? workspace : '';
    if (event === 'agent started' && about.child !== undefined) keep(this.#workspaces, about.child, root);
    return { ...about, kind: 'event', text: beginning(`${String(event)} ${root}`.trim()) };
  }

  #ofLine(
    about: Pick<RecordingRow, 'line' | 'at' | 'bytes' | 'child'> & { readonly ms: number },
    side: Side,
    record: JsonObject,
  ): RecordingRow {
    const bytes = contentOf(record);
    const begins = typeof record.begins === 'string' ? record.begins : 'a line above the limits';
    if (bytes === undefined) return { ...about, side, kind: 'defect', text: beginning(begins) };
    const message = scan(bytes, plans);
    const { kind, id, isError } = message;
    const text = textIn(message);
    const [update, tool, status] = ['update', 'tool', 'status'].map((each) => stringOf(message, each));
    const redacted = record.redacted === true ? bytes.toString().split(redactedText).length - 1 : 0;
    const request = kind === 'response' ? this.#answered(about.child, side, id!) : undefined;
    const session = stringOf(message, 'session') ?? request?.session;
    const method = kind === 'response' ? request?.method : message.method;
    if (kind === 'request') {
      const opened = { line: about.line, ms: about.ms, method: message.method, session };
      keep(this.#open, `${side} ${about.child} ${id}`, opened, maxOpen);
    }
    const spent =
      side === 'from agent' ? this.#spentIn(message, { ...about, method, session, update }) : undefined;
    return {
      ...{ ...about, side, kind, size: bytes.length },
      ...(id !== undefined && { id }),
      ...(method !== undefined && method !== '' && { method }),
      ...(session !== undefined && { session: beginning(session) }),
      ...(update !== undefined && { update: beginning(update) }),
      ...(tool !== undefined && { tool: beginning(tool) }),
      ...(status !== undefined && { status: beginning(status) }),
      ...(text !== '' && { text }),
      ...(kind === 'defect' && { text: beginning(bytes.toString()) }),
      ...(redacted > 0 && { redacted }),
      ...(request !== undefined && { to: request.line, tookMs: Math.max(about.ms - request.ms, 0) }),
      ...(isError && { isError }),
      ...(spent !== undefined && { spent }),
    };
  }

  #answered(child: number | undefined, side: Side, id: string): OpenRequest | undefined {
    const key = `${otherSide[side]} ${child} ${id}`;
    const request = this.#open.get(key);
    this.#open.delete(key);
    return request;
  }

  /** What an agent tells in a message. The cost of a session that it has opened earlier is known from its second on. */
  #spentIn(message: Message, { child, method, session, update }: About): Spent | undefined {
    const workspace = this.#workspaces.get(child ?? 0) ?? '';
    const key = `${child} ${session}`;
    if (message.kind === 'response' && !message.isError) {
      if (method === 'session/new') keep(this.#costs, key, { amount: 0, currency: '' });
      if (method !== 'session/prompt') return undefined;
      const result = unlessFails(() => bodyOf(message));
      const { tokens } = spentIn(result, undefined);
      return tokens && { workspace, tokens };
    }
    if (update !== 'usage_update') return undefined;
    const now = costOf(unlessFails(() => updateOf(message)));
    const cost = costBetween(this.#costs.get(key), now);
    if (now !== undefined) keep(this.#costs, key, now);
    return cost && { workspace, cost };
  }
}

/** What a message says, in the words of its first places. */
function textIn(message: Message): string {
  const fields = message.fields.filter(({ kind, isString }) => kind === 'text' && isString);
  return beginning(
    fields
      .slice(0, 2)
      .map((field) => textOf(message, field))
      .join(' '),
  );
}

function beginning(text: string): string {
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text;
}

/** Sets a value; the oldest makes room. */
function keep<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, atMost = maxKept): void {
  map.set(key, value);
  if (map.size > atMost) map.delete(map.keys().next().value as Key);
}
