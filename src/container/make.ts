/** Makes a container with all that it needs inside, and starts one. */
import type { Host } from '../system/host';
import { CaiError, messageOf } from '../errors';
import { metadataLabel } from '../workspace/devcontainer/metadata';
import { userGit, type UserGit } from '../workspace/git';
import { isGoing, type ContainerInfo } from './engine/container-info';
import type { Engine, InnerEntry, InnerFiles, Labels } from './engine/engine';
import type { ImageInfo } from './engine/engine-info';
import { imageLabel } from './image/image-tag';
import { containerUser } from './spec/container-user';
import { containerFiles, mountIdentities, systemCaFile } from './spec/files';
import { label, volumeLabels, workspaceLabels } from './spec/labels';
import { allBinds, folderMounts } from './spec/mounts/mounts';
import { identifiedByInode, identifiedFor } from './spec/mounts/shared-folders';
import { copyVolumeName, dataVolumeName } from './spec/names';
import { nodeHeaders } from './spec/node-headers';
import { planOf } from './spec/plan';
import type { ContainerUser, Settings } from './spec/spec';
import { newHostKey } from './ssh/keys';
import { quoted } from '../system/quoted';

export interface MakeRequest {
  readonly settings: Settings;
  /** Finds git's author and our own folders. */
  readonly host: Host;
  /** Takes a sentence for the user. */
  readonly tell: (notice: string) => void;
}

/**
 * Makes a container of that name and starts it. Returns also if somebody else has removed the container meanwhile;
 * `false`: the name is taken. One that cannot be started is removed. Rejects with `CaiError`.
 */
export async function makeContainer(
  engine: Engine,
  name: string,
  image: ImageInfo,
  request: MakeRequest,
): Promise<boolean> {
  const { settings, tell } = request;
  const about = await engine.about();
  const { hostUser, workspace } = settings;
  const { user, notice, remedy } = await containerUser(hostUser, workspace, about.isRootless);
  const devcontainer =
    image.labels[imageLabel.devcontainer] === undefined ? undefined : image.labels[metadataLabel];
  const circumstances = { image: image.id, user, engine: about, devcontainer };
  const { privateKey, fingerprint } = newHostKey();
  const git = await userGit(request.host);
  await haveVolume(engine, dataVolumeName(settings, user), volumeLabels(settings));
  const ofWorkspace = [
    ...(settings.isCopied ? [copyVolumeName(settings)] : []),
    ...folderMounts(settings).map(({ source }) => source),
  ];
  for (const volume of ofWorkspace) await haveVolume(engine, volume, workspaceLabels(settings));
  const plan = planOf(settings, circumstances, fingerprint);
  const id = await engine.createContainer(name, plan, async (inside) => {
    const files = await filesFor(inside, { user, hostKey: privateKey, git }, settings);
    // Other engines get them with each start.
    const identities = about.can.restart ? [] : mountIdentities(identifiedByInode(allBinds(settings)), []);
    await inside.put([...files, ...(await nodeHeaders(inside, user, devcontainer)), ...identities]);
  });
  if (id === undefined) return false;
  if (notice !== undefined) tell([notice, remedy].filter(Boolean).join(': '));
  const tellUnlimited = (what: string) => tell(`the engine cannot limit ${what}: the container can use all`);
  if (!about.can.memory) tellUnlimited('memory');
  if (!about.can.pids) tellUnlimited('the number of processes');
  if (git.isSigning && settings.userSettings?.signingKey === undefined)
    tell(
      "commits in the container are not signed, although git's commit.gpgsign is set: git.sign lets your SSH agent sign them",
    );
  if (about.seccompNotice !== undefined) tell(about.seccompNotice);
  try {
    await startWith(engine, id, settings);
  } catch (reason) {
    const failure = await failureOf(engine, id, name, reason);
    // Half made it would be in everybody's way.
    if (failure !== undefined && failure.code !== 'NOT_READY')
      await engine.removeContainer(id).catch(() => undefined);
    if (failure !== undefined) throw failure;
  }
  return true;
}

/**
 * Makes a volume, unless it is there. Its name has a short hash of the path of a workspace, which an agent can choose so
 * that another workspace has the same: then fails with `CaiError('FOREIGN_CONTAINER')`.
 */
export async function haveVolume(engine: Engine, name: string, labels: Labels): Promise<void> {
  // podman makes one with the container, but without labels.
  await engine.createVolume(name, labels);
  const ours = await engine.listVolumes({ [label.managed]: 'true' });
  const there = ours.find((each) => each.name === name)?.labels ?? labels;
  const differing = [label.workspace, label.agent, label.user].find((key) => there[key] !== labels[key]);
  if (differing === undefined) return;
  const [has, wanted] = [there, labels].map((each) => quoted(each[differing] ?? ''));
  const what = `the volume ${name} has the label ${differing} ${has} and not ${wanted}`;
  throw new CaiError(
    'FOREIGN_CONTAINER',
    `${what}, so that it may hold what another agent has left: rename the folder of one of the two, or remove the volume`,
  );
}

async function filesFor(
  inside: InnerFiles,
  known: { readonly user: ContainerUser; readonly hostKey: string; readonly git: UserGit },
  settings: Settings,
): Promise<InnerEntry[]> {
  const read = async (path: string) => (await inside.read(path))?.content.toString() ?? '';
  const { agentSettings } = settings;
  const [passwd, group, hasAgentSettings = false, systemCa] = await Promise.all([
    read('/etc/passwd'),
    read('/etc/group'),
    agentSettings && inside.read(agentSettings.path).then((found) => found !== undefined),
    settings.certificates === undefined ? '' : read(systemCaFile),
  ]);
  return containerFiles(settings, { ...known, passwd, group, systemCa, hasAgentSettings });
}

/** The keeper in it ends it if something else is mounted than what was looked at. */
async function startWith(engine: Engine, id: string, settings: Settings): Promise<void> {
  const binds = await identifiedFor(await engine.about(), allBinds(settings));
  const folders = folderMounts(settings).map(({ target }) => target);
  await engine.startContainer(id, mountIdentities(binds, folders));
}

/** Starts a container again. Returns also if somebody else has removed it meanwhile. Rejects with `CaiError`. */
export async function startContainer(engine: Engine, info: ContainerInfo, settings: Settings): Promise<void> {
  try {
    await startWith(engine, info.id, settings);
  } catch (reason) {
    const failure = await failureOf(engine, info.id, info.name, reason);
    if (failure !== undefined) throw failure;
  }
}

/**
 * What to tell where a start has failed; `undefined`: somebody else has removed the container, or is about to, as with
 * `--fresh`. An engine that does not answer (`NOT_READY`) is not asked again: what it has half made by then, the next use
 * removes, because its maker is gone.
 */
async function failureOf(
  engine: Engine,
  id: string,
  name: string,
  reason: unknown,
): Promise<CaiError | undefined> {
  const known = reason instanceof CaiError && reason.code !== 'NO_ENGINE' ? reason : undefined;
  if (known?.code === 'NOT_READY') return known;
  if (isGoing(await engine.inspectContainer(id))) return undefined;
  const what = `the container ${name} cannot be started: ${messageOf(reason)}`;
  return known ?? new CaiError('CONTAINER_START', what, undefined, { cause: reason });
}
