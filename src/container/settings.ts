import { constants } from 'node:fs';
import { open, readFile, readlink, realpath } from 'node:fs/promises';
import { isAbsolute, posix } from 'node:path';
import { catalog } from '../agent/catalog';
import { CaiError, messageOf } from '../errors';
import type { Config } from '../workspace/config';
import { placeOfValue } from '../workspace/effective-config';
import { outerGitFolder } from '../workspace/git-folder';
import { agentHome, fallbackMount, isMountable, mountPointOf } from '../workspace/mount';
import { ownValue } from '../workspace/own-value';
import { isInside } from '../workspace/path-map';
import { quoted } from '../workspace/quoted';
import { rootRules } from '../workspace/refused-root';
import { packagedFilesHash } from './files';
import type { Bind, ContainerUser, Settings } from './spec';

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
  const { container, network } = config;
  const certificates =
    network.caFile === undefined
      ? undefined
      : await existing(request, 'network.ca_file', network.caFile, (file) => readFile(file, 'utf8'));
  const hostname = ownValue(catalog, agent)?.hostname;
  return {
    agent,
    ...(hostname !== undefined && { hostname }),
    workspace,
    workingFolder: workspace === undefined ? agentHome : mountOf(workspace, env),
    hostUser,
    binds: [...(await ofWorkspace(workspace, env)), ...(await chosenMounts(request))],
    data: config.agent.data,
    memoryBytes: container.memoryBytes,
    memoryAtMostBytes: container.memoryAtMostBytes,
    cpus: container.cpus,
    pids: container.pids,
    idleMs: container.idleMs,
    extraHosts: container.extraHosts,
    certificates,
    authorizedKey,
    filesHash: packagedFilesHash(),
  };
}

/** Where the workspace is inside. Fails with `CaiError('CONFIG')` for a mount point that cannot be. */
export function mountOf(root: string, env: NodeJS.ProcessEnv): string {
  const forced = env.CAI_ACP_WORKSPACE_MOUNT;
  if (forced === undefined || forced === fallbackMount) return forced ?? mountPointOf(root);
  if (isAbsolute(forced) && isMountable(posix.resolve(forced))) return posix.resolve(forced);
  throw new CaiError(
    'CONFIG',
    `CAI_ACP_WORKSPACE_MOUNT is ${quoted(forced)}, where nothing can be mounted: unset it, or use ${fallbackMount}`,
  );
}

async function ofWorkspace(root: string | undefined, env: NodeJS.ProcessEnv): Promise<Bind[]> {
  if (root === undefined) return [];
  const git = await outerGitFolder(root, env);
  const sources = git === undefined || !isMountable(git) ? [root] : [root, git];
  return await Promise.all(
    sources.map(async (source) => ({
      source,
      target: source === root ? mountOf(root, env) : source,
      isReadOnly: false,
      identity: await identityOf(source),
    })),
  );
}

/** `[[mounts]]`, but for those that the workspace has anyway. */
async function chosenMounts(request: SettingsRequest): Promise<Bind[]> {
  const { config, workspace, env } = request;
  const { refusalOfMount, refusalOfCwd } = rootRules(env);
  const binds = await Promise.all(
    config.mounts.map(async ({ path, isReadOnly }): Promise<Bind | undefined> => {
      const source = await existing(request, 'mounts[].path', path, (each) => realpath(each));
      const isThere = workspace !== undefined && [path, source].some((each) => isInside(each, workspace));
      if (isThere && !isReadOnly) return undefined;
      const refusal = isThere
        ? 'it lies in the workspace, where it cannot be kept from being written'
        : isMountable(path)
          ? (refusalOfMount(source) ?? refusalOfCwd(source))
          : 'the container needs its own files there';
      if (refusal !== undefined)
        throw new CaiError(
          'CONFIG',
          `${placeOfValue(env, workspace, 'mounts[].path', path)} names ${path}, which cannot be mounted, because ${refusal}`,
        );
      return { source, target: path, isReadOnly, identity: await identityOf(source) };
    }),
  );
  return binds.filter((bind) => bind !== undefined);
}

/**
 * Of what really has this path at this moment. Fails with `CaiError('WORKSPACE')` if a link has come into
 * it since it was looked at. Source: proc(5), /proc/PID/fd.
 */
async function identityOf(path: string): Promise<string> {
  const changed = `${path} is being replaced by something else: try again, and look for what does that`;
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (reason: unknown) => {
      throw new CaiError('WORKSPACE', `${path} cannot be opened: ${messageOf(reason)}`);
    },
  );
  try {
    const actual = await readlink(`/proc/self/fd/${file.fd}`).catch(() => undefined);
    // Not Linux: there the engine runs in a machine of its own, with numbers of its own.
    if (actual === undefined) return '';
    if (actual !== path) throw new CaiError('WORKSPACE', changed);
    const { dev, ino } = await file.stat({ bigint: true });
    return `${dev}:${ino}`;
  } finally {
    await file.close();
  }
}

async function existing<T>(
  { env, workspace }: SettingsRequest,
  key: string,
  path: string,
  read: (path: string) => Promise<T>,
): Promise<T> {
  try {
    return await read(path);
  } catch (reason) {
    const place = placeOfValue(env, workspace, key, path);
    throw new CaiError(
      'CONFIG',
      `${place} names ${path}, which cannot be used: ${messageOf(reason)}: put it there, or correct or remove that key`,
    );
  }
}
