/** `cai uninstall`: removes what cai has made for this user, and says how the program itself goes. */
import { existsSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isSea } from 'node:sea';
import { unusedImages } from '../../container/image/unused-images';
import { removeWithServices } from '../../container/services';
import { orphanedServices, ownContainers, ownVolumes } from '../../container/user-containers';
import type { Engine } from '../../container/engine/engine';
import { messageOf } from '../../errors';
import type { Host } from '../../system/host';
import { packageFile } from '../../system/files/package-file';
import { removeEach, type Part } from '../containers/end-containers';
import { connectEngine } from '../containers/selection';
import { common, declare } from '../support/command';
import { confirm, table, tell } from '../support/terminal';
import { editors } from './editors';
import { namesInFile, unsetInFile } from './settings-file';
import { wayOf } from './update';

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
    ...(engine === undefined ? [] : await partsOf(engine, host)),
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
  const gone = await removeEach(parts);
  // Only now is it known which images no container has.
  const images = engine === undefined ? [] : await imagesOf(engine);
  gone.push(...(await removeEach(images)));
  tell(`${host.folders.config} is yours and stays; to remove the program, ${removalOf(packageFolder())}`);
  return engine !== undefined && gone.length === parts.length + images.length ? 0 : 1;
}

async function partsOf(engine: Engine, { user }: Host): Promise<Part[]> {
  const [containers, volumes] = await Promise.all([
    ownContainers(engine, user.uid),
    ownVolumes(engine, user.uid),
  ]);
  const orphans = await orphanedServices(engine, user.uid, containers);
  return [
    ...containers.map((container) => ({
      kind: 'container',
      name: container.name,
      remove: () => removeWithServices(engine, container),
    })),
    ...orphans.map(({ id, name }) => ({ kind: 'container', name, remove: () => engine.removeContainer(id) })),
    ...volumes.map(({ name }) => ({ kind: 'volume', name, remove: () => engine.removeVolume(name) })),
  ];
}

/** What `cai setup` has written, known by the end of its names; the last first, so that each file is again what it was. */
function entriesOf(host: Host): Part[] {
  return Object.values(editors).flatMap((editor) => {
    const file = editor.file(host);
    const names = namesInFile(file, editor.path).filter((name) => name.endsWith(' (cai)'));
    return names.reverse().map((name) => ({
      kind: 'entry',
      name: `${name} in ${file}`,
      remove: () => void unsetInFile(file, [...editor.path, name]),
    }));
  });
}

function foldersOf({ folders, env, home }: Host): Part[] {
  const cache = env.XDG_CACHE_HOME?.startsWith('/') === true ? env.XDG_CACHE_HOME : join(home, '.cache');
  const all = [folders.state, folders.data, folders.runtime, join(cache, 'containai')];
  return all
    .filter((folder) => folder !== undefined && existsSync(folder))
    .map((folder) => ({ kind: 'folder', name: folder!, remove: () => rmSync(folder!, { recursive: true }) }));
}

/** Images that other users' containers have stay. */
async function imagesOf(engine: Engine): Promise<Part[]> {
  const use = await engine.diskUse?.();
  const unused = unusedImages(use?.images ?? [], { withAgents: true, isGone: () => true });
  const names = unused.flatMap(({ image: { id, tags } }) => (tags.length === 0 ? [id] : tags));
  return names.map((name) => ({ kind: 'image', name, remove: () => engine.images.remove(name) }));
}

const packageFolder = (): string | undefined => (isSea() ? undefined : realpathSync(packageFile('.')));

/** What a person does to remove the program, half a sentence. `folder`: as `wayOf` has it. */
export function removalOf(folder: string | undefined, program = process.execPath): string {
  const way = wayOf(folder, program);
  if ('prefix' in way) return `run: npm uninstall --global --prefix ${way.prefix} containai`;
  if (folder === undefined)
    return program === '/usr/bin/cai' ? 'run: apt remove containai' : `remove ${program}`;
  if (folder.includes('/Cellar/')) return 'run: brew uninstall containai';
  return `remove ${folder} and what leads to it`;
}
