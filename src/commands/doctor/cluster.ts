/** What `cai doctor` asks an engine that is not ours alone: what we may, what is left, and whether its network is kept out. */
import { randomBytes } from 'node:crypto';
import { noRights } from '../../container/engine/container-info';
import { NoWall, type Allowances, type ContainerPlan, type Engine } from '../../container/engine/engine';
import { containerUser } from '../../container/spec/container-user';
import { ownerLabels } from '../../container/spec/labels';
import { messageOf } from '../../errors';
import { ok, warn, need, type Facts, type Finding } from './checks';

/** Of a container in which nothing but the test of the network happens. */
const trialMemoryBytes = 2 ** 27;

function allowances(facts: Facts): Allowances | undefined {
  return facts.engine?.client.allowances;
}

/** Whether we may do all that containers need. */
export async function rights(facts: Facts): Promise<Finding | undefined> {
  const missing = await allowances(facts)?.missingRights();
  if (missing === undefined) return undefined;
  if (missing.length === 0) return ok('you have all that containers need');
  const told = new Map<string, string[]>();
  for (const { right, without } of missing) told.set(without, [...(told.get(without) ?? []), right]);
  const detail = [...told].map(([without, which]) => `you lack ${which.join(', ')}: ${without}`).join('; ');
  const isFatal = missing.some(({ isOptional }) => !isOptional);
  const remedy = 'ask whoever runs the cluster for the role in deploy/base/rights.yaml';
  return { status: isFatal ? 'fail' : 'warn', detail, remedy };
}

/** What is used of what all may use together; said only where there is a limit. */
export async function quota(facts: Facts): Promise<Finding | undefined> {
  const uses = (await allowances(facts)?.quotas()) ?? [];
  if (uses.length === 0) return undefined;
  const detail = uses.map(({ what, used, limit }) => `${what}: ${used} of ${limit}`).join(', ');
  if (!uses.some(({ isUsedUp }) => isUsedUp)) return ok(detail);
  const remedy =
    'remove containers that you do not need (cai ps --all, cai rm), or have the administrator raise the ResourceQuota';
  return warn(detail, remedy);
}

/** Starts and removes a container without a network, to see whether it reaches a network. */
export async function wall(facts: Facts): Promise<Finding | undefined> {
  if (allowances(facts) === undefined) return undefined;
  const { client, about } = need(facts, 'engine');
  const { settings, config } = need(facts, 'configured');
  if (config.network.egress === 'open')
    return ok('not tried, as containers have all of the network: network.egress = "open"');
  const failure = await startOnce(client, {
    ...(await bareContainer(facts, '/bin/true')),
    labels: ownerLabels(settings),
    volumeLabels: {},
    mounts: [],
    rights: { ...noRights, memoryBytes: trialMemoryBytes, seccomp: about.seccomp },
    isTemporary: true,
  }).catch((reason: unknown) => reason);
  if (failure instanceof NoWall) throw failure;
  if (failure !== undefined) {
    const remedy = 'mend that and try again; until then, a container that would have a network does not run';
    return warn(`this could not be tried: ${messageOf(failure)}`, remedy);
  }
  const except = config.kubernetes.allowsOwnNode
    ? ', but for its own node, which was not tried: kubernetes.allow_own_node = true'
    : '';
  return ok(`a container without a network was started, and reached nothing${except}`);
}

/** Of the plan for a container: the image of the agent, the user that it has, and one program without arguments. */
export async function bareContainer(facts: Facts, program: string) {
  const { about } = need(facts, 'engine');
  const { settings } = need(facts, 'configured');
  const { user } = await containerUser(settings.hostUser, settings.workspace, about.isRootless);
  const place = { workingFolder: '/', env: {}, cpus: 0, extraHosts: [] };
  return { ...place, image: need(facts, 'image').id, user: `${user.uid}:${user.gid}`, command: [program] };
}

/** Rejects if it cannot be started, which says why. */
async function startOnce(engine: Engine, plan: ContainerPlan): Promise<void> {
  const name = `cai-doctor-${randomBytes(4).toString('hex')}`;
  const id = await engine.createContainer(name, plan, () => Promise.resolve());
  if (id === undefined) return;
  try {
    await engine.startContainer(id, []);
  } finally {
    await engine.removeContainer(id);
  }
}
