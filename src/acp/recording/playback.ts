/**
 * Plays one side of a recording against a live other side. Messages are compared by kind, method and session, answers
 * by their request; contents are not compared.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { CaiError } from '../../errors';
import type { OverlongLine } from '../../rpc/long-line';
import { wantedIn } from '../../rpc/json';
import { bodyOf, jsonOf, scan, textOf, type Message, type Plans } from '../../rpc/message';
import { splice, type Edit, type Line } from '../../rpc/splice';
import type { RecordedLine, Side } from './recording';
import { sessionIdOf } from '../sessions/session-ids';
import { within } from '../../system/time-limit';
import { objectOf } from '../../system/unless';

/** Which side is played, and how. */
export interface PlaybackOptions {
  /** A live editor's notifications are waited for, as a cancel has its place; a live agent's may differ each time. */
  readonly role: 'agent' | 'editor';
  /** The agent whose connection with the proxy is played; `undefined`: the editor's connection. */
  readonly child: number | undefined;
  /** Whether the pauses before what is sent are kept. */
  readonly keepsTime: boolean;
  /** Sends a line, with its line end; resolves when more may be sent. */
  send(line: Line): Promise<void> | void;
}

interface Step {
  readonly line: RecordedLine;
  readonly message: Message;
}

/** How long the expected message may take once another has come that is recorded for later, in milliseconds. */
const lateMs = { agent: 5_000, editor: 60_000 };

const plan = wantedIn({ sessionId: 'session', requestId: 'requestId' });
const plans: Plans = { params: () => plan, result: () => plan, error: undefined };

export class Playback {
  readonly #steps: Step[];
  readonly #plays: Side;
  readonly #hears: Side;
  /** Live messages that no step has taken. */
  readonly #live: Message[] = [];
  /** The live side's ids of its requests, by the recorded ones. */
  readonly #ids = new Map<string, string>();
  /** The live side's ids of sessions, by the recorded ones, where they differ. */
  readonly #sessions = new Map<string, string>();
  #next = 0;
  #over: string | undefined;
  /** The first live message that is recorded nowhere. */
  #stray: Message | undefined;
  #wake: () => void = () => undefined;

  /** `lines`: the whole recording; other connections are left out. */
  constructor(
    lines: readonly RecordedLine[],
    private readonly options: PlaybackOptions,
  ) {
    const { role, child } = options;
    const ofAgent: Side = child === undefined ? 'to editor' : 'from agent';
    const ofEditor: Side = child === undefined ? 'from editor' : 'to agent';
    [this.#plays, this.#hears] = role === 'agent' ? [ofAgent, ofEditor] : [ofEditor, ofAgent];
    const steps = lines
      .filter((line) => line.child === child)
      .map((line) => ({ line, message: scan(line.bytes, plans) }));
    this.#steps = steps.filter((step) => this.#isSent(step) || this.#isHeard(step));
  }

  take(line: Buffer | OverlongLine): void {
    const message = scan(Buffer.isBuffer(line) ? line : Buffer.alloc(0), plans);
    if (message.kind === 'notification' && this.options.role === 'editor') return;
    if (this.#isAhead(message)) this.#live.push(message);
    else this.#stray ??= message;
    this.#wake();
  }

  /** The live side has ended; `reason` is half a sentence that says how. */
  end(reason: string): void {
    this.#over = reason;
    this.#wake();
  }

  /** Plays all; with `untilEnd` waits for the live side's end. `CaiError('REPLAY')` where something differs. */
  async run(untilEnd: boolean): Promise<void> {
    let lastMs = this.#steps[0]?.line.ms ?? 0;
    for (const step of this.#steps) {
      if (this.#isSent(step)) {
        if (this.options.keepsTime) await delay(step.line.ms - lastMs);
        await this.options.send(this.#adapted(step.message));
      } else {
        await this.#hear(step);
      }
      lastMs = step.line.ms;
      this.#next++;
    }
    while (untilEnd && this.#over === undefined && this.#stray === undefined) await this.#change();
    if (untilEnd && this.#stray !== undefined) throw this.#insteadOf(this.#stray);
  }

  /** Whether it is still to come. No list is made for that: a recording may have very many steps. */
  #isAhead(message: Message): boolean {
    for (let at = this.#next; at < this.#steps.length; at++)
      if (this.#fits(this.#steps[at]!, message)) return true;
    return false;
  }

  #isSent({ line }: Step): boolean {
    return line.side === this.#plays;
  }

  #isHeard({ line, message }: Step): boolean {
    return line.side === this.#hears && (message.kind !== 'notification' || this.options.role === 'agent');
  }

  async #hear(step: Step): Promise<void> {
    for (;;) {
      const index = this.#live.findIndex((message) => this.#fits(step, message));
      if (index >= 0) {
        this.#learn(step.message, this.#live.splice(index, 1)[0]!);
        return;
      }
      if (this.#stray !== undefined) throw this.#insteadOf(this.#stray);
      if (this.#over !== undefined) throw this.#mismatch(this.#over);
      const [early] = this.#live;
      const hasCome = await this.#change(early && lateMs[this.options.role]);
      if (!hasCome && early !== undefined) throw this.#insteadOf(early);
    }
  }

  /** Resolves with whether something has come; with false after `limitMs` without. */
  async #change(limitMs?: number): Promise<boolean> {
    const came = new Promise<boolean>((resolve) => (this.#wake = () => resolve(true)));
    return limitMs === undefined ? came : (await within(limitMs, came)) === true;
  }

  #fits(step: Step, live: Message): boolean {
    if (this.#isSent(step)) return false;
    const { kind, method, id, isError } = step.message;
    if (kind !== live.kind || method !== live.method) return false;
    if (kind === 'response') return id === live.id && isError === live.isError;
    const recorded = sessionIdOf(step.message);
    if (recorded === undefined) return true;
    // A live agent gives other ids to its sessions.
    const expected = this.#sessions.get(recorded) ?? (this.options.role === 'agent' ? recorded : undefined);
    return expected === undefined || expected === sessionIdOf(live);
  }

  #learn(recorded: Message, live: Message): void {
    if (recorded.kind === 'request') this.#ids.set(recorded.id!, live.id!);
    const session = sessionIdOf(recorded);
    const liveSession = sessionIdOf(live);
    if (session !== undefined && liveSession !== undefined) this.#sessions.set(session, liveSession);
  }

  /** The recorded message with the ids of the live side. */
  #adapted(message: Message): Line {
    const edits: Edit[] = [];
    const replace = (start: number, end: number, text: string | undefined): void => {
      if (text !== undefined && text !== message.line.toString('utf8', start, end))
        edits.push({ start, end, text });
    };
    if (message.kind === 'response') replace(message.idStart, message.idEnd, this.#ids.get(message.id!));
    for (const field of message.fields) {
      const { kind, start, end } = field;
      if (kind === 'session' && field.isString) {
        const session = this.#sessions.get(textOf(message, field));
        replace(start, end, session === undefined ? undefined : JSON.stringify(session));
      } else if (kind === 'requestId' && message.method !== '$/cancel_request') {
        replace(start, end, this.#ids.get(jsonOf(message, field)));
      }
    }
    return splice(message.line, edits);
  }

  #insteadOf(message: Message): CaiError {
    return this.#mismatch(`instead came ${nameOf(message)}`);
  }

  #mismatch(instead: string): CaiError {
    const step = this.#steps.slice(this.#next).find((each) => !this.#isSent(each));
    const expected =
      step === undefined
        ? 'nothing more is recorded'
        : `line ${step.line.number} of the recording has ${nameOf(step.message)}`;
    return new CaiError('REPLAY', `${expected}; ${instead}`);
  }
}

function nameOf(message: Message): string {
  const { kind, method, id = '', isError } = message;
  const session = sessionIdOf(message);
  const about = session === undefined ? '' : ` of session ${session}`;
  if (kind === 'request') return `the request ${method}${about} (id ${id})`;
  if (kind === 'notification') return `the notification ${method}${about}`;
  if (kind === 'defect') return 'a line that is no message';
  if (!isError) return `a result for request ${id}`;
  const said = objectOf(bodyOf(message)).message;
  return `an error for request ${id}${typeof said === 'string' ? `, "${said}"` : ''}`;
}
