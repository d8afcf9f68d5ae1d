/**
 * The mode and the options of each session as they were set last, by the user or by the agent itself: an
 * agent that has ended has forgotten them. And whether a session has been used for more than that.
 */
import { bodyOf } from '../rpc/message';
import type { Message } from '../rpc/message';
import type { JsonObject, Session } from '../child/workspace-child';
import { updateOf } from './observer';
import type { SessionObserver } from './observer';

/** One of them, as the request that sets it. */
export interface Setting {
  /** Its method. */
  readonly method: string;
  /** Its params, without the session. */
  readonly params: Readonly<Record<string, string | boolean>>;
}

/** The requests that set something, with what their params must have. Source: ACP v1. */
const setters: Readonly<Record<string, readonly string[]>> = {
  'session/set_mode': ['modeId'],
  'session/set_model': ['modelId'],
  'session/set_config_option': ['configId', 'value'],
};

/** How much of a session is kept; agents have a handful, with short names. */
const maxSettings = 64;
const maxTextBytes = 4_096;

/** What is known of one session. */
interface Known {
  /** By what they set, in the order in which they were set. */
  readonly settings: Map<string, Setting>;
  /** Those that the agent has not answered, by the id of the request. */
  readonly asked: Map<string, Setting>;
}

/** Follows the sessions of one proxy. */
export class SessionSettings implements SessionObserver {
  readonly #known = new WeakMap<Session, Known>();

  /** What has been set in a session, the oldest first. */
  of(session: Session): Setting[] {
    return [...(this.#known.get(session)?.settings.values() ?? [])];
  }

  /** `session` takes the place of `before`; what has been set in it already is later. */
  inherit(session: Session, before: Session): void {
    for (const setting of [...this.of(before), ...this.of(session)]) this.keep(session, setting);
  }

  /**
   * What the editor has loaded, resumed or forked is as the answer says: that is what its user sees. What it begins
   * with while it is restored is not what was set last, and a new one begins as any other.
   */
  onOpen(session: Session, { method }: Message, result: Message, before?: Session): void {
    // It may be used already, if the agent has spoken of it before.
    if (method === 'session/new') session.isUnused ??= true;
    if (method === 'session/new' || session.isRestoring !== undefined) return;
    if (before !== undefined) this.inherit(session, before);
    const { modes, configOptions } = (bodyOf(result) ?? {}) as JsonObject;
    this.#keepMode(session, (modes as JsonObject | null | undefined)?.currentModeId);
    this.#keepOptions(session, configOptions);
  }

  /** Something has been set in a session, later than all else. */
  keep(session: Session, setting: Setting | undefined): void {
    if (setting === undefined) return;
    const { settings } = this.#of(session);
    settings.delete(keyOf(setting));
    if (settings.size < maxSettings) settings.set(keyOf(setting), setting);
  }

  /** Notes what the user wants to set, and whether the session is used for more than that. */
  onCall(session: Session, call: Message): void {
    const isSetter = Object.hasOwn(setters, call.method);
    if (!isSetter && call.method !== 'session/cancel') session.isUnused = false;
    if (!isSetter || call.id === undefined) return;
    const setting = settingOf(call.method, (bodyOf(call) ?? {}) as JsonObject);
    if (setting !== undefined) this.#of(session).asked.set(call.id, setting);
  }

  /** Keeps what the user wanted to set, if the agent agreed. */
  onAnswer(session: Session, method: string, answer: Message): void {
    if (!Object.hasOwn(setters, method) || answer.id === undefined) return;
    const { asked } = this.#of(session);
    const setting = asked.get(answer.id);
    asked.delete(answer.id);
    if (setting !== undefined && !answer.isError) this.keep(session, setting);
  }

  /** The agent has set something itself. What it begins with while it is restored is not what was set last. */
  onUpdate(session: Session, kind: string, update: Message): void {
    if (session.isRestoring === true) return;
    if (kind === 'current_mode_update') this.#keepMode(session, updateOf(update).currentModeId);
    else if (kind === 'config_option_update') this.#keepOptions(session, updateOf(update).configOptions);
  }

  #keepMode(session: Session, modeId: unknown): void {
    this.keep(session, settingOf('session/set_mode', { modeId }));
  }

  /** Of the options those that were set before, and the mode, which some agents have as an option. */
  #keepOptions(session: Session, options: unknown): void {
    for (const option of Array.isArray(options) ? (options as (JsonObject | null)[]) : []) {
      const { id: configId, type, category, currentValue: value } = option ?? {};
      const params = type === 'boolean' ? { configId, type, value } : { configId, value };
      const setting = settingOf('session/set_config_option', params);
      const isSet = setting !== undefined && this.#of(session).settings.has(keyOf(setting));
      if (category === 'mode' || isSet) this.keep(session, setting);
    }
  }

  #of(session: Session): Known {
    const known = this.#known.get(session) ?? { settings: new Map(), asked: new Map() };
    this.#known.set(session, known);
    return known;
  }
}

/** What is kept of params; undefined for what is not as the protocol has it, or too long to be kept. */
function settingOf(method: string, given: JsonObject): Setting | undefined {
  const names = setters[method]!;
  const params = Object.entries(given).filter(([name]) => names.includes(name) || name === 'type');
  const isWhole = names.every((name) => params.some(([each]) => each === name));
  return isWhole && params.every(isKeepable) ? { method, params: Object.fromEntries(params) } : undefined;
}

function isKeepable(member: [string, unknown]): member is [string, string | boolean] {
  const [name, value] = member;
  if (typeof value === 'boolean') return name === 'value';
  return typeof value === 'string' && Buffer.byteLength(value) <= maxTextBytes;
}

function keyOf({ method, params }: Setting): string {
  return JSON.stringify([method, params.configId]);
}
