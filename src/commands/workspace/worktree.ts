/** `cai worktree`: worktrees of a repository with a branch each, in which agents work beside each other. */
import { resolve } from 'node:path';
import { loadConfig } from '../../config/config';
import { ownValue } from '../../config/own-property';
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { printableLine, quoted } from '../../system/quoted';
import { findWorkspace } from '../../workspace/root';
import { HostGit } from '../../workspace/host-git';
import { mergeWorktree } from '../../workspace/worktrees/merge';
import {
  changesIn,
  forgetWorktree,
  makeWorktree,
  removeWorktree,
  tipOf,
  worktreeAt,
  worktreesOf,
  type Worktree,
} from '../../workspace/worktrees/worktrees';
import { common, declare, unknownWord } from '../support/command';
import { knownSessions, type KnownSession } from '../support/known-sessions';
import { shortened, table, tell, writeJson } from '../support/terminal';

interface Options {
  readonly workspace?: string;
  readonly force?: true;
  readonly json?: true;
}

interface Scene {
  readonly host: Host;
  readonly options: Options;
  /** The top of the repository's work tree. */
  readonly repository: string;
  readonly names: readonly string[];
}

/** What can be said after `cai worktree`; each resolves with the exit status. */
const words: Readonly<Record<string, (scene: Scene) => Promise<number>>> = { list, new: make, merge, rm };

/** How much of a title is shown, in characters. */
const titleLength = 32;

/** Of files to look at, so many are named. */
const maxFiles = 20;

export const run = declare<Options>({
  name: 'worktree',
  description: `Lists the worktrees of a repository that cai has made: each has a branch and a folder, in which sessions work
apart from others. With worktrees.per_session = true in your configuration, each new session gets one.`,
  arguments: [
    ['[word]', '"list" (default), "new", "merge" or "rm"', Object.keys(words)],
    ['[name...]', 'for new: of the branch, "cai/" before it; for merge and rm: branches'],
  ],
  options: [
    common.workspace,
    [
      '-f, --force',
      'for rm: also with changes that are not committed, commits in no branch, or an open session',
    ],
    ['--json', 'list as JSON'],
  ],
  footer: `
new    makes a worktree at the commit that is checked out, and prints its folder: open that in an editor
merge  merges the branch into the branch that is checked out; no hook runs
rm     removes the folder; the branch stays if it has commits that were not merged

JSON of list: an array of objects: branch, folder, repository, isOfSession, isUncommitted, commits (how many the
repository lacks), sessions: each with id, title, agent and isLive.`,
  action: async (options, host, [word = 'list', ...names]) => {
    const act = ownValue(words, word);
    if (act === undefined) throw unknownWord('worktree', word, Object.keys(words));
    if (word === 'list' && names.length > 0)
      throw new CaiError(
        'USAGE',
        `"cai worktree list" takes no name: leave out ${names.map(quoted).join(' ')}`,
      );
    if (word !== 'list' && options.json === true)
      throw new CaiError('USAGE', `--json is for list: leave it out of "cai worktree ${word}"`);
    if (word !== 'rm' && options.force === true)
      throw new CaiError('USAGE', `--force is for rm: leave it out of "cai worktree ${word}"`);
    const { root } = await findWorkspace(resolve(options.workspace ?? '.'), { host });
    const repository = worktreeAt(host.folders.state, root)?.repository ?? root;
    return await act({ host, options, repository, names });
  },
});

async function list({ host, options, repository }: Scene): Promise<number> {
  const worktrees = worktreesOf(host.folders.state, repository);
  const records = worktrees.length === 0 ? [] : knownSessions(host);
  const all = await Promise.all(worktrees.map(async (each) => ({ ...each, ...(await stateOf(each, host)) })));
  const shown = all.map((each) => ({ ...each, sessions: sessionsIn(each.folder, records) }));
  if (options.json === true) {
    const objects = shown.map(({ branch, folder, isOfSession, isUncommitted, commits, sessions }) => {
      return { branch, folder, repository, isOfSession, isUncommitted, commits, sessions };
    });
    writeJson(objects);
    return 0;
  }
  const rows = shown.map(({ branch, folder, isUncommitted, commits, fault, sessions }) => {
    const titles = sessions.map(({ id, title, isLive }) => {
      const name = shortened(printableLine(title ?? '') || id, titleLength);
      return isLive ? `${name} (open)` : name;
    });
    const count = commits === 1 ? '1 commit' : `${commits} commits`;
    const states = [isUncommitted === true && 'not committed', (commits ?? 0) > 0 && count].filter(Boolean);
    return [branch, folder, titles.join(', ') || '-', fault ?? (states.join(', ') || 'no changes')];
  });
  if (rows.length > 0)
    process.stdout.write(table([['BRANCH', 'FOLDER', 'SESSION', 'STATE'], ...rows], ['FOLDER', 'SESSION']));
  else tell(`no worktrees of ${quoted(repository)}: "cai worktree new NAME" makes one`);
  return 0;
}

/** What is in a worktree that the repository lacks. One that git cannot look at must not hide the others. */
async function stateOf(worktree: Worktree, host: Host) {
  try {
    const git = await HostGit.at(worktree.repository, host);
    const { isUncommitted } = await changesIn(worktree, host);
    const tip = await tipOf(git, worktree.branch);
    const commits =
      tip === undefined ? 0 : Number(await git.ask(['rev-list', '--count', tip, '--not', 'HEAD']));
    return { isUncommitted, commits };
  } catch (reason) {
    if (!(reason instanceof CaiError)) throw reason;
    tell(`${worktree.branch}: ${reason.message}`);
    return { isUncommitted: null, commits: null, fault: 'cannot be looked at' };
  }
}

async function make({ host, repository, names }: Scene): Promise<number> {
  const [name] = names;
  if (names.length > 1) throw new CaiError('USAGE', 'name one branch, such as: cai worktree new fix-login');
  if (name !== undefined && !/^[A-Za-z\d_](?:[\w-]|\.(?!\.|lock$|$)){0,99}$/.test(name))
    throw new CaiError(
      'USAGE',
      `${quoted(name)} cannot name a branch and a folder: use letters, digits and "-"`,
    );
  const wish = { isOfSession: false, ...(name !== undefined && { name }) };
  const { folder, branch } = await makeWorktree(repository, wish, loadConfig(host).worktrees, host);
  process.stdout.write(`${printableLine(folder)}\n`);
  tell(`branch ${branch}: open the folder in your editor, and later run: cai worktree merge ${branch}`);
  return 0;
}

async function merge(scene: Scene): Promise<number> {
  const patterns = loadConfig(scene.host).protect.paths;
  for (const worktree of named(scene)) {
    const { branch } = worktree;
    const { into, isNews, toReview } = await mergeWorktree(worktree, patterns, scene.host);
    const what = isNews ? `${branch} is merged into ${into}` : `${into} has all of ${branch} already`;
    process.stdout.write(`${printableLine(what)}; to remove it: cai worktree rm ${branch}\n`);
    if (toReview.length > 0)
      tell(
        `it brings files that programs on this machine run or take commands from, so look at them first: ${toReview.slice(0, maxFiles).map(quoted).join(', ')}${toReview.length > maxFiles ? ` and ${toReview.length - maxFiles} more` : ''}`,
      );
  }
  return 0;
}

async function rm(scene: Scene): Promise<number> {
  const { host, options } = scene;
  const worktrees = named(scene);
  if (options.force !== true) {
    const records = knownSessions(host);
    // All are looked at before one is removed.
    for (const worktree of worktrees) await checkUnused(worktree, records, host);
  }
  for (const worktree of worktrees) {
    const { branch, folder } = worktree;
    const isBranchGone = await removeWorktree(worktree, host);
    if (isBranchGone && !worktree.isOfSession) forgetWorktree(host.folders.state, worktree);
    const rest = isBranchGone
      ? `and its branch ${branch}`
      : `but its branch stays, as it has commits that are not merged: git branch -D ${branch} removes it`;
    process.stdout.write(`Removed ${quoted(folder)}, ${rest}\n`);
  }
  return 0;
}

async function checkUnused(worktree: Worktree, records: readonly KnownSession[], host: Host): Promise<void> {
  const { branch, folder } = worktree;
  const what = await whyNeeded(worktree, records, host);
  if (what !== undefined)
    throw new CaiError(
      'WORKSPACE',
      `${branch} is not removed, because ${what}: look at ${quoted(folder)}, or use --force`,
    );
}

/** Why a worktree is not to be removed; `undefined`: what is lost with it are files that git ignores. Rejects as `changesIn`. */
export async function whyNeeded(
  worktree: Worktree,
  records: readonly KnownSession[],
  host: Host,
): Promise<string | undefined> {
  if (sessionsIn(worktree.folder, records).some(({ isLive }) => isLive)) return 'a session is open in it';
  const { isUncommitted, isStray } = await changesIn(worktree, host);
  if (isUncommitted) return 'it has changes that are not committed';
  return isStray ? 'it has commits that are in no branch' : undefined;
}

/** The worktrees that the user names, by their branches or folders. */
function named({ host, repository, names }: Scene): Worktree[] {
  const all = worktreesOf(host.folders.state, repository);
  if (names.length === 0)
    throw new CaiError('USAGE', 'name a worktree by its branch: "cai worktree list" shows them');
  return names.map((name) => {
    const found = all.find(({ branch, folder }) =>
      [branch, branch.slice('cai/'.length), folder].includes(name),
    );
    if (found !== undefined) return found;
    const what = `${quoted(repository)} has no worktree ${quoted(name)}`;
    throw new CaiError('USAGE', `${what}: "cai worktree list" shows all that cai has made`);
  });
}

function sessionsIn(folder: string, records: readonly KnownSession[]) {
  return records
    .filter(({ root }) => root === folder)
    .map(({ id, title = null, agent, isLive }) => ({ id, title, agent, isLive }));
}
