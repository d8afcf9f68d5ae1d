/** The sign-in of an agent that is kept on this machine, one for all containers of the user. */
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError, messageOf } from '../errors';
import { ProcessLocks } from '../system/process-lock';
import { replaceFile } from '../system/replace-file';
import { readState, stateRemedy, unlessGone } from '../system/state-folder';
import { placeholderFor, readPlaceholder, type TokenName } from './token-placeholder';

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

/** The token that a placeholder stands for: the current one, also for a placeholder of an earlier generation. */
export function tokenFor(signIn: SignIn | undefined, text: string): string | undefined {
  const read = readPlaceholder(text);
  return read !== undefined && read.signIn === signIn?.id ? signIn.tokens[read.name] : undefined;
}

/** Where the sign-in of an agent is kept. Everything fails with `CaiError('CONFIG')` where the state folder cannot be used. */
export class KeptSignIn {
  readonly #name: string;
  readonly #locks: ProcessLocks;

  /** `state`: our state folder. */
  constructor(
    private readonly state: string,
    agent: string,
  ) {
    this.#name = `credentials/sign-ins/${agent}.json`;
    this.#locks = new ProcessLocks(posix.join(state, 'credentials/sign-ins'));
  }

  /** As it is now; `undefined`: there is none. */
  read(): SignIn | undefined {
    const text = readState(this.state, this.#name, (path) => unlessGone(() => readFileSync(path, 'utf8')));
    return text === undefined ? undefined : (JSON.parse(text) as SignIn);
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
    const lock = await this.#locks.take(posix.basename(this.#name), { pollMs, deadline });
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

  get #path(): string {
    return posix.join(this.state, this.#name);
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
