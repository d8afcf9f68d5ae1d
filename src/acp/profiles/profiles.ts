/** Answers to `initialize` before an agent runs. Those of agents are compared with them, and kept for next time. */
import { type AgentCommand, catalog } from '../../agent/catalog';
import { ProfileStore, type Profile, type ProfileKey } from './profile';
import { messageOf } from '../../errors';
import type { Log } from '../../system/log';
import { wantedIn, type JsonObject } from '../../rpc/json';
import { scan } from '../../rpc/message';
import type { Child } from '../child/child';
import type { Config } from '../../config/config';
import * as fields from '../../rpc/protocol/fields';
import { protocolVersion, readAgentHello } from './initialize';
import type { SignIn, SignInPlace } from '../sign-in/sign-in';
import { ownValue } from '../../config/own-property';
import { offers } from '../../rpc/protocol/capabilities';
import { isObject, objectOf } from '../../system/unless';
import recorded from './shipped-profiles.json';

interface ProfilesOptions {
  /** Every child runs it. */
  readonly agent: AgentCommand;
  readonly config: Config;
  /** Name of the image that agents run in for this user; without one they are processes of this machine. */
  readonly imageName: string | undefined;
  /** Where profiles are kept for later processes; `undefined`: none is kept. */
  readonly folder: string | undefined;
  readonly cwd: string;
  /** Of the agent's program, for agents that are processes of this machine. */
  programIdentity(): string;
  readonly signIn: SignIn;
  readonly log: Log;
}

/** An answer for the editor that needs no agent. */
export interface KnownAnswer {
  /** An agent gave it to an earlier process, or it is part of this package. */
  readonly source: 'recorded' | 'shipped';
  /** Result for the editor, JSON text. */
  readonly result: string;
}

/** The key of a profile, and the profile that is kept for it. */
interface Slot {
  readonly key: ProfileKey;
  profile: Profile | undefined;
}

/** Members of an answer that promise the editor something. */
const promising = ['agentCapabilities', 'authMethods'] as const;
const maxNamed = 10;
/** Names of differences, which an agent chooses, are cut, in characters. */
const maxNameLength = 100;
const helloPlan = wantedIn(fields.initializeResult);

export class Profiles {
  /** Root of the workspace of the proxy's working directory, once that is known and if it is one. */
  ownRoot: string | undefined;
  /** Kept for all working directories: the answer of an agent without a workspace, or without a container. */
  #general: Slot | undefined;
  /** Kept for this working directory alone: the answer of its workspace's agent. */
  #own: Slot | undefined;
  /** The answer that the editor got, as the agent gave it; `undefined` for the minimal answer. */
  #answered: string | undefined;
  #hasWarned = false;
  /** The one of these two that the answer came from. */
  #used: Slot | undefined;
  /** What was found last, and for which params. */
  #found: { readonly childParams: string; readonly answer: KnownAnswer | undefined } | undefined;

  readonly #store: ProfileStore | undefined;

  constructor(private readonly options: ProfilesOptions) {
    this.#store = options.folder === undefined ? undefined : new ProfileStore(options.folder, options.log);
  }

  /** The answer for an editor whose `initialize` gives children these params, JSON text; the same for the same. */
  find(childParams: string): KnownAnswer | undefined {
    if (this.#found?.childParams !== childParams)
      this.#found = { childParams, answer: this.#lookUp(childParams) };
    return this.#found.answer;
  }

  #lookUp(childParams: string): KnownAnswer | undefined {
    try {
      const { client, capabilities } = readParams(childParams);
      const { agent, config, cwd, imageName, signIn } = this.options;
      const recorded = this.#recorded(client, capabilities);
      const shipped = imageName === undefined ? undefined : shippedProfile(agent, config, capabilities);
      const isSplit = this.#isDataSplit || signIn.ownRoot !== undefined;
      // The logins that we know can run anywhere; one that an agent has named, where that agent could run it.
      const isAsShipped = recorded && shipped && differences(recorded, shipped).length === 0;
      const root = isSplit && this.#used === this.#own ? cwd : undefined;
      const place = { root, editorCapabilities: capabilities, isElsewhere: isSplit && root === undefined };
      const found = isSplit && isAsShipped === true ? undefined : this.#answer(recorded, place);
      if (found !== undefined) return { source: 'recorded', result: found };
      const result = this.#answer(shipped, { root: undefined, editorCapabilities: capabilities });
      return result === undefined ? undefined : { source: 'shipped', result };
    } catch (reason) {
      // As capabilities that are nested so deeply that no key can be made of them.
      this.options.log.warn({ reason: messageOf(reason) }, 'no profile can be looked for');
      return undefined;
    }
  }

  answeredFrom(child: Child): void {
    this.#answered = child.hello!.agentResult;
  }

  /**
   * Compares a child's answer with what the editor got, and keeps it, once its image is known, too. `hasOwnData`: its
   * workspace has its own data, and so its own logins.
   */
  heard(child: Child, hasOwnData: boolean): void {
    const { imageName } = this.options;
    const result = child.hello?.agentResult;
    const program = imageName === undefined ? this.options.programIdentity() : child.image?.id;
    if (result === undefined || program === undefined) return;
    const { profile } = this.#used ?? {};
    this.#tellDifference(child, result, profile !== undefined && profile.program !== program);
    // A workspace's own image says nothing of the usual image.
    if (child.image?.name !== imageName) return;
    // Its logins are not for others.
    if (hasOwnData && !this.#isDataSplit) return;
    const now = { result, program };
    const general = this.#general;
    const isGeneral = imageName === undefined || child.root === undefined;
    if (!isGeneral && child.root === this.ownRoot) this.#keep(this.#own, now);
    const isOutdated = general?.profile !== undefined && general.profile.program !== program;
    if (isGeneral || (isOutdated && general.profile?.result === result)) this.#keep(general, now);
    else if (isOutdated) {
      // Another version of the agent said it, and an agent without a workspace has to say what counts now.
      general.profile = undefined;
      this.#store?.drop(general.key);
    }
  }

  /** What is kept and counts here, as the agent gave it. */
  #recorded(client: string | undefined, capabilities: JsonObject): string | undefined {
    const { agent, imageName, cwd } = this.options;
    const key: ProfileKey = {
      command: agent.command,
      ...(imageName !== undefined && { image: imageName }),
      protocolVersion,
      ...(client !== undefined && { client }),
      capabilities,
    };
    const slotOf = (each: ProfileKey): Slot => ({ key: each, profile: this.#store?.find(each) });
    this.#general = slotOf(key);
    // Agents without a container have all of the user's files, whatever the workspace.
    this.#own = imageName === undefined ? undefined : slotOf({ ...key, folder: cwd });
    this.#used = [this.#own, this.#general].find((slot) => slot?.profile !== undefined);
    const profile = this.#used?.profile;
    // Whether an image is still the same is known only when the engine is reached.
    const isUsable = imageName !== undefined || profile?.program === this.options.programIdentity();
    return isUsable ? profile?.result : undefined;
  }

  /** Whether each workspace has its own data, as far as the user's configuration says. */
  get #isDataSplit(): boolean {
    const { config, imageName } = this.options;
    return imageName !== undefined && config.agent.data === 'workspace';
  }

  #keep(slot: Slot | undefined, profile: Profile): void {
    if (slot === undefined || this.#store === undefined) return;
    const { result, program } = slot.profile ?? {};
    if (profile.result === result && profile.program === program) return;
    slot.profile = profile;
    this.#store.keep(slot.key, profile);
    this.options.log.info('what the agent says to initialize is kept for next time');
  }

  /** An agent's result as the editor may see it: what is kept passes what a child's answer passes. */
  #answer(result: string | undefined, place: SignInPlace): string | undefined {
    if (result === undefined) return undefined;
    try {
      const line = Buffer.from(`{"jsonrpc":"2.0","id":0,"result":${result}}`);
      const message = scan(line, { params: () => undefined, result: () => helloPlan, error: undefined });
      if (message.kind !== 'response') throw new Error('it is no JSON');
      const edits = this.options.signIn.edits(message, place);
      const { editorResult, agentResult } = readAgentHello(message, this.options.agent.name, edits);
      this.#answered = agentResult;
      return editorResult;
    } catch (reason) {
      this.options.log.info({ reason: messageOf(reason) }, 'a profile cannot be used');
      return undefined;
    }
  }

  #tellDifference(child: Child, result: string, isNew: boolean): void {
    if (this.#answered === undefined || this.#hasWarned) return;
    const differs = differences(this.#answered, result);
    if (differs.length === 0) return;
    this.#hasWarned = true;
    const named = differs.slice(0, maxNamed).map((name) => name.slice(0, maxNameLength));
    const because = isNew ? 'the agent or its image is another version' : undefined;
    this.options.log.warn(
      { root: child.root, differs: named, because },
      'initialize was answered with what the agent said earlier or elsewhere, and here it says something else: what it lacks is refused; start the proxy again to get the rest',
    );
  }
}

/** What the editor says of itself in `initialize`. */
function readParams(text: string): { client: string | undefined; capabilities: JsonObject } {
  const { clientInfo, clientCapabilities } = objectOf(JSON.parse(text));
  const { name } = objectOf(clientInfo);
  return { client: typeof name === 'string' ? name : undefined, capabilities: objectOf(clientCapabilities) };
}

/** Dotted names of the promises that differ between two results of `initialize`, JSON text. */
function differences(one: string, other: string): string[] {
  const [first, second] = [JSON.parse(one) as JsonObject, JSON.parse(other) as JsonObject];
  try {
    return promising.flatMap((name) => differing(first[name], second[name], name));
  } catch {
    // Nested more deeply than can be followed, which no agent needs.
    return [...promising];
  }
}

function differing(one: unknown, other: unknown, name: string): string[] {
  if (isObject(one) && isObject(other)) {
    const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
    return keys.flatMap((key) => differing(one[key], other[key], `${name}.${key}`));
  }
  return textOf(one) === textOf(other) ? [] : [name];
}

/** Where a program lies that signs in is no promise. */
function textOf(value: unknown): string | undefined {
  return JSON.stringify(value, (key, each: unknown) => (key === 'terminal-auth' ? Boolean(each) : each));
}

interface ShippedProfile {
  readonly packages: readonly string[];
  /** What the answer depends on: dotted paths in the client capabilities. */
  readonly dependsOn: readonly string[];
  /** By the capabilities of `dependsOn` that the client offers, in that order, parted by commas. */
  readonly answers: Readonly<Record<string, unknown>>;
}

/** Recorded by `fixtures/peers/profiles.mjs` before a release. */
const shippedProfiles: Readonly<Record<string, ShippedProfile>> = recorded;

/** The result of `initialize`, JSON text, of an agent that runs as our image has it; `undefined` for any other. */
export function shippedProfile(
  { name, command }: AgentCommand,
  { agents, image }: Pick<Config, 'agents' | 'image'>,
  clientCapabilities: JsonObject,
): string | undefined {
  const known = ownValue(catalog, name);
  const profile = ownValue(shippedProfiles, name);
  if (known === undefined || profile === undefined || image.dockerfile !== undefined) return undefined;
  const packages = ownValue(agents, name)?.packages ?? known.packages;
  const ours = JSON.stringify([known.command, profile.packages]);
  if (JSON.stringify([command, packages]) !== ours) return undefined;
  const answer = profile.answers[profile.dependsOn.filter((path) => offers(clientCapabilities, path)).join()];
  return answer === undefined ? undefined : JSON.stringify(answer);
}
