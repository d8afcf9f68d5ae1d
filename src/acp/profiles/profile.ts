/**
 * What agents answered to `initialize` in earlier processes, in a file for each key. A help and never a condition: a
 * damaged file counts as missing, and one that cannot be written is only logged.
 */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../errors';
import type { Log } from '../../system/log';
import { readRegularFile } from '../../system/paths/read-regular-file';
import { replaceFile } from '../../system/files/replace-file';

/** All that an agent's answer may depend on and that is known before it runs. */
export interface ProfileKey {
  readonly command: readonly string[];
  /** Name of the image that it runs in; without one it is a process of this machine. */
  readonly image?: string;
  /** As the agent is asked for it. */
  readonly protocolVersion: number;
  /** `clientInfo.name`; absent where the editor gives none. */
  readonly client?: string;
  /** `clientCapabilities` as the agent is told of them. */
  readonly capabilities: unknown;
  /** The working directory whose agent has answered so, where alone it counts; absent: one without a workspace. */
  readonly folder?: string;
}

/** An agent's answer, and which program gave it. */
export interface Profile {
  /** Result of `initialize`, JSON text on one line: the agent's own bytes. */
  readonly result: string;
  /** Tells versions of the program apart: id of the image, or what the file system says of the program. */
  readonly program: string;
}

/** A longer answer is not kept, in bytes; today's agents answer with 1 to 4 KiB. */
const maxBytes = 256 * 1024;
/** With more files than this, those that were written longest ago are removed. */
const maxFiles = 100;
/** A draft of a file that is older than this was never finished, in milliseconds. */
const abandonedMs = 60_000;
/** Of the files' form; a file with another version counts as damaged. */
const version = 2;

export class ProfileStore {
  /** `folder` is made when first needed, for its owner alone. */
  constructor(
    private readonly folder: string,
    private readonly log: Log,
  ) {}

  find(key: ProfileKey): Profile | undefined {
    const file = this.#fileOf(key);
    try {
      const text = readRegularFile(file, 2 * maxBytes)?.toString('utf8');
      const profile = text === undefined ? undefined : parse(text, key);
      if (text !== undefined && profile === undefined)
        this.log.info({ file }, 'a damaged profile is ignored');
      return profile;
    } catch (reason) {
      this.log.info({ file, reason: messageOf(reason) }, 'a profile cannot be read');
      return undefined;
    }
  }

  /** Keeps a profile for later processes, in place of an earlier one for the key. One above 256 KiB is not kept. */
  keep(key: ProfileKey, { result, program }: Profile): void {
    if (Buffer.byteLength(result) > maxBytes) return;
    this.#change(key, 'a profile could not be kept', (file) => {
      replaceFile(file, JSON.stringify({ version, key, program, result }));
      this.#sweep();
    });
  }

  drop(key: ProfileKey): void {
    this.#change(key, 'a profile could not be removed', (file) => rmSync(file, { force: true }));
  }

  #change(key: ProfileKey, failure: string, change: (file: string) => void): void {
    const file = this.#fileOf(key);
    try {
      change(file);
    } catch (reason) {
      this.log.warn({ file, reason: messageOf(reason) }, failure);
    }
  }

  #fileOf({ folder, ...rest }: ProfileKey): string {
    const of = folder === undefined ? '' : `-${hashOf(folder)}`;
    return join(this.folder, `${hashOf(JSON.stringify(rest))}${of}.json`);
  }

  /** Editors choose much of the key, so there is no end of them. */
  #sweep(): void {
    const files = readdirSync(this.folder)
      .map((name) => join(this.folder, name))
      .map((path) => ({ path, writtenAt: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
      .sort((a, b) => b.writtenAt - a.writtenAt);
    for (const [index, { path, writtenAt }] of files.entries()) {
      const isAbandoned = !path.endsWith('.json') && writtenAt < Date.now() - abandonedMs;
      if (isAbandoned || index >= maxFiles) rmSync(path, { force: true });
    }
  }
}

/** FNV-1a of 64 bits: an editor would wait 3 ms for `node:crypto`. The file has the key, should two be of one name. */
function hashOf(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
}

/** `undefined` for what is no profile for this key. */
function parse(text: string, key: ProfileKey): Profile | undefined {
  try {
    const { result, program, ...kept } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if (kept.version !== version || JSON.stringify(kept.key) !== JSON.stringify(key)) return undefined;
    if (typeof result !== 'string' || typeof program !== 'string') return undefined;
    // It becomes part of one line.
    return /[\r\n]/.test(result) ? undefined : { result, program };
  } catch {
    return undefined;
  }
}
