/**
 * The mode and the options of each session as they were set last, by the user or by the agent itself: an
 * agent that has ended has forgotten them.
 */
import { bodyOf } from '../rpc/scan';
import type { Message } from '../rpc/scan';
import type { JsonObject, Session } from '../session/workspace-child';
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

  /** `session` takes the place of `lost`. */
  inherit(session: Session, lost: Session): void {
    for (const setting of this.of(lost)) this.#keep(session, setting);
  }

  /** The user wants to set something, */
  onCall(session: Session, call: Message): void {
    if (!Object.hasOwn(setters, call.method) || call.id === undefined) return;
    const setting = settingOf(call.method, (bodyOf(call) ?? {}) as JsonObject);
    if (setting !== undefined) this.#of(session).asked.set(call.id, setting);
  }

  /** and the agent has agreed, or not. */
  onAnswer(session: Session, method: string, answer: Message): void {
    if (!Object.hasOwn(setters, method) || answer.id === undefined) return;
    const { asked } = this.#of(session);
    const setting = asked.get(answer.id);
    asked.delete(answer.id);
    if (setting !== undefined && !answer.isError) this.#keep(session, setting);
  }

  /** The agent has set something itself. What it begins with while it is restored is not what was set last. */
  onUpdate(session: Session, kind: string, update: Message): void {
    if (session.isRestoring === true) return;
    if (kind === 'current_mode_update')
      this.#keep(session, settingOf('session/set_mode', { modeId: updateOf(update).currentModeId }));
    else if (kind === 'config_option_update') this.#keepOptions(session, updateOf(update).configOptions);
  }

  /** Of the options those that were set before, and the mode, which some agents have as an option. */
  #keepOptions(session: Session, options: unknown): void {
    for (const option of Array.isArray(options) ? (options as (JsonObject | null)[]) : []) {
      const { id: configId, type, category, currentValue: value } = option ?? {};
      const params = type === 'boolean' ? { configId, type, value } : { configId, value };
      const setting = settingOf('session/set_config_option', params);
      const isSet = setting !== undefined && this.#of(session).settings.has(keyOf(setting));
      if (category === 'mode' || isSet) this.#keep(session, setting);
    }
  }

  #keep(session: Session, setting: Setting | undefined): void {
    if (setting === undefined) return;
    const { settings } = this.#of(session);
    settings.delete(keyOf(setting));
    if (settings.size < maxSettings) settings.set(keyOf(setting), setting);
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
