/** The tokens by which people come in, in the user's state folder. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { constants, fstatSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownerName } from '../../../config/serve-words';
import { ownTokenFile, serveFolder } from '../../../config/serve-places';
import { CaiError, messageOf, errorCodeOf } from '../../../errors';
import type { Host } from '../../../system/host';
import { withFile } from '../../../system/files/open-file';
import { ProcessLocks } from '../../../system/process-lock';
import { makeOnce, replaceFile } from '../../../system/files/replace-file';
import { stampOf } from './stamp';
import { makeFolder } from '../../../system/files/make-folder';

/** What every token begins with: people and programs that look for secrets know it by that. */
export const tokenPrefix = 'cai_';
const tokenForm = /^cai_[\w-]{43}$/;
const maxFileBytes = 1_048_576;
const limitMs = 10_000;

/** A token that lets no person in: a reverse proxy's, which names the user, or that of a program that reads counts. */
export type TokenUse = 'proxy' | 'metrics';

export interface TokenRecord {
  readonly name: string;
  /** Of the token, in hex. */
  readonly sha256: string;
  /** When it was made, as ISO 8601. */
  readonly created: string;
  /** Absent for a person's. */
  readonly use?: TokenUse;
  /** What the person calls it who has made it for a program of theirs; absent: the user of the server has made it. */
  readonly label?: string;
  /** That of `[[serve.groups]]` whose rights it has; absent: those of the person's own entry. */
  readonly group?: string;
  /** From then on it is as good as revoked, ISO 8601. Absent: it does not end by itself. */
  readonly expires?: string;
  /** The last day on which it was right, such as 2026-01-31 (UTC). Absent: there was none yet. */
  readonly used?: string;
}

/** What a token stands for as long as it is not revoked. */
export type TokenHolder = Pick<TokenRecord, 'name' | 'sha256' | 'use' | 'group'>;

/** Files that only the user can have written or read, or everything here fails with `CaiError('CONFIG')`. */
export class Tokens {
  readonly #folder: string;
  readonly #ownerFile: string;
  readonly #file: string;
  readonly #uid: number;
  /** The days that were noted or could not be, by the SHA-256 of tokens. */
  readonly #noted = new Map<string, string>();
  #seen: { readonly stamp: string; readonly holders: readonly TokenRecord[] } | undefined;

  constructor(host: Host) {
    this.#folder = serveFolder(host);
    this.#ownerFile = ownTokenFile(host);
    this.#file = join(this.#folder, 'tokens.json');
    this.#uid = host.user.uid;
  }

  /** The user's token, made if it is missing. */
  ownerToken(): string {
    this.#makeFolder();
    const known = this.#readOwner();
    if (known !== undefined) return known;
    try {
      makeOnce(this.#ownerFile, `${newToken()}\n`);
    } catch (reason) {
      throw refuse(this.#ownerFile, `cannot be made: ${messageOf(reason)}`);
    }
    return this.#readOwner()!;
  }

  /** The user of a token; `undefined`: it is wrong. Takes the same time for each wrong token. */
  holderOf(token: string): TokenHolder | undefined {
    const given = createHash('sha256').update(token).digest();
    let found: TokenHolder | undefined;
    for (const holder of this.#holders())
      if (timingSafeEqual(Buffer.from(holder.sha256, 'hex'), given)) found = holder;
    return found;
  }

  /** What lets in whoever has that name; `undefined`: they have no token. */
  holderNamed(name: string): TokenHolder | undefined {
    return this.#holders().find((each) => each.name === name);
  }

  isHeld({ name, sha256 }: TokenHolder): boolean {
    return this.#holders().some((each) => each.name === name && each.sha256 === sha256);
  }

  /** All but the user's own, in the order in which they were made. */
  list(): readonly TokenRecord[] {
    return this.#checkFolder() ? this.#read().filter(isGood) : [];
  }

  /** A new token, which is kept nowhere. Rejects with `CaiError('USAGE')` for a name that has one. */
  async add(name: string, use?: TokenUse): Promise<string> {
    return await this.addOne({ name, ...(use && { use }) }, (records) => {
      if (records.some((each) => each.name === name && each.label === undefined))
        throw new CaiError('USAGE', `${name} has a token: run "cai serve token revoke ${name}" first`);
    });
  }

  /** A new token, which is kept nowhere. Rejects if `check` throws, which gets the others. */
  async addOne(
    about: Omit<TokenRecord, 'sha256' | 'created'>,
    check: (others: readonly TokenRecord[]) => void,
  ): Promise<string> {
    const token = newToken();
    await this.#change((records) => {
      check(records);
      return [...records, { ...about, sha256: digestOf(token), created: new Date().toISOString() }];
    });
    return token;
  }

  /** How many there were. The user's own is replaced by a new one. */
  async revoke(name: string): Promise<number> {
    if (name !== ownerName) return await this.remove((each) => each.name === name);
    const wasThere = this.#checkFolder() && this.#readOwner() !== undefined;
    if (wasThere) replaceFile(this.#ownerFile, `${newToken()}\n`);
    return Number(wasThere);
  }

  /** How many of others there were that `isMeant`. */
  async remove(isMeant: (record: TokenRecord) => boolean): Promise<number> {
    let count = 0;
    await this.#change((records) => {
      const rest = records.filter((each) => !isMeant(each));
      count = records.length - rest.length;
      return rest;
    });
    return count;
  }

  /** Notes that a token is used today, if that is possible: once a day, because it is a change of the file. */
  async noteUse({ name, sha256 }: TokenHolder): Promise<void> {
    if (name === ownerName) return;
    const used = new Date().toISOString().slice(0, 10);
    const known = this.#noted.get(sha256) ?? this.#seen?.holders.find((each) => each.sha256 === sha256)?.used;
    if (known === used) return;
    this.#noted.set(sha256, used);
    await this.#change((records) =>
      records.some((each) => each.sha256 === sha256)
        ? records.map((each) => (each.sha256 === sha256 ? { ...each, used } : each))
        : records,
    ).catch(() => undefined);
  }

  /** The same list from `change` means that there is nothing to write. */
  async #change(change: (records: readonly TokenRecord[]) => readonly TokenRecord[]): Promise<void> {
    this.#makeFolder();
    const late = () => refuse(this.#file, 'is being changed by another process: try again');
    await new ProcessLocks(this.#folder).hold('tokens', { pollMs: 5, limitMs, late }, () => {
      const records = this.#read().filter(isGood);
      const tokens = change(records);
      if (tokens === records) return;
      const text = `${JSON.stringify({ tokens }, undefined, 2)}\n`;
      if (Buffer.byteLength(text) > maxFileBytes)
        throw refuse(this.#file, 'has room for no more tokens: revoke some');
      replaceFile(this.#file, text);
    });
  }

  /** Read again whenever a file is another one than before. */
  #holders(): readonly TokenRecord[] {
    const stamp = [this.#folder, this.#ownerFile, this.#file].map(stampOf).join();
    if (stamp !== this.#seen?.stamp) {
      this.#seen = undefined;
      const isThere = this.#checkFolder();
      const owner = isThere ? this.#readOwner() : undefined;
      const holders = isThere ? [...this.#read()] : [];
      if (owner !== undefined) holders.push({ name: ownerName, sha256: digestOf(owner), created: '' });
      this.#seen = { stamp, holders };
    }
    return this.#seen.holders.filter(isGood);
  }

  #readOwner(): string | undefined {
    const token = this.#textOf(this.#ownerFile)?.trimEnd();
    if (token === undefined || tokenForm.test(token)) return token;
    throw refuse(this.#ownerFile, 'holds no token: remove it, and start "cai serve" again');
  }

  #read(): readonly TokenRecord[] {
    const text = this.#textOf(this.#file);
    if (text === undefined) return [];
    try {
      const { tokens } = JSON.parse(text) as { tokens: readonly TokenRecord[] };
      if (tokens.every(isRecord)) return tokens;
    } catch {
      // The same refusal as for any other text.
    }
    throw refuse(this.#file, 'is damaged: remove it, and give everybody a new token');
  }

  #makeFolder(): void {
    try {
      makeFolder(this.#folder);
    } catch (reason) {
      throw refuse(this.#folder, `cannot be made: ${messageOf(reason)}`);
    }
    this.#checkFolder();
  }

  /** False: there is no such token. */
  #checkFolder(): boolean {
    const stats = lstatSync(this.#folder, { throwIfNoEntry: false });
    if (stats === undefined) return false;
    if (!stats.isDirectory()) throw refuse(this.#folder, 'must be a folder, and no link to one');
    this.#checkOwner(this.#folder, stats);
    return true;
  }

  #checkOwner(path: string, { uid, mode }: { readonly uid: number; readonly mode: number }): void {
    if (uid !== this.#uid) throw refuse(path, 'belongs to another user: remove it');
    if ((mode & 0o077) !== 0)
      throw refuse(
        path,
        `can be used by other users: run "chmod go= '${path}'", and revoke its tokens if others may have read it`,
      );
  }

  /** `undefined`: there is no such file. */
  #textOf(path: string): string | undefined {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    try {
      return withFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, (file) => {
        const stats = fstatSync(file);
        if (!stats.isFile() || stats.size > maxFileBytes) throw refuse(path, 'is no file of ours: remove it');
        this.#checkOwner(path, stats);
        return readFileSync(file, 'utf8');
      });
    } catch (reason) {
      if (reason instanceof CaiError) throw reason;
      const code = errorCodeOf(reason);
      if (code === 'ENOENT') return undefined;
      if (code === 'ELOOP') throw refuse(path, 'is a symbolic link: remove it');
      throw refuse(path, `cannot be read: ${messageOf(reason)}`);
    }
  }
}

function newToken(): string {
  return `${tokenPrefix}${randomBytes(32).toString('base64url')}`;
}

/** The SHA-256 of a secret, in hex: all that is kept of one. */
export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function isRecord(value: unknown): value is TokenRecord {
  const { name, sha256, created, use, ...more } = value as Partial<Record<keyof TokenRecord, unknown>>;
  return (
    [name, sha256, created].every((each) => typeof each === 'string') &&
    [more.label, more.group, more.expires, more.used].every(
      (each) => each === undefined || typeof each === 'string',
    ) &&
    /^[\da-f]{64}$/.test(sha256 as string) &&
    [undefined, 'proxy', 'metrics'].includes(use as TokenUse | undefined)
  );
}

/** False once it has expired, and for what is no time. */
function isGood({ expires }: TokenRecord): boolean {
  return expires === undefined || Date.now() < Date.parse(expires);
}

function refuse(path: string, why: string): CaiError {
  return new CaiError('CONFIG', `${path} ${why}`);
}
