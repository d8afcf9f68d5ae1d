/** `cai uninstall`: removes what cai has made for this user, and says how the program itself goes. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../errors';
import type { Host } from '../../system/host';
import { imagesIn, leftoversIn, removeAll, type Removable } from '../containers/leftovers';
import { connectEngine } from '../containers/selection';
import { common, declare } from '../support/command';
import { confirm, table, tell } from '../support/terminal';
import { editors } from './editors';
import { objectInFile, unsetInFile } from './settings-file';
import { isOurs } from './setup';
import { packageFolder, wayOf } from './update';

interface Options {
  readonly yes?: true;
  readonly dryRun?: true;
  readonly context?: string;
}

/** Resolves with 0 when nothing of it is there any more, with 1 if some of it stays or nobody wants to remove it. */
export const run = declare<Options>({
  name: 'uninstall',
  description: `Removes what cai has made for you: containers, the agents' data, images that no container has then, what it
    remembers, and its entries in editors. It shows them and asks before. Your configuration stays.`,
  options: [['-n, --dry-run', 'only show them'], ['-y, --yes', 'remove them without asking'], common.context],
  action: uninstall,
});

async function uninstall({ yes, dryRun, context }: Options, host: Host): Promise<number> {
  const engine = await connectEngine(host, context).catch((reason: unknown) => {
    tell(`containers, data and images stay: ${messageOf(reason)}`);
    return undefined;
  });
  const parts = [
    ...(engine === undefined ? [] : await leftoversIn(engine, host.user.uid, undefined, everything)),
    ...entriesOf(host),
    ...foldersOf(host),
  ];
  if (parts.length > 0)
    process.stdout.write(table([['KIND', 'NAME'], ...parts.map(({ kind, name }) => [kind, name])]));
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
  tell(`${host.folders.config} is yours and stays; to remove the program, ${removalOf(packageFolder())}`);
  const isDone = gone.length === parts.length && goneImages.length === images.length;
  return engine !== undefined && isDone ? 0 : 1;
}

const everything = { why: () => '', endsRunning: true };

/** What `cai setup` has written; the last first, so that each file is again what it was. */
function entriesOf(host: Host): Removable[] {
  return Object.values(editors).flatMap(({ path, files }) =>
    files(host).flatMap((file) => {
      const entries = Object.entries(objectInFile(file, path)).filter(([name, entry]) =>
        isOurs(name, entry, host),
      );
      return entries.reverse().map(([name]) => ({
        kind: 'entry',
        name: `${name} in ${file}`,
        remove: () => void unsetInFile(file, [...path, name]),
      }));
    }),
  );
}

function foldersOf(host: Host): Removable[] {
  const { state, runtime } = host.folders;
  const all = [state, runtime, join(host.baseFolder('XDG_CACHE_HOME', '.cache'), 'containai')];
  return all
    .filter((folder) => folder !== undefined && existsSync(folder))
    .map((folder) => ({ kind: 'folder', name: folder!, remove: () => rmSync(folder!, { recursive: true }) }));
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
