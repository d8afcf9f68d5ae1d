/**
 * The mode and the options of a session as they were set last, by the user or by the agent itself: an agent that has
 * ended has forgotten them, and they are set again when the session is restored.
 */
import { bodyOf, type Message } from '../../rpc/message';
import type { JsonObject } from '../../rpc/json';
import { objectOf } from '../../system/unless';
import { updateOf } from './session-update';

/** A mode or an option, as the request that sets it. */
export interface Setting {
  readonly method: string;
  /** Its params, without the session. */
  readonly params: Readonly<Record<string, string | boolean>>;
}

/** The members that the params of each request must have. Source: ACP v1. */
const setters: Readonly<Record<string, readonly string[]>> = {
  'session/set_mode': ['modeId'],
  'session/set_model': ['modelId'],
  'session/set_config_option': ['configId', 'value'],
};

/** Whether a method of the editor sets something in a session. */
export function isSetter(method: string): boolean {
  return Object.hasOwn(setters, method);
}

/** How much of a session is kept; agents have a handful, with short names. */
const maxSettings = 64;
const maxTextBytes = 4_096;

export class SessionSettings {
  /** In the order in which they were set; none twice. */
  #settings: readonly Setting[] = [];
  /** The value of each option as the agent has told it last, by its id. */
  readonly #told = new Map<unknown, unknown>();
  /** Settings that the agent has not answered, with the id of the request. */
  #asked: readonly { readonly id: string; readonly setting: Setting }[] = [];

  /** What has been set, the oldest first. */
  all(): readonly Setting[] {
    return this.#settings;
  }

  /** Something has been set, later than all else. */
  keep(setting: Setting | undefined): void {
    if (setting === undefined) return;
    const others = this.#settings.filter((each) => !setsTheSame(each, setting));
    this.#settings = others.length < maxSettings ? [...others, setting] : others;
  }

  /** The editor has made it: nobody has set what the agent begins with. */
  readFirst(result: Message): void {
    for (const { setting } of optionsOf(objectOf(bodyOf(result)))) this.#note(setting);
  }

  /** The editor has loaded, resumed or forked it: it is as the agent's result says, which is what the user sees. */
  readResult(result: Message): void {
    const { modes, configOptions } = objectOf(bodyOf(result));
    this.#keepState({ currentModeId: objectOf(modes).currentModeId, configOptions });
  }

  /** The user wants to set something. */
  readCall(call: Message): void {
    const setting = settingOf(call.method, objectOf(bodyOf(call)));
    if (setting !== undefined && call.id !== undefined)
      this.#asked = [...this.#asked, { id: call.id, setting }];
  }

  /** The agent has answered that: it is kept if the agent agreed. */
  readAnswer(answer: Message): void {
    const asked = this.#asked.find(({ id }) => id === answer.id);
    this.forgetCall(answer);
    if (!answer.isError) this.keep(asked?.setting);
  }

  /** The agent will not answer that. */
  forgetCall(call: Message): void {
    this.#asked = this.#asked.filter(({ id }) => id !== call.id);
  }

  /** The agent has set something itself. */
  readUpdate(kind: string, update: Message): void {
    if (kind === 'current_mode_update' || kind === 'config_option_update') this.#keepState(updateOf(update));
  }

  /** Keeps the mode, also where it is an option, and the options that were set before or have another value now. */
  #keepState(state: JsonObject): void {
    this.keep(settingOf('session/set_mode', { modeId: state.currentModeId }));
    for (const { setting, isMode } of optionsOf(state)) {
      const isSet = this.#settings.some((each) => setsTheSame(each, setting));
      const isChanged = this.#note(setting);
      if (isMode || isSet || isChanged) this.keep(setting);
    }
  }

  /** Notes what an option is; true if it was something else before. */
  #note({ params: { configId, value } }: Setting): boolean {
    const before = this.#told.get(configId);
    if (before !== undefined || this.#told.size < maxSettings) this.#told.set(configId, value);
    return before !== undefined && before !== value;
  }
}

/** The options in what an agent tells of a session, as requests that set them; without those that cannot be kept. */
function optionsOf({ configOptions }: JsonObject): { setting: Setting; isMode: boolean }[] {
  return (Array.isArray(configOptions) ? configOptions : []).flatMap((option) => {
    const { id: configId, type, category, currentValue: value } = objectOf(option);
    const params = type === 'boolean' ? { configId, type, value } : { configId, value };
    const setting = settingOf('session/set_config_option', params);
    return setting === undefined ? [] : { setting, isMode: category === 'mode' };
  });
}

/** What is kept of params; undefined for what the protocol does not have, or what is too long to be kept. */
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

function setsTheSame(one: Setting, other: Setting): boolean {
  return one.method === other.method && one.params.configId === other.params.configId;
}
