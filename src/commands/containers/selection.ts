/** Which of our existing containers a command is about. Needs neither the workspace nor a valid configuration of it. */
import { Option } from 'commander';
import type { Host } from '../../system/host';
import { agentNameOf } from '../../agent/catalog';
import { findEngine } from '../../container/engine/find-engine';
import type { Engine } from '../../container/engine/engine';
import { ownContainers, type OwnContainer } from '../../container/user-containers';
import { loadConfig } from '../../config/config';
import { CaiError } from '../../errors';
import { quoted } from '../../system/quoted';
import { common } from '../support/command';
import type { TargetOptions } from './target';
import { namedRoot } from '../support/named-root';

export type SelectionOptions = Pick<TargetOptions, 'workspace' | 'agent' | 'context'> & {
  readonly all?: true;
};

export const selectionArguments = [
  ['[container...]', 'names from "cai ps" (default: all of the current workspace)'],
] as const;

/** The options that say which containers are meant where none is named. */
export const selectionOptions = [
  common.workspace,
  ['--no-workspace', 'those without a workspace'],
  ['-a, --agent <name>', 'only containers of this agent'],
  new Option('--all', 'containers of all workspaces').conflicts('workspace'),
  common.context,
] as const;

/** The engine of the user's environment and configuration. Rejects with `CaiError`. */
export async function connectEngine(host: Host, context: string | undefined): Promise<Engine> {
  return await findEngine(host, loadConfig(host), context).connect();
}

/**
 * The containers of these names, or without names those that the options are about, in the order of `cai ps`; `none`
 * says that there is none; `root` is the root of the workspace that the options are about, if they are about one.
 * Rejects with `CONTAINER_NOT_FOUND` for a name that no container of this user has.
 */
export async function select(
  names: readonly string[],
  options: SelectionOptions,
  host: Host,
): Promise<{
  engine: Engine;
  containers: readonly OwnContainer[];
  none: string;
  root: string | undefined;
}> {
  const { workspace: folder, agent: named, all, context } = options;
  if (names.length > 0 && (folder ?? named ?? all) !== undefined)
    throw new CaiError(
      'USAGE',
      'a container that is named needs no --workspace, --agent or --all: leave it out',
    );
  const agent = named && agentNameOf(named, loadConfig(host).agents);
  const isEverywhere = names.length > 0 || all === true;
  const root = isEverywhere || folder === false ? undefined : await namedRoot(folder ?? '.', host);
  const engine = await connectEngine(host, context);
  const own = await ownContainers(engine, host.user.uid);
  const stranger = names.find((name) => !own.some((each) => each.name === name));
  if (stranger !== undefined)
    throw new CaiError(
      'CONTAINER_NOT_FOUND',
      `there is no container ${quoted(stranger)}: see "cai ps --all"`,
    );
  const isMeant = (each: OwnContainer) =>
    names.length > 0
      ? names.includes(each.name)
      : (isEverywhere || each.workspace === root) && (agent ?? each.agent) === each.agent;
  const some = root === undefined ? ' without a workspace' : ` of the workspace ${quoted(root)}`;
  const whose = agent === undefined ? '' : ` for the agent ${quoted(agent)}`;
  return {
    engine,
    containers: own.filter(isMeant),
    root,
    none: `there is no container${all === true ? '' : some}${whose}`,
  };
}
