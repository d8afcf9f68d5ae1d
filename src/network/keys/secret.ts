/** A key of the user's, taken from where the configuration says. */
import { readFile } from 'node:fs/promises';
import { messageOf } from '../../errors';
import type { Host } from '../../system/host';
import type { Credential } from './services';
import { outputOf } from '../../system/program-output';

/** How long a key counts before it is taken again, in milliseconds: a program may give short-lived ones. */
const freshMs = 5 * 60_000;
/** A header that is longer is refused by servers, in characters. */
const maxLength = 16_384;

/** One key, read when it is first wanted. */
export class Secret {
  #read: { readonly key: Promise<string>; readonly atMs: number } | undefined;

  /** `host` has the environment, which programs get. */
  constructor(
    private readonly credential: Pick<Credential, 'for' | 'from'>,
    private readonly host: Pick<Host, 'env'>,
  ) {}

  /** Rejects with an error that says which key cannot be had and why, and never holds any of it. */
  key(): Promise<string> {
    const now = performance.now();
    if (this.#read === undefined || now - this.#read.atMs > freshMs) {
      const key = this.#take();
      // A failure is not kept: the user may mend it meanwhile.
      key.catch(() => (this.#read = undefined));
      this.#read = { key, atMs: now };
    }
    return this.#read.key;
  }

  async #take(): Promise<string> {
    const { for: name, from } = this.credential;
    const where = Array.isArray(from) ? `the program ${from[0]}` : String(from);
    const text = await this.#text().catch((reason: unknown) => {
      throw new Error(`the key for ${name} cannot be had from ${where}: ${messageOf(reason)}`);
    });
    const key = text.trim();
    if (key === '') throw new Error(`the key for ${name} cannot be had from ${where}: no key is there`);
    // Of a header or a line of a log nothing else may be made of it.
    if (key.length > maxLength || !/^[!-~]+$/.test(key))
      throw new Error(`what ${where} has is no key for ${name}: it is very long, or not one word`);
    return key;
  }

  async #text(): Promise<string> {
    const { from } = this.credential;
    const { env } = this.host;
    if (typeof from !== 'string') {
      const [program, ...args] = from;
      return await outputOf(program, args, { env });
    }
    const place = from.slice(from.indexOf(':') + 1);
    if (from.startsWith('env:')) return env[place] ?? '';
    return await readFile(place, 'utf8');
  }
}
