/** Which of our existing containers a command is about. Needs neither the workspace nor a valid configuration of it. */
import { resolve } from 'node:path';
import { Option } from 'commander';
import type { Command } from 'commander';
import { resolveEngine } from '../../container/engine/context';
import { Engine } from '../../container/engine/engine';
import { ownContainers } from '../../container/user-containers';
import type { OwnContainer } from '../../container/user-containers';
import type { ContainerUser } from '../../container/spec/spec';
import { loadConfig } from '../../config/config';
import { quoted } from '../../system/quoted';
import { namedRoot } from '../support/named-root';

/** The options that say which. */
export interface SelectionOptions {
  /** A folder in the workspace; `false`: none. */
  readonly workspace?: string | false;
  /** Name of the agent; all of them if absent. */
  readonly agent?: string;
  /** Those of all workspaces. */
  readonly all?: true;
  /** Docker context. */
  readonly context?: string;
}

/** Adds them. */
export function withSelectionOptions(command: Command): Command {
  return command
    .option('-w, --workspace <folder>', 'of which workspace: any folder in it (default: the current one)')
    .option('--no-workspace', 'the ones without a workspace')
    .option('-a, --agent <name>', 'of this agent only')
    .addOption(new Option('--all', 'of all workspaces').conflicts('workspace'))
    .option('--context <name>', 'Docker context');
}

/** The user that `cai` runs as: whose containers are ours. */
export function hostUser(): ContainerUser {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}

/** The engine of the user's environment and configuration. Rejects with `CaiError`. */
export async function connectEngine(env: NodeJS.ProcessEnv, context: string | undefined): Promise<Engine> {
  return await Engine.connect(resolveEngine(env, context, loadConfig(env).engine.context));
}

/**
 * The containers that the options name, which may be none, and the engine that has them; `none` says of which
 * there would be none: `there is no container of ...`.
 */
export async function select(
  options: SelectionOptions,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly engine: Engine; readonly containers: readonly OwnContainer[]; readonly none: string }> {
  const { workspace: folder, agent, all, context } = options;
  const root = all === true || folder === false ? undefined : await namedRoot(resolve(folder ?? '.'), env);
  const engine = await connectEngine(env, context);
  const containers = (await ownContainers(engine, hostUser().uid)).filter(
    (each) => (all === true || each.workspace === root) && (agent === undefined || each.agent === agent),
  );
  const some = root === undefined ? ' without a workspace' : ` of the workspace ${quoted(root)}`;
  const whose = agent === undefined ? '' : ` for the agent ${quoted(agent)}`;
  return { engine, containers, none: `there is no container${all === true ? '' : some}${whose}` };
}
