/** The files that a development container is made from, each read once: what the user trusts is what is built. */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError } from '../../errors';
import { readRegularFile } from '../../system/paths/read-regular-file';
import { quoted } from '../../system/quoted';
import { isInside } from '../../system/paths/is-inside';
import { makeFolder } from '../../system/files/make-folder';
import { reading } from '../../system/unless';

export interface SnapshotFile {
  readonly content: Buffer;
  readonly isExecutable: boolean;
}

/** All of them together, in bytes. */
const maxBytes = 16 * 2 ** 20;
const maxFiles = 2_000;
/** The names of all files and folders that are looked at, together, in characters. */
const maxNames = 16 * 2 ** 20;
/** What it may cost to compare names with patterns of .dockerignore files, together, in steps of about 20 ns. */
const maxSteps = 2 ** 26;
/** What is read as text, of one file, in bytes. */
const maxTextBytes = 256 * 1_024;

const remedy = 'let COPY in its Dockerfile name what it needs, or leave the rest out by a .dockerignore';

type PathTest = (path: string) => boolean;

/** Files of one workspace. Links are left out: they could lead to what nobody has looked at. */
export class Snapshot {
  readonly #root: string;
  readonly #files = new Map<string, SnapshotFile>();
  #bytes = 0;
  #names = 0;
  #steps = 0;

  constructor(root: string) {
    this.#root = realpathSync(root);
  }

  /** By their paths from the root, in the order in which they were added. */
  get files(): ReadonlyMap<string, SnapshotFile> {
    return this.#files;
  }

  /**
   * Reads a file, once. `undefined`: the file does not exist. Fails with `CaiError('CONFIG')` for one outside of the
   * workspace, also through a link, and for anything but a file.
   */
  addFile(path: string): Buffer | undefined {
    const name = this.#nameOf(path);
    const known = this.#files.get(name);
    if (known !== undefined) return known.content;
    const content = readRegularFile(path, maxBytes, this.#root);
    if (content === undefined) return undefined;
    this.#bytes += content.length;
    if (this.#bytes > maxBytes || this.#files.size >= maxFiles)
      throw new CaiError(
        'CONFIG',
        `a development container can be made from at most ${maxFiles} files and ${maxBytes / 2 ** 20} MiB: ${remedy}`,
      );
    const isExecutable = (lstatSync(path).mode & 0o100) !== 0;
    this.#files.set(name, { content, isExecutable });
    return content;
  }

  /** A file that is read as text, added as `addFile` does. */
  addText(path: string): string | undefined {
    const content = this.addFile(path);
    if (content !== undefined && content.length > maxTextBytes)
      throw new CaiError('CONFIG', `${quoted(path)} is longer than ${maxTextBytes / 1_024} KiB: shorten it`);
    return content?.toString();
  }

  /**
   * Reads a file, or all files in a folder and below, for which `isWanted` holds. Git's own folder is never wanted, nor what
   * lies in a folder for which `isEntered` does not hold.
   */
  addAll(path: string, isWanted: PathTest = () => true, isEntered: PathTest = () => true): void {
    this.#names += this.#nameOf(path).length;
    if (this.#names > maxNames)
      throw new CaiError('CONFIG', `${quoted(this.#root)} has too many files for a build: ${remedy}`);
    const info = this.#look(path);
    if (info?.isFile() === true && isWanted(path)) this.addFile(path);
    if (info?.isDirectory() !== true || posix.basename(path) === '.git' || !isEntered(path)) return;
    const [real, names] = reading(quoted(path), () => [realpathSync(path), readdirSync(path)] as const);
    if (!isInside(real, this.#root)) throw this.#outside(path);
    for (const name of names.sort()) this.addAll(posix.join(path, name), isWanted, isEntered);
  }

  /**
   * Counts a comparison of a name with the patterns of the .dockerignore for a Dockerfile, each of which is compared with
   * the folders on the way as well. Fails with `CaiError('CONFIG')` where these are too many.
   */
  countComparison(name: string, patterns: number, dockerfile: string): void {
    this.#steps += patterns * name.split('/').length * (name.length + 16);
    if (this.#steps > maxSteps)
      throw new CaiError(
        'CONFIG',
        `the .dockerignore for ${quoted(dockerfile)} has too many patterns for the files that it is about: write fewer, or let COPY in that Dockerfile name what it needs`,
      );
  }

  /** Fails with `CaiError('CONFIG')` for a path outside of the workspace. */
  checkInside(path: string): void {
    this.#nameOf(path);
  }

  /** SHA-256, in hex, of all names, contents and rights to execute; `main` is the file that names the others. */
  digest(main: string): string {
    const hash = createHash('sha256');
    const add = (part: string | Buffer) => hash.update(`${part.length}:`).update(part);
    add(this.#nameOf(main));
    for (const [name, { content, isExecutable }] of [...this.#files].sort(([a], [b]) => (a < b ? -1 : 1))) {
      add(name);
      add(isExecutable ? 'x' : '');
      add(content);
    }
    return hash.digest('hex');
  }

  writeTo(folder: string): void {
    for (const [name, { content, isExecutable }] of this.#files) {
      const path = posix.join(folder, name);
      makeFolder(posix.dirname(path), 0o777);
      writeFileSync(path, content, { mode: isExecutable ? 0o755 : 0o644 });
    }
  }

  #look(path: string) {
    return reading(quoted(path), () => lstatSync(path, { throwIfNoEntry: false }));
  }

  #nameOf(path: string): string {
    if (!isInside(path, this.#root)) throw this.#outside(path);
    return posix.relative(this.#root, path);
  }

  #outside(path: string): CaiError {
    return new CaiError('CONFIG', `${quoted(path)} is not in the workspace ${quoted(this.#root)}`);
  }
}
