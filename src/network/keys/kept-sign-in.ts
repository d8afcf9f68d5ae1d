/**
 * The sign-ins that are kept on this machine: for each agent one for all workspaces, and one for each workspace that has
 * its own.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, watch } from 'node:fs';
import { posix } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CaiError, messageOf } from '../../errors';
import type { Host } from '../../system/host';
import { ProcessLocks } from '../../system/process-lock';
import { replaceFile } from '../../system/files/replace-file';
import { within } from '../../system/time-limit';
import { readState, recordName, stateRemedy } from '../../system/state-folder';
import { Keyring } from './keyring';
import {
  keptOf,
  placeholderFor,
  readPlaceholder,
  type TokenName,
  type TokenPlaceholder,
} from './token-placeholder';
import { unlessFails, unlessGone, objectIn } from '../../system/unless';
import { makeFolder } from '../../system/files/make-folder';

/** How long another process may take to renew a sign-in, in milliseconds. */
const limitMs = 60_000;
const pollMs = 20;
/** How long this process pauses after each change, in milliseconds: longer than others wait between two tries. */
const leaveMs = 4 * pollMs;

/** How long this process waits at its end for a server that it has asked, in milliseconds. */
const endMs = 20_000;

const begun = new Set<Promise<unknown>>();

/**
 * Resolves when the changes that this process has begun are kept, or take too long. A process that exits before could lose
 * a new token, for all workspaces.
 */
export async function changesEnded(): Promise<void> {
  await within(endMs, Promise.allSettled(begun));
}

/** What a server has given to somebody who signed in. */
export interface SignIn {
  /** 12 hexadecimal digits; another one with each sign-in. */
  readonly id: string;
  /** How often its tokens were given: with the sign-in, and whenever they were renewed. */
  readonly generation: number;
  readonly tokens: Readonly<Partial<Record<TokenName, string>>>;
  /** The other fields of the last answer with tokens, for agents that get the tokens without asking the server. */
  readonly answer: Readonly<Record<string, unknown>>;
  /** When the access token ends, in milliseconds since 1970; `undefined`: the server has not said. */
  readonly expiresAt?: number | undefined;
  /** When its tokens were renewed last, in milliseconds since 1970. */
  readonly renewedAt?: number | undefined;
}

export const newSignInId = (): string => randomBytes(6).toString('hex');

/** What a container has instead of one of its tokens. */
export function placeholderOf({ id, generation, tokens }: SignIn, name: TokenName): string | undefined {
  const token = tokens[name];
  return token === undefined ? undefined : placeholderFor(token, { name, signIn: id, generation });
}

/** The token of a sign-in that a placeholder stands for. */
export function tokenFor({ id, tokens }: SignIn, text: string): string | undefined {
  const read = readPlaceholder(text);
  return read?.signIn === id ? tokens[read.name] : undefined;
}

interface SignInScope {
  readonly agent: string;
  /** Root of the workspace; `undefined`: none. */
  readonly workspace: string | undefined;
  /**
   * Whether a new sign-in is for all workspaces. Only the user may want that: otherwise an agent could make all others work
   * for another account.
   */
  readonly isForAll: boolean;
}

/** The sign-ins that one command can use. Everything fails with `CaiError('CONFIG')` where the state folder cannot be used. */
export class SignIns {
  /** Where a new one is kept. */
  readonly own: KeptSignIn;
  /** Where one is looked for, in this order. */
  readonly #all: readonly KeptSignIn[];
  readonly #folder: string;

  /** `host` has our state folder and the keyring. */
  constructor(host: Host, { agent, workspace, isForAll }: SignInScope) {
    const keyring = new Keyring(host);
    const keeper = (name: string) => new KeptSignIn(host, keyring, agent, name);
    const shared = keeper(forAll);
    this.#folder = posix.join(host.folders.state, folder, agent);
    this.own = isForAll ? shared : keeper(recordName(workspace));
    this.#all = isForAll ? [shared] : [this.own, shared];
  }

  /** The one of the workspace, or else that of all, as `KeptSignIn.outline` has it; `undefined`: nobody has signed in. */
  outline(): SignIn | undefined {
    return this.#all.flatMap((each) => each.outline() ?? [])[0];
  }

  /**
   * Calls `onOther` whenever somebody has signed in, in any process: there is another sign-in than `known`, an outline.
   * Does not keep this process from ending.
   */
  follow(known: SignIn | undefined, onOther: (signIn: SignIn) => void): void {
    let last = known?.id;
    const look = (): void => {
      const signIn = unlessFails(() => this.outline());
      if (signIn === undefined || signIn.id === last) return;
      last = signIn.id;
      onOther(signIn);
    };
    // If the folder cannot be watched, the next command finds the new sign-in.
    unlessFails(() => {
      makeFolder(this.#folder);
      watch(this.#folder, { persistent: false }, look).on('error', () => undefined);
    });
  }

  /** Asks the keyring, where a sign-in is sealed by the key in it: `tokenFor` does not wait for that. */
  async unlock(): Promise<void> {
    for (const each of this.#all) await each.unlock();
  }

  /** The token that a placeholder stands for: the current one, also for a placeholder of an earlier generation. */
  tokenFor(text: string): string | undefined {
    const id = readPlaceholder(text)?.signIn;
    const [signIn] = id === undefined ? [] : this.#all.flatMap((each) => each.read(id) ?? []);
    return signIn && tokenFor(signIn, text);
  }

  keeperOf({ signIn }: TokenPlaceholder): KeptSignIn | undefined {
    return this.#all.find((each) => each.outline()?.id === signIn);
  }
}

/** Forgets all sign-ins of an agent. Rejects with `CaiError('CONFIG')` if they cannot be removed. */
export async function forgetSignIns(host: Host, agent: string): Promise<void> {
  const find = (path: string) => unlessGone(() => readdirSync(path)) ?? [];
  const files = readState(host.folders.state, posix.join(folder, agent), find);
  const names = files.flatMap((file) => /^([^.]+)\.json$/.exec(file)?.[1] ?? []);
  for (const name of names) await new KeptSignIn(host, new Keyring(host), agent, name).keep(undefined);
}

const folder = 'credentials/sign-ins';
const forAll = 'all-workspaces';

type Kept = SignIn & {
  /** The tokens as JSON, sealed; `tokens` then has only what `outline` has of them. */
  readonly sealed?: string | undefined;
};

class KeptSignIn {
  readonly #path: string;
  /** Settles when the next change of this process may begin. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly host: Pick<Host, 'folders'>,
    private readonly keyring: Pick<Keyring, 'unlock' | 'seal' | 'unseal'>,
    private readonly agent: string,
    name: string,
  ) {
    this.#path = posix.join(host.folders.state, folder, agent, `${name}.json`);
  }

  /** Has the keyring asked for the key, if the sign-in is sealed by it. */
  async unlock(): Promise<void> {
    if (this.#record()?.sealed !== undefined) await this.keyring.unlock();
  }

  /**
   * As it is now; `undefined`: there is none, or none that can be used, so that the user has to sign in; or it is not the
   * one with that `id`. Fails if it is sealed, and was not unlocked.
   */
  read(id?: string): SignIn | undefined {
    const record = this.#record();
    if (id !== undefined && record?.id !== id) return undefined;
    if (record?.sealed === undefined) return record;
    const { sealed, ...signIn } = record;
    const text = this.keyring.unseal(sealed);
    if (text !== undefined) return { ...signIn, tokens: JSON.parse(text) as SignIn['tokens'] };
    throw new CaiError(
      'CONFIG',
      `the sign-in in ${this.#path} is sealed by a key in your keyring, which cannot be read: unlock the keyring, or run "cai login ${this.agent}"`,
    );
  }

  /** As `read`, but each token is cut to what its placeholder keeps of it; no keyring is needed. */
  outline(): SignIn | undefined {
    const record = this.#record();
    return record && outlineOf(record);
  }

  /**
   * Runs `change` with what is kept, and keeps what that resolves with instead; forgets it for `undefined`. Two changes
   * never overlap, not even of several processes. Rejects if another one takes too long.
   */
  async change<T>(
    change: (
      signIn: SignIn | undefined,
    ) => Promise<{ readonly kept: SignIn | undefined; readonly result: T }>,
  ): Promise<T> {
    return await this.#locked(async () => {
      await this.unlock();
      const before = this.read();
      const { kept, result } = await change(before);
      if (kept !== before) await this.#write(kept);
      return result;
    });
  }

  /** Keeps a sign-in in the place of what was there; `undefined`: forgets that. */
  async keep(signIn: SignIn | undefined): Promise<void> {
    await this.#locked(() => this.#write(signIn));
  }

  /** One change after another in this process, with pauses, so that other processes get the lock as often as this one. */
  #locked<T>(use: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(() => this.#alone(use));
    const leave = () => sleep(leaveMs);
    this.#turn = mine.then(leave, leave);
    return mine;
  }

  async #alone<T>(use: () => Promise<T>): Promise<T> {
    const { dir, name } = posix.parse(this.#path);
    const late = () => new Error('another command is renewing the sign-in: try again');
    return await new ProcessLocks(dir).hold(name, { pollMs, limitMs, late }, async () => {
      const used = use();
      begun.add(used);
      return await used.finally(() => begun.delete(used));
    });
  }

  #record(): Kept | undefined {
    const { state } = this.host.folders;
    const read = (path: string) => unlessGone(() => readFileSync(path, 'utf8'));
    const text = readState(state, posix.relative(state, this.#path), read);
    const record: Partial<Kept> | undefined = objectIn(text);
    const tokens = Object.values<unknown>(record?.tokens ?? []);
    const isKept = typeof record?.id === 'string' && tokens.length > 0;
    return isKept && tokens.every((token) => typeof token === 'string') ? (record as Kept) : undefined;
  }

  async #write(signIn: SignIn | undefined): Promise<void> {
    const { state } = this.host.folders;
    if (signIn !== undefined) await this.keyring.unlock(true);
    try {
      if (signIn === undefined) rmSync(this.#path, { force: true });
      else replaceFile(this.#path, `${JSON.stringify(this.#sealed(signIn))}\n`);
    } catch (reason) {
      throw new CaiError(
        'CONFIG',
        `the sign-in cannot be kept in ${this.#path}: ${messageOf(reason)}: ${stateRemedy(state)}, and sign in again`,
      );
    }
  }

  #sealed(signIn: SignIn): Kept {
    const sealed = this.keyring.seal(JSON.stringify(signIn.tokens));
    return sealed === undefined ? signIn : { ...outlineOf(signIn), sealed };
  }
}

function outlineOf({ tokens, ...rest }: SignIn): SignIn {
  const kept = Object.entries(tokens).map(([name, token]) => [name, keptOf(token)] as const);
  return { ...rest, tokens: Object.fromEntries(kept) };
}
