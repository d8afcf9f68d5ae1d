/** What `cai doctor` looks at in a container that is there. None is made or started. */
import { endedBy } from '../../agent/agent-end';
import { tamperingOf } from '../../container/check';
import type { ContainerInfo } from '../../container/engine/container-info';
import { countCommands } from '../../container/engine/container-processes';
import { commandEnvironment } from '../../container/environment';
import { imageRequestOf } from '../../container/image/image-request';
import { noRoomIn } from '../../container/endings';
import { printedBy } from '../../container/ssh/short-command';
import { connectTo, replacedRemedy } from '../../container/provide';
import { ownVolumes } from '../../container/user-containers';
import { changesOf, replacedRoot } from '../../container/spec/changes';
import { label } from '../../container/spec/labels';
import { dataFolder } from '../../container/spec/mounts/mounts';
import { containerName } from '../../container/spec/names';
import type { SshConnection } from '../../container/ssh/ssh';
import { CaiError } from '../../errors';
import { quoted } from '../../system/quoted';
import { fail, ok, warn, need, Skipped, type Facts, type Finding } from './checks';
import { installedBy } from './engine';

/** What is known before a container is looked at. Throws `Skipped`. */
function basis(facts: Facts) {
  const { client } = need(facts, 'engine');
  const configured = need(facts, 'configured');
  need(facts, 'place');
  if (facts.hasState === undefined && facts.key === undefined)
    throw new Skipped('this needs the state folder');
  return { client, ...configured };
}

function known(facts: Facts) {
  return { ...basis(facts), info: need(facts, 'container') };
}

/** Whether the container of the workspace and the agent can be used. */
export async function container(facts: Facts): Promise<Finding> {
  const { client, settings } = basis(facts);
  const name = containerName(settings);
  const info = await client.inspectContainer(name);
  facts.container = info;
  if (info === undefined) return ok(`${name} is not there: the first command makes it`);
  const { state, exitCode, isOomKilled, isRunning } = info;
  if (state === 'paused') return fail(`${name} is paused`, `docker unpause ${name}`);
  if (!isRunning && isOomKilled)
    return warn(`${name} was ended for using too much memory`, 'raise container.memory in the configuration');
  if (!isRunning && exitCode !== 0)
    return warn(`${name} ${endedBy(exitCode)}`, `see: ${client.lookCommand(name)}`);
  const count = isRunning ? await countCommands(client, info.id) : 0;
  const outdated = outdatedFinding(facts, info, count);
  if (outdated !== undefined) return outdated;
  if (!isRunning) return ok(`${name} does not run: the next command starts it`);
  return ok(`${name} runs, with ${count === 1 ? '1 command' : `${count} commands`}`);
}

/** What is to be said of a container that would not be made so now; `undefined`: nothing. */
function outdatedFinding(facts: Facts, info: ContainerInfo, count: number): Finding | undefined {
  const { settings } = basis(facts);
  const replaced = replacedRoot(info.labels, settings.binds);
  if (replaced !== undefined) {
    const detail = `${info.name} has another folder than the one that is ${quoted(replaced)} now`;
    return count === 0
      ? warn(detail, 'nothing to do: the next command recreates it')
      : fail(detail, replacedRemedy(settings.workspace ?? replaced));
  }
  const hasOldImage = facts.image !== undefined && facts.image.id !== info.imageId;
  if (!hasOldImage && !changesOf(info.labels, settings).has('settings')) return undefined;
  const remedy = 'nothing to do: it is recreated when no command runs in it; at once with "cai exec --fresh"';
  return warn(`${info.name} was made for another configuration or image`, remedy);
}

/** Whether the container is what our record of it says. */
export function asMade(facts: Facts): Finding {
  const { info, settings } = known(facts);
  const tampering = tamperingOf(info, settings);
  if (tampering !== undefined) throw tampering;
  return ok('its mounts, user and rights are those that it was made with');
}

/** As `known`, with what a connection needs. Throws `Skipped` for a container that does not run. */
function running(facts: Facts) {
  const all = known(facts);
  const { isRunning, state } = all.info;
  if (!isRunning || state === 'paused' || facts.key === undefined)
    throw new Skipped('the container does not run: cai exec -- true');
  return { ...all, privateKey: facts.key.privateKey };
}

const script = `printf '%s\\n' "$(command -v "$1")" "$(stat -c %u:%g "$2")"`;

/** Whether a command can be run inside. */
export async function ssh(facts: Facts): Promise<Finding> {
  const { client, info, privateKey } = running(facts);
  const beganAt = performance.now();
  let connection: SshConnection | undefined;
  let connectedAt: number;
  try {
    const { [label.hostKey]: hostKey = '' } = info.labels;
    connection = await connectTo(client, { ...info, hostKey }, privateKey);
    connectedAt = performance.now();
    facts.inside = await lookInside(connection, facts);
  } catch (reason) {
    throw (await noRoomIn(client, info, reason)) ?? reason;
  } finally {
    await connection?.end();
  }
  const connectMs = Math.round(connectedAt - beganAt);
  const commandMs = Math.round(performance.now() - connectedAt);
  return ok(`connected in ${connectMs} ms; a command took ${commandMs} ms`);
}

async function lookInside(connection: SshConnection, facts: Facts): Promise<NonNullable<Facts['inside']>> {
  const { info, agent, config, settings } = known(facts);
  const remote = await connection.run({
    argv: ['/bin/sh', '-c', script, 'sh', agent.command[0], dataFolder],
    cwd: '/',
    env: commandEnvironment(info, config, facts.host.env, settings),
  });
  const [program = '', owner = '', end] = (await printedBy(remote)).split('\n');
  if (end === undefined)
    throw new CaiError('SSH_CONNECT', 'a command in the container did not end as it should');
  return { program, owner };
}

/** Whether the agent's program is inside. */
export function agent(facts: Facts): Finding {
  const { agent: meant, config, settings } = running(facts);
  const { program } = need(facts, 'inside');
  if (program !== '') return ok(`${meant.name}: ${program}`);
  const recreate = 'then cai exec --fresh -- true';
  const lacking = installedBy(imageRequestOf(facts.host, config, settings.workspace, meant.name));
  const remedy =
    lacking === undefined
      ? `cai build ${meant.name}, ${recreate}; or ${meant.remedy}`
      : `${lacking}, ${recreate}`;
  return fail(`${meant.command[0]} is not in the container`, remedy);
}

/** Whether the agent has a volume of ours for its data, in which it can write. */
export async function data(facts: Facts): Promise<Finding> {
  const { client, settings, info } = known(facts);
  const mount = info.mounts.find(({ target }) => target === dataFolder);
  if (mount?.type !== 'volume')
    return fail('the agent has no data volume', 'use --fresh to recreate the container');
  const own = await ownVolumes(client, settings.hostUser.uid);
  if (!own.some(({ name }) => name === mount.source))
    return warn(
      `the volume ${mount.source} was not made by cai`,
      `"cai rm --volumes" will not remove it; docker volume rm ${mount.source} does`,
    );
  const owner = facts.inside?.owner ?? info.user;
  if (owner === info.user) return ok(mount.source);
  return fail(
    `the volume ${mount.source} belongs to ${owner}, and commands run as ${info.user}`,
    'remove it with "cai rm --volumes": what the agent keeps is lost',
  );
}
