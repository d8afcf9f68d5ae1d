/** The settings of a container, from the configuration, the workspace and what this machine has. */
import { readFile, realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Host } from '../../system/host';
import { catalog } from '../../agent/catalog';
import { CaiError, messageOf } from '../../errors';
import { signInOf, authorityId, authorityOf, findAuthority, type Identity } from '../../network';
import { recordBaseline, recordBeside } from '../../workspace/protect/baseline';
import type { Config } from '../../config/config';
import { AgentFolders, rememberAgentFolders } from '../../system/paths/agent-folders';
import { checkFilePath, checkMountPath } from '../../config/chosen-path';
import { placeOfValue } from '../../config/effective-config';
import { namesMachine } from '../../config/host-rules';
import { kernelPlaceOn } from '../../system/paths/kernel-place';
import { agentHome, isMountable, mountOf } from '../../workspace/mount';
import { findOuterGit, recordOuterGit } from '../../workspace/git-folder';
import type { OuterGitFolder } from '../../workspace/outer-git';
import { ownValue } from '../../config/own-property';
import { patternsFor, type Patterns } from '../../workspace/protect/git-named-paths';
import { identify, replaced } from '../../system/paths/pinned-folder';
import { socketNotice } from '../../workspace/host-sockets';
import { rootRules } from '../../workspace/refused-root';
import { packagedFilesHash } from './files';
import { findUserSettings } from './user-settings';
import { wantedServices } from './service';
import { makeHooks, protectionOf } from './mounts/protection';
import { makeOwnFolders, ownFolders } from './mounts/own-folders';
import type { Bind, Settings } from './spec';
import { isInside } from '../../system/paths/is-inside';

interface SettingsRequest {
  readonly config: Config;
  /** Its root; `undefined`: none. */
  readonly workspace: string | undefined;
  /** What that root must be, as `identify` says it; `undefined`: whatever is there. */
  readonly rootIdentity?: string | undefined;
  readonly agent: string;
  /** Our public key, as a line of `authorized_keys`. */
  readonly authorizedKey: string;
  readonly host: Host;
  /** Turns protection off, whatever the configuration says. */
  readonly isWritable?: boolean;
}

/** What of this machine a container gets, and what is protected besides the list in each folder that it can write. */
type Given = Awaited<ReturnType<typeof givenTo>>;

/**
 * The settings of a container. Rejects with `CaiError('CONFIG')` for a folder or file that is not there, and with
 * `REPLACED` for another root than the one that is meant: several processes look at it, and each at several moments.
 * Changes nothing.
 */
export async function settingsOf(request: SettingsRequest): Promise<Settings> {
  const authority = needsAuthority(request) ? findAuthority(request.host.folders.state) : undefined;
  return settingsWith(request, await givenTo(request, authority));
}

/**
 * As `settingsOf`, for a container that is going to be used: records first what agents can write from now on and how it
 * is now, and makes what has to be there to be protected.
 */
export async function settingsForUse(request: SettingsRequest): Promise<Settings> {
  const { workspace, host } = request;
  const authority = needsAuthority(request) ? await authorityOf(host.folders.state) : undefined;
  const given = await givenTo(request, authority);
  const { outer, writable } = given;
  const sources = writable.map(({ source }) => source);
  if (workspace !== undefined && outer.refused === undefined && !isCopied(request))
    recordOuterGit(workspace, host, outer.git);
  rememberAgentFolders(host.folders.state, sources);
  if (!isUnprotected(request))
    for (const source of sources)
      makeHooks(source === outer.git?.folder ? source : posix.join(source, '.git'));
  const settings = settingsWith(request, given);
  if (workspace !== undefined) makeOwnFolders(workspace, settings.own);
  if (workspace !== undefined) recordBaselines(host.folders.state, workspace, given, settings);
  return settings;
}

async function givenTo(request: SettingsRequest, authority: Identity | undefined) {
  const { workspace, host } = request;
  const folders = await foldersOf(request);
  const certificates = await certificatesOf(request, folders, authority);
  const isMounted = workspace !== undefined && !isCopied(request);
  const outer: Awaited<ReturnType<typeof findOuterGit>> = isMounted
    ? await findOuterGit(workspace, host)
    : { git: undefined };
  const binds = [...(await ofWorkspace(request, outer.git)), ...(await chosenMounts(request, folders))];
  const writable = binds.filter(({ isReadOnly }) => !isReadOnly);
  return {
    certificates,
    authority,
    outer,
    binds,
    writable,
    patterns: await patternsOf(request, writable, outer.git),
    fromUser: await findUserSettings(request, folders),
  };
}

function settingsWith(request: SettingsRequest, given: Given): Settings {
  const { config, workspace, agent, authorizedKey, host } = request;
  const { outer, binds, patterns, certificates, authority, fromUser } = given;
  const protection = isUnprotected(request) ? undefined : protectionOf({ binds, git: outer.git, patterns });
  const { hostname, settings: usual } = ownValue(catalog, agent) ?? {};
  const services = wantedServices(config, host, workspace);
  const isLocal = workspace !== undefined && config.engine.kind !== 'kubernetes';
  const own = isLocal
    ? ownFolders(config.container.own, {
        root: workspace,
        patterns: config.protect.paths,
        protection: protection?.binds ?? [],
      })
    : [];
  const agentSettings = fromUser === undefined ? usual : fromUser.agentSettings;
  return {
    agent,
    ...(hostname !== undefined && { hostname }),
    ...(agentSettings !== undefined && { agentSettings }),
    ...(fromUser !== undefined && { userSettings: fromUser.settings }),
    workspace,
    workingFolder: workspace === undefined ? agentHome : mountOf(workspace, host),
    isCopied: isCopied(request),
    hostUser: host.user,
    binds,
    protection: protection?.binds,
    notices: [
      outer.notice ?? [],
      protection?.notices ?? [],
      fromUser?.notices ?? [],
      workspace !== undefined && !isLocal && !isCopied(request) && config.container.own.length > 0
        ? 'container.own does nothing on Kubernetes: pods have the folders of the workspace themselves'
        : [],
      socketNotice(binds.map(({ source }) => source)) ?? [],
    ].flat(),
    data: config.agent.data,
    ...config.container,
    own,
    hasNetwork: config.network.egress === 'open',
    ...(namesMachine(config) && { namesMachine: true }),
    ...(services && { services }),
    certificates,
    authority: authority && authorityId(authority),
    authorizedKey,
    filesHash: packagedFilesHash(agent),
  };
}

/** Whether pods get a copy of the workspace: they can mount no folder that it lies in, and the user wants that. */
function isCopied({ config: { engine, kubernetes }, workspace }: SettingsRequest): boolean {
  if (workspace === undefined || engine.kind !== 'kubernetes' || kubernetes.copy === 'off') return false;
  return !kubernetes.volumes.some(({ folder }) => isInside(workspace, folder));
}

/** Whether it is to take us for hosts that get keys or tokens. */
function needsAuthority({ config, agent }: SettingsRequest): boolean {
  return config.credentials.length > 0 || signInOf(agent, config) !== undefined;
}

function isUnprotected({ config, isWritable }: SettingsRequest): boolean {
  return config.protect.isOff || isWritable === true;
}

/** Of the workspace and the folders beside it that agents can write: `cai review` compares with this. */
function recordBaselines(
  state: string,
  workspace: string,
  { outer, writable, patterns }: Given,
  { protection = [], isCopied }: Settings,
): void {
  const protectedPaths = protection.filter((bind) => bind.isReadOnly).map(({ source }) => source);
  // Agents write in the copy, and never here.
  const readOnly = isCopied ? [workspace] : protectedPaths;
  recordBaseline(state, workspace, { readOnly, ...patterns.get(workspace) });
  const beside = writable
    .filter(({ source, isRoot }) => isRoot && source !== workspace)
    .map(({ source: folder }) => ({
      folder,
      isGit: folder === outer.git?.folder,
      ...patterns.get(folder),
    }));
  recordBeside(state, workspace, beside, readOnly);
}

async function ofWorkspace(request: SettingsRequest, git: OuterGitFolder | undefined): Promise<Bind[]> {
  const { workspace: root, rootIdentity, host } = request;
  if (root === undefined) return [];
  const sources = git === undefined || !isMountable(git.folder) ? [root] : [root, git.folder];
  const binds = await Promise.all(
    sources.map(async (source) => ({
      source,
      target: source === root ? mountOf(root, host) : source,
      isReadOnly: false,
      ...(await whatIs(source)),
    })),
  );
  if (rootIdentity !== undefined && binds[0]!.identity !== rootIdentity) throw replaced(root);
  return isCopied(request) ? [] : binds;
}

/** What is protected besides the list in each folder that the container can write. */
async function patternsOf(
  { config, workspace, host }: SettingsRequest,
  writable: readonly Bind[],
  git: OuterGitFolder | undefined,
): Promise<Map<string, Patterns>> {
  const found = writable.map(async ({ source }) => {
    const isGit = source === git?.folder;
    const workTree = isGit && workspace !== undefined ? workspace : source;
    const paths = isGit ? [] : config.protect.paths;
    return [source, await patternsFor({ workTree, within: source, host }, paths)] as const;
  });
  return new Map(await Promise.all(found));
}

/**
 * What a container trusts besides the usual: the user's certificates, and ours where keys are put in. Fails with
 * `CaiError('CONFIG')` for a file that an agent could change, and for one that cannot be read.
 */
async function certificatesOf(
  request: SettingsRequest,
  folders: AgentFolders,
  authority: Identity | undefined,
): Promise<string | undefined> {
  const { config, host, workspace: root } = request;
  const [key, path] = ['network.ca_file', config.network.caFile];
  if (config.credentials.length > 0 && config.network.egress === 'open') {
    const place = placeOfValue(host, root, 'network.egress', 'open');
    throw new CaiError(
      'CONFIG',
      `${place} sets network.egress to "open", with which keys cannot be put in: remove it, or the [[credentials]]`,
    );
  }
  const certificates = authority === undefined ? [] : [authority.cert];
  if (path !== undefined) {
    checkFilePath(host, { key, path, root }, folders);
    certificates.unshift(await existing(request, key, path, (file) => readFile(file, 'utf8')));
  }
  return certificates.length === 0 ? undefined : certificates.join('\n');
}

/** What agents can write, or could once this container runs. */
async function foldersOf({ config, workspace, host }: SettingsRequest): Promise<AgentFolders> {
  const writable = config.mounts.filter(({ isReadOnly }) => !isReadOnly);
  const sources = await Promise.all(writable.map(({ path }) => realpath(path).catch(() => path)));
  return new AgentFolders(host.folders.state, workspace === undefined ? sources : [workspace, ...sources]);
}

/** `[[mounts]]`, but for those that the workspace has anyway. */
async function chosenMounts(request: SettingsRequest, folders: AgentFolders): Promise<Bind[]> {
  const { config, workspace, host } = request;
  const { refusalOfMount, refusalOfCwd } = rootRules(host);
  const binds = await Promise.all(
    config.mounts.map(async ({ path, isReadOnly }): Promise<Bind | undefined> => {
      const source = await existing(request, 'mounts[].path', path, realpath);
      const isThere = workspace !== undefined && [path, source].some((each) => isInside(each, workspace));
      if (isThere && !isReadOnly) return undefined;
      if (!isThere) checkMountPath(host, { key: 'mounts[].path', path, root: workspace }, folders);
      const refusal = isThere
        ? 'it lies in the workspace, where it cannot be kept from being written'
        : isMountable(path)
          ? (refusalOfMount(source) ?? refusalOfCwd(source) ?? (await kernelPlaceOn(path, source)))
          : 'the container needs its own files there';
      if (refusal !== undefined)
        throw new CaiError(
          'CONFIG',
          `${placeOfValue(host, workspace, 'mounts[].path', path)} names ${path}, which cannot be mounted, because ${refusal}`,
        );
      return { source, target: path, isReadOnly, ...(await whatIs(source)) };
    }),
  );
  return binds.filter((bind) => bind !== undefined);
}

/** A file is another one whenever it is saved; a folder stays what it is. */
async function whatIs(source: string): Promise<Pick<Bind, 'identity' | 'isRoot'>> {
  const { identity, isFolder } = await identify(source);
  return { identity, isRoot: isFolder };
}

async function existing(
  { host, workspace }: SettingsRequest,
  key: string,
  path: string,
  read: (path: string) => Promise<string>,
): Promise<string> {
  return await read(path).catch((reason: unknown) => {
    const place = placeOfValue(host, workspace, key, path);
    throw new CaiError(
      'CONFIG',
      `${place} names ${path}, which cannot be used: ${messageOf(reason)}: put it there, or correct or remove that key`,
    );
  });
}
