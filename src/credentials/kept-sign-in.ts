/** The sign-ins of agents that are kept on this machine: one for all workspaces, and others for one workspace. */
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError, messageOf } from '../errors';
import { ProcessLocks } from '../system/process-lock';
import { replaceFile } from '../system/replace-file';
import { readState, stateRemedy, unlessFails, unlessGone } from '../system/state-folder';
import { placeholderFor, readPlaceholder, type TokenName, type TokenPlaceholder } from './token-placeholder';

/** How long another process may take to renew it, in milliseconds. */
const lockMs = 60_000;
const pollMs = 20;

/** What a server has given. */
export interface SignIn {
  /** 12 hexadecimal digits; another one with each sign-in. */
  readonly id: string;
  /** How often its tokens were given: with the sign-in, and whenever they were renewed. */
  readonly generation: number;
  /** The real ones. */
  readonly tokens: Readonly<Partial<Record<TokenName, string>>>;
  /** The other fields of the last answer with tokens, for those who ask again. */
  readonly answer: Readonly<Record<string, unknown>>;
  /** When the access token ends, in milliseconds since 1970; `undefined`: the server has not said. */
  readonly expiresAt?: number | undefined;
}

/** An id for a new sign-in. */
export const newSignInId = (): string => randomBytes(6).toString('hex');

/** What stands for one of its tokens inside. */
export function placeholderOf({ id, generation, tokens }: SignIn, name: TokenName): string | undefined {
  const token = tokens[name];
  return token === undefined ? undefined : placeholderFor(token, { name, signIn: id, generation });
}

/** The token of a sign-in that a placeholder stands for. */
export function tokenFor({ id, tokens }: SignIn, text: string): string | undefined {
  const read = readPlaceholder(text);
  return read?.signIn === id ? tokens[read.name] : undefined;
}

/** Which sign-ins a command uses. */
export interface SignInScope {
  /** Its name. */
  readonly agent: string;
  /** Root of the workspace; `undefined`: none. */
  readonly workspace: string | undefined;
  /**
   * Whether a new sign-in is for all workspaces. Where the user has not asked for that, it would be an agent's way to have
   * the others work for another account.
   */
  readonly isForAll: boolean;
}

/** The sign-ins that one command can use. Everything fails with `CaiError('CONFIG')` where the state folder cannot be used. */
export class SignIns {
  /** Where a new one is kept. */
  readonly own: KeptSignIn;
  readonly #all: readonly KeptSignIn[];

  /** `state`: our state folder. */
  constructor(state: string, { agent, workspace, isForAll }: SignInScope) {
    const shared = new KeptSignIn(state, agent, forAll);
    this.own = isForAll ? shared : new KeptSignIn(state, agent, nameOf(workspace));
    this.#all = isForAll ? [shared] : [this.own, shared];
  }

  /** The one of the workspace, or that of all; `undefined`: nobody has signed in. */
  current(): SignIn | undefined {
    return this.#found()[0];
  }

  /** The token that a placeholder stands for: the current one, also for a placeholder of an earlier generation. */
  tokenFor(text: string): string | undefined {
    const read = readPlaceholder(text);
    const signIn = read && this.#found().find(({ id }) => id === read.signIn);
    return signIn && tokenFor(signIn, text);
  }

  /** Where the sign-in of a placeholder is kept. */
  keeperOf({ signIn }: TokenPlaceholder): KeptSignIn | undefined {
    return this.#all.find((each) => each.read()?.id === signIn);
  }

  #found(): SignIn[] {
    return this.#all.flatMap((each) => each.read() ?? []);
  }
}

/** Forgets all sign-ins of an agent; whether there were some. Rejects with `CaiError('CONFIG')` if they cannot be removed. */
export async function forgetSignIns(state: string, agent: string): Promise<boolean> {
  const files =
    readState(state, posix.join(folder, agent), (path) => unlessGone(() => readdirSync(path))) ?? [];
  const names = files.flatMap((file) => /^([^.]+)\.json$/.exec(file)?.[1] ?? []);
  const found = await Promise.all(names.map((name) => new KeptSignIn(state, agent, name).forget()));
  return found.includes(true);
}

const folder = 'credentials/sign-ins';
const forAll = 'all-workspaces';

function nameOf(workspace: string | undefined): string {
  return workspace === undefined ? 'no-workspace' : createHash('sha256').update(workspace).digest('hex');
}

/** One of them. */
class KeptSignIn {
  readonly #path: string;

  constructor(
    private readonly state: string,
    agent: string,
    name: string,
  ) {
    this.#path = posix.join(state, folder, agent, `${name}.json`);
  }

  /** As it is now; `undefined`: there is none, or none that can be used, so that the user has to sign in. */
  read(): SignIn | undefined {
    const name = posix.relative(this.state, this.#path);
    const text = readState(this.state, name, (path) => unlessGone(() => readFileSync(path, 'utf8')));
    const signIn = unlessFails(() => JSON.parse(text ?? '') as Partial<SignIn> | null);
    return typeof signIn?.id === 'string' && typeof signIn.tokens === 'object'
      ? (signIn as SignIn)
      : undefined;
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
    const deadline = performance.now() + lockMs;
    const { dir, name } = posix.parse(this.#path);
    const lock = await new ProcessLocks(dir).take(name, { pollMs, deadline });
    if (lock === undefined) throw new Error('another command is renewing the sign-in: try again');
    try {
      const before = this.read();
      const { kept, result } = await change(before);
      if (kept === undefined) rmSync(this.#path, { force: true });
      else if (kept !== before) this.#write(kept);
      return result;
    } finally {
      lock.release();
    }
  }

  /** Whether there was one. */
  forget(): Promise<boolean> {
    return this.change((signIn) => Promise.resolve({ kept: undefined, result: signIn !== undefined }));
  }

  #write(signIn: SignIn): void {
    try {
      replaceFile(this.#path, `${JSON.stringify(signIn)}\n`);
    } catch (reason) {
      throw new CaiError(
        'CONFIG',
        `the sign-in cannot be kept in ${this.#path}: ${messageOf(reason)}: ${stateRemedy(this.state)}, and sign in again`,
      );
    }
  }
}
