/** What `cai doctor` asks the container engine. */
import { readFileSync } from 'node:fs';
import { engineProfile } from '../../container/engine/container-info';
import { capabilities, type Capability } from '../../container/engine/engine-info';
import { findEngine } from '../../container/engine/find-engine';
import { imageNotice, lackOf } from '../../container/image/image';
import { imageTagOf, shortId } from '../../container/image/image-tag';
import { imageRequestOf, type ImageRequest } from '../../container/image/image-request';
import { notShared, notSharedStatus } from '../../container/spec/mounts/shared-folders';
import { containerUser } from '../../container/spec/container-user';
import { containerName } from '../../container/spec/names';
import { rightsOf } from '../../container/spec/rights';
import { fail, ok, warn, need, type Facts, type Finding } from './checks';
import { safeProgram } from '../../system/paths/safe-program';
import { outputOf } from '../../system/program-output';
import { quoted, shellWord } from '../../system/quoted';
import { unlessFails } from '../../system/unless';

/** Below this, agents that are known to us end for want of memory in the middle of their work. */
const enoughMemoryBytes = 2 * 2 ** 30;

const limitRemedy = 'turn on the cgroup controllers for that, so that an agent cannot take the whole machine';

/** What to do about an engine that cannot do it. */
const remedies = {
  memory: limitRemedy,
  pids: limitRemedy,
  cpus: limitRemedy,
  systemCalls:
    'turn on seccomp, or use an engine on this machine, so that agents cannot use every system call',
} as const satisfies Partial<Record<Capability, string>>;

/** The same of an engine that others run. */
const remediesOfOthers: Partial<Record<keyof typeof remedies, string>> = {
  pids: 'have the administrator set podPidsLimit on the nodes, so that an agent cannot take all processes of one',
};

export function context(facts: Facts): Finding {
  const { host, wanted, configured } = facts;
  facts.named = findEngine(host, configured?.config, wanted.context);
  return ok(facts.named.shown);
}

/** Whether it answers, and whether it can do what containers need. */
export async function engine(facts: Facts): Promise<Finding> {
  const client = await need(facts, 'named').connect();
  const about = await client.about();
  facts.engine = { client, about };
  const { osType, can } = about;
  const name =
    about.machine === undefined ? about.name : `${about.name}, on another machine: ${about.machine}`;
  if (osType !== 'linux')
    return fail(`${name}: its containers are ${osType}`, 'switch it to Linux containers');
  const lacking = (Object.keys(remedies) as (keyof typeof remedies)[]).filter((each) => !can[each]);
  if (lacking.length === 0) return ok(name);
  const own = client.allowances === undefined ? remedies : { ...remedies, ...remediesOfOthers };
  const all = new Set(lacking.map((each) => own[each]));
  return warn(
    `${name}: it cannot ${lacking.map((each) => capabilities[each]).join(', ')}`,
    [...all].join('; '),
  );
}

/** Whether folders can be the same on the engine's machine; said only where that is another one. */
export async function shares(facts: Facts): Promise<Finding | undefined> {
  if (facts.engine?.about.machine === undefined) return undefined;
  const { client, about } = facts.engine;
  const { settings } = need(facts, 'configured');
  await client.checkBinds(settings.binds);
  const info = await client.inspectContainer(containerName(settings));
  if (info?.exitCode === notSharedStatus && !info.isRunning)
    throw notShared(about.machine, info, await client.logsTail(info.id, 5));
  if (info?.isRunning === true) return ok(`the container's folders are the same on ${about.machine} as here`);
  return ok(`whether the container's folders are the same on ${about.machine} is seen when it starts`);
}

/** Whether SELinux lets containers into the workspace; said only where it decides. */
export async function labels(
  { engine, configured, host }: Facts,
  enforcing = '/sys/fs/selinux/enforce',
): Promise<Finding | undefined> {
  const root = configured?.settings.workspace;
  const stat = safeProgram('stat', host);
  const isEnforced =
    engine?.about.isLabelled === true &&
    engine.about.sharesKernel &&
    unlessFails(() => readFileSync(enforcing, 'utf8')) === '1';
  if (!isEnforced || root === undefined || stat === undefined) return undefined;
  const options = { env: host.envForOthers, limitMs: 10_000 };
  const label = (await outputOf(stat, ['--format=%C', root], options)).trim();
  // Categories are those of one container.
  if (/^[^:]*:[^:]*:(container_file|svirt_sandbox_file)_t:s0$/.test(label))
    return ok(`SELinux lets containers use ${quoted(root)} (${label})`);
  return fail(
    `SELinux keeps containers out of ${quoted(root)}, which has the label ${label}`,
    `chcon -R -t container_file_t -l s0 ${shellWord(root)} (docs/troubleshooting.md says what follows)`,
  );
}

/** Whom commands run as, and where `cai` runs as root, whether they can write in the workspace. */
export async function user(facts: Facts): Promise<Finding> {
  const { about } = need(facts, 'engine');
  const { hostUser, workspace } = need(facts, 'configured').settings;
  const { user, notice, remedy } = await containerUser(hostUser, workspace, about.isRootless);
  if (remedy !== undefined) return warn(notice!, remedy);
  const whose = user.uid === 0 ? ', which is you on this rootless engine' : '';
  return ok(notice ?? `commands run with the user id ${user.uid}${whose}`);
}

/** How much memory commands have together. */
export function memory(facts: Facts): Finding {
  const { about } = need(facts, 'engine');
  const { settings } = need(facts, 'configured');
  const all = about.memoryBytes;
  const { memoryBytes } = rightsOf(settings, {
    image: '',
    user: settings.hostUser,
    engine: { ...about, can: { ...about.can, memory: true }, seccomp: engineProfile },
  });
  // Of a cluster nobody knows which node it will be.
  const ofAll = all === Number.MAX_SAFE_INTEGER ? '' : `, of ${inGiB(all)}`;
  const detail = `${inGiB(memoryBytes)} for a container${ofAll}`;
  if (memoryBytes > all) return warn(detail, 'lower container.memory in the configuration');
  if (memoryBytes >= enoughMemoryBytes) return ok(detail);
  return warn(detail, 'raise container.memory, or give the engine’s machine more');
}

/** Storage that can limit a container's layer: `storage-opt size`. Source: Docker's documentation of `docker run`. */
const withQuota = /^(?:btrfs|zfs)\b|^overlay2? on xfs$/;

/** How much of the disk containers may take, and who keeps them from taking more. */
export function disk(facts: Facts): Finding {
  const { storage } = need(facts, 'engine').about;
  const { diskBytes } = need(facts, 'configured').settings;
  const most = diskBytes === undefined ? 'no limit: set container.disk for one' : inGiB(diskBytes);
  const quota =
    storage === undefined
      ? ''
      : `; the engine's own quotas are not used (${storage} ${withQuota.test(storage) ? 'has them for layers alone' : 'has none'})`;
  return ok(`${most}, which the container's first process keeps${quota}`);
}

function inGiB(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}

/** What to do before an image is built that would not have the agent; `undefined`: it would. */
export function installedBy({ agent, packages, image }: ImageRequest): string | undefined {
  if (packages.length > 0 || image.dockerfile !== undefined) return undefined;
  return `nothing installs ${agent}: name its npm packages as "packages" in [agents.${agent}] of your config.toml, or install it by a Dockerfile that "dockerfile" in [image] names; then cai build ${agent}`;
}

/** The image of the agent; none is built. */
export async function image(facts: Facts): Promise<Finding> {
  const { client, about } = need(facts, 'engine');
  const { config, agent, settings } = need(facts, 'configured');
  const request = imageRequestOf(facts.host, config, settings.workspace, agent.name);
  const tag = imageTagOf(request);
  const found = await client.images.find(tag);
  facts.image = found;
  if (found === undefined && !about.can.build) return { status: 'fail', ...lackOf(request) };
  if (found === undefined) {
    const lacking = installedBy(request);
    const first = config.image.autoBuild && lacking === undefined;
    const detail = `there is no ${tag} yet${first ? ': the first command builds it, which takes minutes' : ''}`;
    return { status: first ? 'warn' : 'fail', detail, remedy: lacking ?? `cai build ${agent.name}` };
  }
  const notice = imageNotice(request, found);
  if (notice !== undefined) return warn(notice);
  return ok(`${tag}, ${shortId(found.id)}`);
}
