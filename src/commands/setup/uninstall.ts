/** `cai uninstall`: removes what cai has made for this user, and says how the program itself goes. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf } from '../../errors';
import type { Host } from '../../system/host';
import { removeTree } from '../../system/files/remove-tree';
import { isInside } from '../../system/paths/is-inside';
import { commandWord, quoted } from '../../system/quoted';
import { realOrSame } from '../../system/real-path';
import { recordFile } from '../../workspace/records';
import { asideFolders } from '../../workspace/review/put-back';
import { removeWorktree, worktreesOf, type Worktree } from '../../workspace/worktrees/worktrees';
import { imagesIn, leftoversIn, removeAll, type Removable } from '../containers/leftovers';
import { connectEngine } from '../containers/selection';
import { common, declare } from '../support/command';
import { knownSessions } from '../support/known-sessions';
import { confirm, table, tell, writeJson } from '../support/terminal';
import { whyNeeded } from '../workspace/worktree';
import { editors } from './editors';
import { keptBeside, objectInFile, unsetInFile } from './settings-file';
import { isOurs } from './setup';
import { packageFolder, wayOf } from './update';

interface Options {
  readonly yes?: true;
  readonly dryRun?: true;
  readonly json?: true;
  readonly context?: string;
}

/** Resolves with 0 when nothing of it is there any more, with 1 if some of it stays or nobody wants to remove it. */
export const run = declare<Options>({
  name: 'uninstall',
  description: `Removes what cai has made for you: containers, the agents' data, images that no container has then, worktrees,
    what it remembers, and its entries in editors. It shows them and asks before. Your configuration stays, and so do
    worktrees with changes that are not committed, and files that "cai review --restore" has moved aside.`,
  options: [
    ['-n, --dry-run', 'only show them'],
    ['-y, --yes', 'remove them without asking'],
    ['--json', 'show them as JSON'],
    common.context,
  ],
  footer: `
JSON: a list, of each the kind ("container", "volume", "worktree", "entry" or "folder") and the name.`,
  action: uninstall,
});

async function uninstall({ yes, dryRun, json, context }: Options, host: Host): Promise<number> {
  const engine = await connectEngine(host, context).catch((reason: unknown) => {
    tell(`containers, data and images stay: ${messageOf(reason)}`);
    return undefined;
  });
  const parts = [
    ...(engine === undefined ? [] : await leftoversIn(engine, host.user.uid, undefined, everything)),
    ...(await worktreesIn(host)),
    ...entriesOf(host),
    ...foldersOf(host),
  ];
  for (const { folder, root = 'a workspace' } of asideFolders(host.folders.state))
    tell(
      `${folder} stays: "cai review --restore" has moved files of ${root} there; if you need none of them: rm -r ${commandWord(folder)}`,
    );
  if (json === true) writeJson(parts.map(({ kind, name }) => ({ kind, name })));
  else if (parts.length > 0)
    process.stdout.write(table([['KIND', 'NAME'], ...parts.map(({ kind, name }) => [kind, name])], ['NAME']));
  else tell('nothing to remove');
  if (dryRun === true) return 0;
  const otherwise = 'Use --yes to remove these, or --dry-run to see them.';
  if (
    parts.length > 0 &&
    yes !== true &&
    !(await confirm('Remove these, and end what runs in them?', otherwise))
  )
    return 1;
  const gone = await removeAll(parts);
  // Images that other users' containers have stay.
  const which = { withAgents: true, isGone: () => true };
  const images = engine === undefined ? [] : imagesIn(engine, await engine.diskUse?.(), which);
  const goneImages = await removeAll(images);
  for (const kept of Object.values(editors).flatMap(({ files }) => files(host).flatMap(keptBeside)))
    tell(`${kept} stays: it is what was there before "cai setup", and the settings have changed since`);
  tell(`${host.folders.config} is yours and stays; to remove the program, ${removalOf(packageFolder())}`);
  const isDone = gone.length === parts.length && goneImages.length === images.length;
  return engine !== undefined && isDone ? 0 : 1;
}

const everything = { why: () => '', endsRunning: true };

/** The worktrees with which nothing is lost; why others stay is told. */
async function worktreesIn(host: Host): Promise<Removable[]> {
  const parts: Removable[] = [];
  for (const worktree of worktreesOf(host.folders.state)) {
    const { folder, repository, branch } = worktree;
    const name = `${folder} (${branch} of ${repository})`;
    const why = await whyItStays(worktree, host);
    if (why !== undefined) tell(`the worktree ${name} stays: ${why}`);
    else parts.push({ kind: 'worktree', name, remove: () => remove(worktree, host) });
  }
  return parts;
}

/** Looks once more: its agent may have worked meanwhile. */
async function remove(worktree: Worktree, host: Host): Promise<void> {
  const why = await whyItStays(worktree, host);
  if (why !== undefined) throw new Error(why);
  if (await removeWorktree(worktree, host)) return;
  tell(`the branch ${worktree.branch} of ${quoted(worktree.repository)} stays: it has commits of its own`);
}

/** With what to do; `undefined`: nothing is lost with it. */
async function whyItStays(worktree: Worktree, host: Host): Promise<string | undefined> {
  const { folder, repository, branch } = worktree;
  try {
    const why = await whyNeeded(worktree, knownSessions(host), host);
    const rest = `-w ${commandWord(repository)} ${branch}`;
    return (
      why &&
      `${why}; to keep its work: cai worktree merge ${rest}; to lose it: cai worktree rm --force ${rest}`
    );
  } catch (reason) {
    return `${messageOf(reason)}; look at it, and remove it by: rm -r ${commandWord(folder)}`;
  }
}

function entriesOf(host: Host): Removable[] {
  return Object.values(editors).flatMap(({ path, files }) =>
    files(host).flatMap((file) => {
      const entries = Object.entries(objectInFile(file, path)).filter(([name, entry]) =>
        isOurs(name, entry, host),
      );
      return entries.map(([name]) => ({
        kind: 'entry',
        name: `${name} in ${file}`,
        remove: () => void unsetInFile(file, [...path, name], host),
      }));
    }),
  );
}

function foldersOf(host: Host): Removable[] {
  const { state, runtime } = host.folders;
  const all = [state, runtime, join(host.baseFolder('XDG_CACHE_HOME', '.cache'), 'containai')];
  return all
    .filter((folder) => folder !== undefined && existsSync(folder))
    .map((folder) => ({ kind: 'folder', name: folder!, remove: () => removeFolder(folder!, host) }));
}

/** Fails if worktrees, or files that were moved aside, are still there: these, and records of them, stay. */
async function removeFolder(folder: string, host: Host): Promise<void> {
  const { state } = host.folders;
  const worktrees = worktreesOf(state).map((worktree) => worktree.folder);
  const kept = [
    ...worktrees.flatMap((each) => [
      each,
      recordFile(state, 'worktrees', each),
      recordFile(state, 'git-folders', each),
    ]),
    ...asideFolders(state).map(({ folder: aside }) => dirname(aside)),
  ].map(realOrSame);
  const real = realOrSame(folder);
  if (kept.some((each) => isInside(each, real))) {
    await removeBut(real, kept, host);
    throw new Error('it has what was said to stay; all else in it is gone');
  }
  // Of a link, "rm" would leave what it leads to.
  await removeTree(real, host);
  if (real !== folder) await removeTree(folder, host);
}

/** Removes what is in a folder, but for some paths below it; all are real paths. */
async function removeBut(folder: string, kept: readonly string[], host: Host): Promise<void> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (kept.includes(path)) continue;
    if (kept.some((each) => isInside(each, path))) await removeBut(path, kept, host);
    else await removeTree(path, host);
  }
}

/** What a person does to remove the program, half a sentence. `folder`: as `wayOf` has it. */
export function removalOf(folder: string | undefined, program = process.execPath): string {
  const way = wayOf(folder, program);
  if ('prefix' in way) return `run: npm uninstall --global --prefix ${way.prefix} containai`;
  if (folder === undefined)
    return program === '/usr/bin/cai' ? 'run: apt remove containai' : `remove ${program}`;
  if (folder.includes('/Cellar/')) return 'run: brew uninstall containai';
  return `remove ${folder} and what leads to it`;
}
