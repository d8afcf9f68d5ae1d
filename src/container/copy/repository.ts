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
import { startGit, type WorkingGit } from '../../workspace/git';
import { ownGitFolders } from '../../workspace/git-folder';

/** A repository of which a copy can be made. */
export class Repository {
  private constructor(
    /** Root of its work tree, without links. */
    readonly root: string,
    private readonly host: Host,
    /** Where its branches and objects are. */
    private readonly folder: string,
    private readonly config: readonly string[],
    private readonly env: Readonly<Record<string, string>> = {},
  ) {}

  /** Rejects with `CaiError('WORKSPACE')` for a folder that is no root of a work tree, or one that cannot be copied. */
  static async at(root: string, host: Host): Promise<Repository> {
    const dotGit = posix.join(root, '.git');
    if (!(await isThere(dotGit)))
      throw refusal(
        root,
        'is in no folder that pods can mount, and only the root of a git repository can be copied for them: run "git init" there, or name the folder and its volume in [[kubernetes.volumes]] of your config.toml',
      );
    const { common: folder } = await ownGitFolders(root, host, 'cannot be copied');
    const found = new Repository(root, host, folder, []);
    // Git itself reads what links in its folder lead to.
    await found.checkOwn();
    return new Repository(root, host, folder, await found.#withoutFilters());
  }

  /** Rejects with `CaiError('WORKSPACE')` where branches or objects may be those of another repository. */
  async checkOwn(): Promise<void> {
    const stray = await strayIn(this.folder);
    if (stray === undefined) return;
    const remedy = stray.endsWith('alternates')
      ? 'run "git repack -a -d" and remove that file'
      : 'put the file or folder itself there';
    throw refusal(this.root, `cannot be copied, because ${quoted(stray)} leads elsewhere: ${remedy}`);
  }

  start(args: readonly string[]): WorkingGit {
    return startGit(['-C', this.root, ...args], { host: this.host, config: this.config, env: this.env });
  }

  /** The same, for objects that a stranger has made: git takes no more memory for one of them than that. */
  guarded(): Repository {
    const config = [...this.config, 'core.bigFileThreshold=16m'];
    return new Repository(this.root, this.host, this.folder, config, { GIT_ALLOC_LIMIT: '256m' });
  }

  /** What git prints on that input, a character for each byte. Rejects as `WorkingGit.ended`. */
  async ask(args: readonly string[], input: string | Readable = ''): Promise<string> {
    const git = this.start(args);
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
    const file = posix.join(this.folder, 'shallow');
    let content: Buffer | undefined;
    try {
      content = readRegularFile(file, maxShallowBytes, this.folder);
    } catch (reason) {
      throw refusal(this.root, `cannot be copied: ${messageOf(reason)}`);
    }
    if (content === undefined) return Buffer.alloc(0);
    if (!/^(?:(?:[\da-f]{40}|[\da-f]{64})\n)*$/.test(content.toString('latin1')))
      throw refusal(this.root, `cannot be copied, because ${quoted(file)} holds something else than commits`);
    return content;
  }

  /** To compare a file with its content in the index, git would run these. */
  async #withoutFilters(): Promise<string[]> {
    const keys = await this.attempt(['config', '--name-only', '--get-regexp', '^filter\\.']);
    const names = new Set(
      keys
        .split('\n')
        .filter(Boolean)
        .map((key) => key.replace(/\.[^.]*$/, '')),
    );
    const strange = [...names].find((name) => name.includes('='));
    if (strange !== undefined)
      throw refusal(
        this.root,
        `cannot be copied: git is configured with ${quoted(strange)}, which cannot be turned off`,
      );
    return [...names].flatMap((name) => [`${name}.clean=`, `${name}.process=`, `${name}.required=false`]);
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
