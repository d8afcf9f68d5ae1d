/**
 * The user's keyring, by its own program: `secret-tool` of libsecret, or `security` of macOS. It holds one key of ours, by
 * which other secrets are sealed: programs of a keyring take no long ones.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Host } from '../../system/host';
import { safeProgram } from '../../system/paths/safe-program';
import { outputOf, type OutputFailure } from '../../system/program-output';
import { unlessFails } from '../../system/unless';

/** How long its program may take, in milliseconds: it may ask for a password. */
const limitMs = 20_000;
/** How long it is not asked again after it has not answered, in milliseconds: it may show a window each time. */
const retryMs = 60_000;
const algorithm = 'aes-256-gcm';
const [keyBytes, ivBytes, tagBytes] = [32, 12, 16];

/** How a key is found and put there. It goes in by stdin, as others see arguments. Sources: secret-tool(1), security(1). */
interface Program {
  readonly name: string;
  readonly find: readonly string[];
  readonly put: (key: string) => { readonly args: readonly string[]; readonly input: string };
}

const attributes = ['application', 'containai', 'key', 'sign-ins'];
const libsecret: Program = {
  name: 'secret-tool',
  find: ['lookup', ...attributes],
  put: (key) => ({ args: ['store', '--label=cai: key for sign-ins', ...attributes], input: key }),
};
const item = ['-s', 'containai', '-a', 'sign-ins'];
const macOs: Program = {
  name: 'security',
  find: ['find-generic-password', ...item, '-w'],
  put: (key) => ({ args: ['-i'], input: `add-generic-password ${item.join(' ')} -w ${key}\n` }),
};

export class Keyring {
  #key: Buffer | undefined;
  /** The question that is open, if one is. */
  #asking: Promise<void> | undefined;
  #asksFrom = 0;

  /** `host` has the environment, by which its program is found. */
  constructor(private readonly host: Host) {}

  /**
   * Asks the keyring for the key; `seal` and `unseal` only use what was found. With `makes`, a key that is not there is
   * made. Never rejects: there may be no keyring, or it is locked.
   */
  async unlock(makes = false): Promise<void> {
    if (this.#key === undefined) await (this.#asking ??= this.#find());
    if (this.#key === undefined && makes) await (this.#asking ??= this.#make());
  }

  /** The text sealed; `undefined`: the key is not at hand. */
  seal(text: string): string | undefined {
    const key = this.#key;
    if (key === undefined) return undefined;
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, key, iv);
    const sealed = [cipher.update(text, 'utf8'), cipher.final()];
    return Buffer.concat([iv, cipher.getAuthTag(), ...sealed]).toString('base64');
  }

  /** The text again; `undefined`: the key is not at hand, or is another one. */
  unseal(sealed: string): string | undefined {
    const key = this.#key;
    if (key === undefined) return undefined;
    const bytes = Buffer.from(sealed, 'base64');
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes));
    return unlessFails(() => {
      decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
      const rest = bytes.subarray(ivBytes + tagBytes);
      return Buffer.concat([decipher.update(rest), decipher.final()]).toString();
    });
  }

  async #find(): Promise<void> {
    const key = Buffer.from((await this.#run(({ find }) => ({ args: find, input: '' }))) ?? '', 'hex');
    if (key.length === keyBytes) this.#key = key;
    this.#asking = undefined;
  }

  async #make(): Promise<void> {
    const key = randomBytes(keyBytes).toString('hex');
    // Another process may have put one there meanwhile.
    if ((await this.#run(({ put }) => put(key))) === undefined) this.#asking = undefined;
    else await this.#find();
  }

  /** What the keyring's program says; `undefined`: there is no such program, or it fails. */
  async #run(request: (program: Program) => ReturnType<Program['put']>): Promise<string | undefined> {
    if (performance.now() < this.#asksFrom) return undefined;
    for (const program of [libsecret, macOs]) {
      const path = safeProgram(program.name, this.host);
      if (path === undefined) continue;
      const { args, input } = request(program);
      try {
        return (await outputOf(path, args, { env: this.host.env, limitMs, input })).trim();
      } catch (reason) {
        if (!(reason as OutputFailure).hasEnded) this.#asksFrom = performance.now() + retryMs;
        return undefined;
      }
    }
    return undefined;
  }
}
