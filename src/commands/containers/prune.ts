/** `cai prune`: removes containers, volumes and images that are not used any more. */
import { lstatSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Option } from 'commander';
import type { Host } from '../../system/host';
import type { Engine } from '../../container/engine/engine';
import { duration } from '../../config/config-kinds';
import { CaiError } from '../../errors';
import { quoted } from '../../system/quoted';
import { isMissing } from '../../system/unless';
import { leftBuildFolders } from '../../workspace/devcontainer/cli';
import { recordedUse } from '../../workspace/records';
import { common, declare } from '../support/command';
import { bytesText, confirm, table, tell, writeJson } from '../support/terminal';
import { imagesIn, leftoversIn, removeAll } from './leftovers';
import { connectEngine } from './selection';

interface Options {
  readonly all?: true;
  readonly yes?: true;
  readonly dryRun?: true;
  readonly json?: true;
  /** In milliseconds. */
  readonly unused?: number;
  readonly context?: string;
}

const dayMs = 24 * 60 * 60 * 1_000;

/** Resolves with 0 when nothing of it is there any more, or nobody wants to remove it; with 1 if some of it stays. */
export const run = declare<Options>({
  name: 'prune',
  description: `Removes what is not used any more: containers and volumes of workspaces whose folder is gone, images that
newer ones have replaced, and what builds have left. It shows them and asks before.`,
  options: [
    [
      '-a, --all',
      'also the images of agents that no container has: they are built again when they are needed',
    ],
    new Option(
      '--unused <duration>',
      'also volumes, and containers that do not run, of workspaces in which you have run nothing for so long, such as 90d',
    ).argParser(parseDuration),
    ['-n, --dry-run', 'only show them'],
    ['-y, --yes', 'remove them without asking'],
    ['--json', 'show them as JSON'],
    common.context,
  ],
  footer: `
A workspace on a disk that is not mounted looks as if it were gone: check the list, or its agents' data goes, too.

JSON: a list, of each the kind ("container", "volume", "image" or "folder"), name, bytes (null: not known) and why.`,
  action: prune,
});

function parseDuration(text: string): number {
  const ms = duration().read(text);
  if (ms !== undefined && ms >= dayMs) return ms;
  throw new CaiError('USAGE', `--unused: ${quoted(text)} is not a duration of at least a day, such as 90d`);
}

async function prune(options: Options, host: Host): Promise<number> {
  const { yes, dryRun, json, context } = options;
  const engine = await connectEngine(host, context);
  const { isGone, why } = wishOf(engine, host, options);
  const use = await engine.diskUse?.();
  const leftovers = [
    ...(await leftoversIn(engine, host.user.uid, use, { why, endsRunning: false })),
    ...imagesIn(engine, use, { withAgents: options.all === true, isGone }),
    ...leftBuildFolders(host.user.uid).map((name) => ({
      kind: 'folder',
      name,
      because: 'a build that was ended has left it',
      bytes: undefined,
      remove: () => rm(name, { recursive: true, force: true }),
    })),
  ];
  if (json === true)
    writeJson(leftovers.map(({ kind, name, bytes = null, because: why }) => ({ kind, name, bytes, why })));
  if (leftovers.length === 0) {
    tell('nothing to remove');
    return 0;
  }
  const rows = leftovers.map(({ kind, name, bytes, because }) => [kind, name, bytesText(bytes), because]);
  if (json !== true) process.stdout.write(table([['KIND', 'NAME', 'SIZE', 'WHY'], ...rows], ['NAME', 'WHY']));
  if (dryRun === true) return 0;
  if (
    yes !== true &&
    !(await confirm('Remove these?', 'Use --yes to remove these, or --dry-run to see them.'))
  )
    return 1;
  const gone = await removeAll(leftovers, isFatal);
  const bytes = gone.reduce((sum, { bytes: own = 0 }) => sum + own, 0);
  tell(`removed${bytes === 0 ? '' : `, which gives back ${bytesText(bytes)}`}`);
  return gone.length === leftovers.length ? 0 : 1;
}

/** A bug, or the engine is gone. */
function isFatal(reason: unknown): boolean {
  return !(reason instanceof CaiError) || ['NO_ENGINE', 'NOT_READY'].includes(reason.code);
}

/** `why`: as `leftoversIn` wants it. */
function wishOf(engine: Engine, { folders }: Host, { unused }: Options) {
  // Another machine's engine may have containers of workspaces that are on a third one.
  const isGone = (root: string | undefined) => engine.isElsewhere !== true && isNowhere(root);
  const why = (root: string | undefined) => {
    if (isGone(root)) return `${root} is gone`;
    const usedAt = root === undefined ? undefined : recordedUse(folders.state, root);
    if (unused === undefined || usedAt === undefined || Date.now() - usedAt < unused) return undefined;
    return `${root} was last used on ${new Date(usedAt).toISOString().slice(0, 10)}`;
  };
  return { isGone, why };
}

/** Only what is certainly not there: a folder that cannot be looked at may be there. */
function isNowhere(root: string | undefined): boolean {
  if (root === undefined) return false;
  try {
    lstatSync(root);
    return false;
  } catch (reason) {
    return isMissing(reason);
  }
}
