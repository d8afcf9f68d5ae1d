/**
 * Git, run on this machine in a work tree in which agents write: it checks files out, compares, merges and copies them,
 * and runs no program for that but what the user's configuration names, and no filter: the user's may take orders from
 * files of the repository, as Git LFS does. So files stay as the repository has them.
 */
import { readdir, writeFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { makeFolder } from '../system/files/make-folder';
import type { Host } from '../system/host';
import { CaiError } from '../errors';
import { quoted } from '../system/quoted';
import { wholeOf } from '../system/streams/at-most';
import { answerMs, askGit, gitFolderIn, isLate, lateGit, startGit, type WorkingGit } from './git';
import { ownGitFolders } from './git-folder';
import { snapshotOf } from './git-snapshot';

/**
 * What names a program, or makes git run one, and what makes it an error that one is missing. Source: git-config(1) of
 * git 2.54.
 */
const programKeys =
  /^(?:merge\..*\.driver|diff\.(?:.*\.)?(?:external|command|textconv)|branch\..*\.mergeoptions|gpg\.(?:.*\.)?(?:program|defaultkeycommand)|core\.(?:editor|pager|askpass|sshcommand|gitproxy|alternaterefscommand)|credential\.(?:.*\.)?helper|hook\..*\.(?:command|event)|gc\.recentobjectshook)$/s;

const filterKeys = /^filter\..*\.(?:clean|smudge|process|required)$/s;

/** Nothing in the background, in other repositories, or in an editor; no path that begins at our snapshot. */
const settings = [
  'worktree.useRelativePaths=false',
  'submodule.recurse=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'core.editor=true',
];

/** How long git may take to look at something, in milliseconds: what it reads may be a pipe. */
export const lookMs = 60_000;
/** How long it may take to write the files of a work tree, in milliseconds. */
export const writeMs = 10 * 60_000;

/** What git may print, in bytes: agents can make any number of files. */
const maxPrintedBytes = 64 * 1024 * 1024;

type HostGitOptions = Pick<Parameters<typeof startGit>[1], 'config' | 'env' | 'limitMs'>;

export class HostGit {
  private constructor(
    /** The top of the work tree, a real path. */
    readonly root: string,
    /** What all work trees of the repository share. */
    readonly common: string,
    /** What git is told instead: that with the configuration that was looked at. */
    private readonly snapshot: string,
    private readonly place: readonly string[],
    private readonly host: Host,
    private readonly config: readonly string[],
    private readonly limitMs: number,
  ) {}

  /** `limitMs`: how long each look may take. Rejects with `CaiError('WORKSPACE')` where git cannot be run safely. */
  static async at(root: string, host: Host, limitMs = lookMs): Promise<HostGit> {
    // Git opens no repository of another user, but would not look once it is told where to go.
    if (!(await isWorkTree(root, host, limitMs)))
      throw new CaiError('WORKSPACE', `${quoted(root)} is not the top of a git repository that git opens`);
    const { gitFolder, common } = await ownGitFolders(root, host, 'has a git repository that cannot be used');
    await checkLinks(root, gitFolder);
    const place = ['-C', root, `--git-dir=${gitFolder}`, `--work-tree=${root}`];
    const snapshot = snapshotOf(common, host);
    const plain = new HostGit(root, common, snapshot, place, host, [], limitMs);
    const overrides = overridesOf(root, await plain.ask(['config', '--list', '--show-scope', '-z']));
    return new HostGit(root, common, snapshot, place, host, [...settings, ...overrides], limitMs);
  }

  /** As `startGit`; `config` and `env` come besides what keeps git safe here. */
  start(args: readonly string[], { config = [], env = {}, limitMs }: HostGitOptions = {}): WorkingGit {
    const { host, place, snapshot } = this;
    const options = { host, config: [...this.config, ...config], env: { ...env, GIT_COMMON_DIR: snapshot } };
    return startGit([...place, ...args], { ...options, ...(limitMs !== undefined && { limitMs }) });
  }

  /** Adds a worktree at `folder`; `from`: what `git worktree add` is told besides. Rejects as `ask`. */
  async addWorktree(folder: string, from: readonly string[]): Promise<void> {
    const worktrees = posix.join(this.common, 'worktrees');
    // In the snapshot it would be a link to nothing.
    makeFolder(worktrees, 0o777);
    await this.ask(['worktree', 'add', '--quiet', folder, ...from], writeMs);
    // Git has written down that it lies in the snapshot.
    const dotGit = posix.join(folder, '.git');
    await writeFile(dotGit, `gitdir: ${posix.join(worktrees, posix.basename(gitFolderIn(dotGit)!))}\n`);
  }

  /** What git prints, without the last newline; `limitMs`: how long it may take. Rejects with `CaiError('WORKSPACE')` and what git complained of. */
  async ask(args: readonly string[], limitMs = this.limitMs): Promise<string> {
    const { stdout, failure } = await this.run(args, limitMs);
    if (failure !== undefined) throw failure;
    return stdout.replace(/\n$/, '');
  }

  /** What git prints, and why it failed, if it did. Rejects with `CaiError('WORKSPACE')` if it prints too much. */
  async run(
    args: readonly string[],
    limitMs = this.limitMs,
  ): Promise<{ readonly stdout: string; readonly failure?: CaiError }> {
    const git = this.start(args, { limitMs });
    git.stdin.end();
    const tooMuch = (): CaiError =>
      new CaiError(
        'WORKSPACE',
        `git prints more than ${maxPrintedBytes / 2 ** 20} MiB about ${quoted(this.root)}: look at its files yourself`,
      );
    const stdout = String(await wholeOf(git.stdout, maxPrintedBytes, tooMuch));
    const failure = await git.ended.then(
      () => undefined,
      (reason: unknown) => reason as CaiError,
    );
    return { stdout, ...(failure !== undefined && { failure }) };
  }
}

/**
 * Whether a folder (a real path) is the top of a work tree of git, by what git says. Rejects with `CaiError('WORKSPACE')`
 * where that takes longer than `limitMs`.
 */
export async function isWorkTree(root: string, host: Host, limitMs = answerMs): Promise<boolean> {
  const asking = askGit(['-C', root, 'rev-parse', '--show-toplevel'], { host, limitMs });
  const top = await asking.catch((reason: unknown) => {
    if (isLate(reason)) throw lateGit(root, limitMs);
    return '';
  });
  return top === `${root}\n`;
}

/** In a git folder: what some tools make links of. Git writes no content that others choose there, or replaces a link. */
const linkable = [
  ...['HEAD', 'config', 'hooks', 'info', 'lfs', 'logs', 'modules', 'objects'],
  ...['packed-refs', 'refs', 'rr-cache', 'svn'],
];

/** Git writes files such as `index` and `MERGE_MSG` where a link in their place leads. */
async function checkLinks(root: string, gitFolder: string): Promise<void> {
  const entries = await readdir(gitFolder, { withFileTypes: true });
  const link = entries.find((entry) => entry.isSymbolicLink() && !linkable.includes(entry.name));
  if (link === undefined) return;
  throw new CaiError(
    'WORKSPACE',
    `git cannot be run safely in ${quoted(root)}, because ${quoted(posix.join(gitFolder, link.name))} is a link, and git would write where it leads: remove it`,
  );
}

/**
 * What the repository sets of such keys, set to what the user's own configuration says, or to nothing; all filters, set to
 * nothing.
 */
function overridesOf(root: string, listed: string): string[] {
  const own = new Map<string, string>();
  const inRepository = new Set<string>();
  const filters = new Set<string>();
  const parts = listed.split('\0');
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, key, value = ''] = /^([^\n]*)\n?(.*)/s.exec(parts[at + 1]!)!;
    if (key === undefined) continue;
    if (filterKeys.test(key)) filters.add(key);
    else if (['system', 'global'].includes(parts[at]!)) own.set(key, value);
    else if (programKeys.test(key)) inRepository.add(key);
    // An agent can write the file of its worktree that would count then, at any time.
    else if (key === 'extensions.worktreeconfig' && value !== 'false')
      throw refusal(root, key, 'lets worktrees have configurations');
    else if (/^core\.protect(?:hfs|ntfs)$/.test(key) && value !== 'true')
      throw refusal(root, key, 'lets files be put into git folders');
    // An agent may be able to write that file, also between two looks.
    else if (/^include(?:if\..*)?\.path$/s.test(key)) throw refusal(root, key, 'includes another file');
  }
  // Up to the first "=", git takes a setting for its key.
  const strange = [...filters, ...inRepository].find((key) => key.includes('='));
  if (strange !== undefined) throw refusal(root, strange, 'names a program');
  const programs = [...inRepository].map((key) => {
    // An empty driver would keep one side and say nothing; one that fails leaves a conflict.
    return `${key}=${own.get(key) ?? (key.endsWith('.driver') ? 'false' : '')}`;
  });
  return [...programs, ...[...filters].map((key) => `${key}=${key.endsWith('.required') ? 'false' : ''}`)];
}

function refusal(root: string, key: string, what: string): CaiError {
  return new CaiError(
    'WORKSPACE',
    `git cannot be run safely in ${quoted(root)}, because its own configuration ${what} (${quoted(key)}): put that into your own configuration of git, or take it out`,
  );
}
