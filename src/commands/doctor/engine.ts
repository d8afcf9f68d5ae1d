/** What `cai doctor` asks the container engine. */
import type { Host } from '../../system/host';
import { originOf, resolveEngine } from '../../container/engine/context';
import { Engine } from '../../container/engine/engine';
import type { EngineAbout, ImageInfo } from '../../container/engine/engine-info';
import { findImage, imageNotice } from '../../container/image/image';
import { imageRequestOf, type ImageRequest } from '../../container/image/image-request';
import { imageTagOf } from '../../container/image/image-tag';
import { engineProfile } from '../../container/engine/seccomp';
import { containerUser, recordedOf, type ContainerUser } from '../../container/spec/spec';
import type { Config } from '../../config/config';
import type { Checks, Finding } from './checks';
import type { Configured } from './machine';

/** Below this, agents that are known to us end for want of memory in the middle of their work. */
const enoughMemoryBytes = 2 * 2 ** 30;

/** The engine of the context that is meant. `undefined`: it cannot be used. */
export async function checkEngine(
  checks: Checks,
  wantedContext: string | undefined,
  configuredContext: string | undefined,
  host: Host,
): Promise<{ readonly engine: Engine; readonly about: EngineAbout } | undefined> {
  const address = await checks.find(
    'context',
    () => resolveEngine(host, wantedContext, configuredContext),
    (found) => ({ status: 'ok', detail: `${found.endpoint} (${originOf(found)})` }),
  );
  if (address === undefined) {
    await checks.skip(['engine'], 'there is no Docker context to ask');
    return undefined;
  }
  const look = async () => {
    const engine = await Engine.connect(address);
    return { engine, about: await engine.about() };
  };
  return await checks.find('engine', look, ({ about }) => engineFinding(about));
}

function engineFinding({
  isPodman,
  isRootless,
  serverVersion,
  apiVersion,
  osType,
  limits,
}: EngineAbout): Finding {
  const detail = `${isPodman ? 'podman' : 'Docker'} ${serverVersion}, API ${apiVersion}${isRootless ? ', rootless' : ''}`;
  if (osType !== 'linux') {
    return {
      status: 'fail',
      detail: `${detail}: its containers are ${osType}`,
      remedy: 'switch it to Linux containers',
    };
  }
  const lacking = (['memory', 'pids', 'cpus'] as const).filter((name) => !limits[name]);
  if (lacking.length === 0) return { status: 'ok', detail };
  return {
    status: 'warn',
    detail: `${detail}: it cannot limit ${lacking.join(', ')}`,
    remedy: 'turn on the cgroup controllers of that name, so that an agent cannot take the whole machine',
  };
}

/** Whom commands run as, how much memory they have together, and what of the configuration the engine cannot do. */
export async function checkLimits(
  checks: Checks,
  about: EngineAbout,
  { config, settings }: Configured,
): Promise<void> {
  const { hostUser, workspace } = settings;
  await checks.check('user', () => userFinding(hostUser, workspace, about.isRootless));
  await checks.check('memory', () => {
    const all = about.memoryBytes;
    const limits = { ...about.limits, memory: true };
    const circumstances = {
      image: '',
      user: hostUser,
      engineMemoryBytes: all,
      engineCpus: about.cpus,
      limits,
      seccomp: engineProfile,
    };
    const { memoryBytes } = recordedOf(settings, circumstances);
    const detail = `${inGiB(memoryBytes)} for a container, of ${inGiB(all)}`;
    if (memoryBytes > all) {
      return { status: 'warn', detail, remedy: 'lower container.memory in the configuration' };
    }
    if (memoryBytes >= enoughMemoryBytes) return { status: 'ok', detail };
    return { status: 'warn', detail, remedy: 'raise container.memory, or give the engine’s machine more' };
  });
  const files = filesFinding(config.acp.fs, about);
  if (files !== undefined) await checks.check('files', () => files);
}

/** What stands against the files of the editor; `undefined`: nothing that is known. */
export function filesFinding(
  fs: Config['acp']['fs'],
  { canPause }: Pick<EngineAbout, 'canPause'>,
): Finding | undefined {
  if (fs === 'off' || canPause) return undefined;
  return {
    status: 'warn',
    detail: 'agents in containers get no files of the editor: this engine cannot pause containers',
    remedy: 'remove acp.fs = "editor", or turn on version 2 of cgroups',
  };
}

/** Whom commands run as, and where `cai` runs as root, whether they can write in the workspace. */
export async function userFinding(
  hostUser: ContainerUser,
  workspace: string | undefined,
  isRootless: boolean,
): Promise<Finding> {
  const { user, notice, remedy } = await containerUser(hostUser, workspace, isRootless);
  if (remedy !== undefined) return { status: 'warn', detail: notice!, remedy };
  const whose = user.uid === 0 ? ', which is you on this rootless engine' : '';
  return { status: 'ok', detail: notice ?? `commands run with the user id ${user.uid}${whose}` };
}

function inGiB(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}

/** What to do before an image is built that would not have the agent; `undefined`: it would. */
export function installedBy({ agent, packages, image }: ImageRequest): string | undefined {
  if (packages.length > 0 || image.dockerfile !== undefined) return undefined;
  return `nothing installs ${agent}: name its npm packages as "packages" below [agents.${agent}] in your config.toml, or install it by a Dockerfile that "dockerfile" below [image] names; then cai build ${agent}`;
}

/** The image of the agent; none is built. `undefined`: there is none. */
export async function checkImage(
  checks: Checks,
  engine: Engine,
  { config, agent, settings }: Configured,
  host: Host,
): Promise<ImageInfo | undefined> {
  const look = () => imageRequestOf(host, config, settings.workspace, agent.name);
  let image: ImageInfo | undefined;
  await checks.find('image', look, async (request): Promise<Finding> => {
    image = await findImage(engine, request);
    const tag = imageTagOf(request);
    if (image === undefined) {
      const { autoBuild } = config.image;
      const lacking = installedBy(request);
      const first = autoBuild && lacking === undefined;
      const detail = `there is no ${tag} yet${first ? ': the first command builds it, which takes minutes' : ''}`;
      return { status: first ? 'warn' : 'fail', detail, remedy: lacking ?? `cai build ${agent.name}` };
    }
    const notice = imageNotice(request, image);
    if (notice !== undefined) return { status: 'warn', detail: notice };
    return { status: 'ok', detail: `${tag}, ${image.id.replace('sha256:', '').slice(0, 12)}` };
  });
  return image;
}
