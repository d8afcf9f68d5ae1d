import { readFile, realpath } from 'node:fs/promises';
import { CaiError, messageOf } from '../errors';
import type { Config } from '../workspace/config';
import { outerGitFolder } from '../workspace/git-folder';
import { agentHome, mountPointOf } from '../workspace/mount';
import { rootRules } from '../workspace/refused-root';
import { packagedFilesHash } from './files';
import type { ContainerUser, Settings } from './spec';

/** What decides how a container is to be. */
export interface SettingsRequest {
  /** The configuration in effect for the workspace. */
  readonly config: Config;
  /** Root of the workspace; `undefined`: none. */
  readonly workspace: string | undefined;
  /** Name of the agent. */
  readonly agent: string;
  /** Our public key, as a line of `authorized_keys`. */
  readonly authorizedKey: string;
  /** Whom `cai` runs as. */
  readonly hostUser: ContainerUser;
  /** May name another mount point; git runs in it. */
  readonly env: NodeJS.ProcessEnv;
}

/** The settings of a container. Rejects with `CaiError('CONFIG')` for a folder or file that is not there. */
export async function settingsOf(request: SettingsRequest): Promise<Settings> {
  const { config, workspace, agent, hostUser, authorizedKey, env } = request;
  const { container, mounts, network } = config;
  const gitFolder = workspace === undefined ? undefined : await outerGitFolder(workspace, env);
  const git = gitFolder === undefined ? [] : [{ source: gitFolder, target: gitFolder, isReadOnly: false }];
  const { refusalOfMount, refusalOfCwd } = await rootRules(env);
  const chosen = await Promise.all(
    mounts.map(async ({ path, isReadOnly }) => {
      const source = await existing('mounts.path', path, (each) => realpath(each));
      const refusal = refusalOfMount(source) ?? refusalOfCwd(source);
      if (refusal !== undefined)
        throw new CaiError(
          'CONFIG',
          `mounts.path names ${path}, which cannot be mounted, because ${refusal}`,
        );
      return { source, target: path, isReadOnly };
    }),
  );
  const certificates =
    network.caFile === undefined
      ? undefined
      : await existing('network.ca_file', network.caFile, (file) => readFile(file, 'utf8'));
  return {
    agent,
    workspace,
    workingFolder: workspace === undefined ? agentHome : mountOf(workspace, env),
    hostUser,
    folders: [...git, ...chosen],
    data: config.agent.data,
    memoryBytes: container.memoryBytes,
    cpus: container.cpus,
    pids: container.pids,
    idleMs: container.idleMs,
    extraHosts: container.extraHosts,
    certificates,
    authorizedKey,
    filesHash: packagedFilesHash(),
  };
}

/** Where the workspace is inside. */
export function mountOf(root: string, env: NodeJS.ProcessEnv): string {
  return env.CAI_ACP_WORKSPACE_MOUNT ?? mountPointOf(root);
}

async function existing<T>(key: string, path: string, open: (path: string) => Promise<T>): Promise<T> {
  try {
    return await open(path);
  } catch (reason) {
    throw new CaiError('CONFIG', `${key} names ${path}, which cannot be used: ${messageOf(reason)}`);
  }
}
