/**
 * The repository of a workspace that is copied. Its files may be a stranger's: they name programs that git would run, and
 * places outside of the workspace whose content would be copied, too.
 */
import { readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { CaiError, messageOf } from '../../errors';
import { readRegularFile } from '../../system/paths/read-regular-file';
import type { Host } from '../../system/host';
import { quoted } from '../../system/quoted';
import { isThere } from '../../system/real-path';
import type { WorkingGit } from '../../workspace/git';
import { HostGit, lookMs } from '../../workspace/host-git';

/** A repository of which a copy can be made. */
export class Repository {
  private constructor(
    private readonly git: HostGit,
    /** What git is told besides. */
    private readonly options: Parameters<HostGit['start']>[1] = {},
    /** How long each look may take, in milliseconds; absent: for ever. */
    private readonly limitMs?: number,
  ) {}

  /** Rejects with `CaiError('WORKSPACE')` for a folder that is no root of a work tree, or one that cannot be copied. */
  static async at(root: string, host: Host, limitMs = lookMs): Promise<Repository> {
    if (!(await isThere(posix.join(root, '.git'))))
      throw refusal(
        root,
        'is in no folder that pods can mount, and only the root of a git repository can be copied for them: run "git init" there, or name the folder and its volume in [[kubernetes.volumes]] of your config.toml',
      );
    const found = new Repository(await HostGit.at(root, host, limitMs), {}, limitMs);
    // Git itself reads what links in its folder lead to.
    await found.checkOwn();
    return found;
  }

  /** Root of its work tree, without links. */
  get root(): string {
    return this.git.root;
  }

  /** Rejects with `CaiError('WORKSPACE')` where branches or objects may be those of another repository. */
  async checkOwn(): Promise<void> {
    const stray = await strayIn(this.git.common);
    if (stray === undefined) return;
    const remedy = stray.endsWith('alternates')
      ? 'run "git repack -a -d" and remove that file'
      : 'put the file or folder itself there';
    throw refusal(this.root, `cannot be copied, because ${quoted(stray)} leads elsewhere: ${remedy}`);
  }

  /** `limitMs`: default: none. */
  start(args: readonly string[], limitMs?: number): WorkingGit {
    return this.git.start(args, { ...this.options, ...(limitMs !== undefined && { limitMs }) });
  }

  /** The same, for objects that a stranger has made: git takes no more memory for one of them than that. */
  guarded(): Repository {
    const config = ['core.bigFileThreshold=16m'];
    return new Repository(this.git, { config, env: { GIT_ALLOC_LIMIT: '256m' } });
  }

  /**
   * What git prints on that input, a character for each byte. Rejects as `WorkingGit.ended`, also where git takes too long
   * to look, as at a pipe.
   */
  async ask(args: readonly string[], input: string | Readable = ''): Promise<string> {
    const git = this.start(args, this.limitMs);
    const giving = pipeline(typeof input === 'string' ? Readable.from([input]) : input, git.stdin);
    // What was wrong shows in how git ends.
    giving.catch(() => undefined);
    const said = await text(git.stdout.setEncoding('latin1'));
    await git.ended.catch((reason: unknown) => {
      const loss = typeof input === 'string' ? undefined : input.errored;
      throw loss instanceof CaiError ? loss : reason;
    });
    return said.replace(/\n$/, '');
  }

  /** The same, empty where it fails. */
  async attempt(args: readonly string[]): Promise<string> {
    return await this.ask(args).catch((reason: unknown) => {
      if (reason instanceof CaiError) return '';
      throw reason;
    });
  }

  /** Git's file about where the history was cut off, empty if it is whole. Throws `CaiError('WORKSPACE')` for another file. */
  shallow(): Buffer {
    const file = posix.join(this.git.common, 'shallow');
    let content: Buffer | undefined;
    try {
      content = readRegularFile(file, maxShallowBytes, this.git.common);
    } catch (reason) {
      throw refusal(this.root, `cannot be copied: ${messageOf(reason)}`);
    }
    if (content === undefined) return Buffer.alloc(0);
    if (!/^(?:(?:[\da-f]{40}|[\da-f]{64})\n)*$/.test(content.toString('latin1')))
      throw refusal(this.root, `cannot be copied, because ${quoted(file)} holds something else than commits`);
    return content;
  }
}

function refusal(root: string, why: string): CaiError {
  return new CaiError('WORKSPACE', `${quoted(root)} ${why}`);
}

/** Git's file about where the history was cut off has a line for each commit there. */
const maxShallowBytes = 16 * 1024 * 1024;

const decisive = ['HEAD', 'packed-refs', 'refs', 'reftable', 'objects', 'shallow'];

/** The first of these that is a link, or has one in it, or names another repository; `undefined`: all are safe. */
async function strayIn(folder: string): Promise<string | undefined> {
  const alternates = posix.join(folder, 'objects/info/alternates');
  if (await isThere(alternates)) return alternates;
  const top = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => decisive.includes(name));
  const below = top
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => readdir(posix.join(folder, name), { withFileTypes: true, recursive: true }));
  const link = [...top, ...(await Promise.all(below)).flat()].find((entry) => entry.isSymbolicLink());
  return link && posix.join(link.parentPath, link.name);
}
