/** What `cai doctor` looks at in a container that is there. None is made or started. */
import type { Host } from '../../system/host';
import { endedBy } from '../../agent/agent-end';
import { tamperingOf } from '../../container/check';
import type { ContainerInfo } from '../../container/engine/container-info';
import type { Engine } from '../../container/engine/engine';
import type { ImageInfo } from '../../container/engine/engine-info';
import { commandEnvironment } from '../../container/environment';
import { imageRequestOf } from '../../container/image/image-request';
import type { ClientKey } from '../../container/ssh/keys';
import { limitedText } from '../../container/ssh/inside';
import { noRoomIn } from '../../container/make';
import { replacedRemedy } from '../../container/provide';
import { ownVolumes } from '../../container/user-containers';
import { changesOf, replacedRoot } from '../../container/spec/changes';
import { containerName, dataFolder, label } from '../../container/spec/spec';
import { SshConnection } from '../../container/ssh/ssh';
import { CaiError } from '../../errors';
import { quoted } from '../../system/quoted';
import type { Checks, Finding } from './checks';
import { installedBy } from './engine';
import type { Configured } from './machine';

/** What is known by then. */
export interface Known extends Configured {
  /** Where the container is, if it is there. */
  readonly engine: Engine;
  /** Its image, if that is there. */
  readonly image: ImageInfo | undefined;
  /** What lets us in. */
  readonly key: ClientKey | undefined;
  /** Ours. */
  readonly host: Host;
}

/** The names of the checks below. */
export const containerChecks = ['container', 'as made', 'ssh', 'agent', 'data'];

/** The container of the workspace and the agent, from outside and from inside. */
export async function checkContainerOf(checks: Checks, known: Known): Promise<void> {
  const { engine, settings } = known;
  const name = containerName(settings);
  const info = await checks.find(
    'container',
    () => engine.inspectContainer(name),
    (found) => (found === undefined ? notThere(name) : stateOf(found, known)),
  );
  if (info === undefined) {
    await checks.skip(containerChecks.slice(1), 'there is no container yet');
    return;
  }
  await checks.check('as made', () => {
    const tampering = tamperingOf(info, settings);
    if (tampering !== undefined) throw tampering;
    return { status: 'ok', detail: 'its mounts, user and rights are those that it was made with' };
  });
  const seen = await lookInside(checks, info, known);
  await checks.check('data', () => dataFinding(info, known, seen));
}

function notThere(name: string): Finding {
  return { status: 'ok', detail: `${name} is not there: the first command makes it` };
}

async function stateOf(info: ContainerInfo, known: Known): Promise<Finding> {
  const { name, state, exitCode, isOomKilled } = info;
  const { settings, engine, image } = known;
  if (state === 'paused')
    return { status: 'fail', detail: `${name} is paused`, remedy: `docker unpause ${name}` };
  if (!info.isRunning && isOomKilled) {
    const remedy = 'raise container.memory in the configuration';
    return { status: 'warn', detail: `${name} was ended for using too much memory`, remedy };
  }
  if (!info.isRunning && exitCode !== 0) {
    return {
      status: 'warn',
      detail: `${name} ${endedBy(exitCode)}`,
      remedy: `see: docker logs ${name}`,
    };
  }
  const replaced = replacedRoot(info.labels, settings.binds);
  if (replaced !== undefined) {
    const count = info.isRunning ? await engine.countCommands(info.id) : 0;
    const detail = `${name} has another folder than the one that is ${quoted(replaced)} now`;
    return count === 0
      ? { status: 'warn', detail, remedy: 'nothing to do: the next command makes it anew' }
      : { status: 'fail', detail, remedy: replacedRemedy(settings.workspace ?? replaced) };
  }
  const isOutdated =
    changesOf(info.labels, settings).has('settings') || (image !== undefined && image.id !== info.imageId);
  if (isOutdated) {
    const remedy =
      'nothing to do: it is made anew when no command runs in it; at once with "cai exec --fresh"';
    return { status: 'warn', detail: `${name} was made for another configuration or image`, remedy };
  }
  if (!info.isRunning) return { status: 'ok', detail: `${name} does not run: the next command starts it` };
  const count = await engine.countCommands(info.id);
  return { status: 'ok', detail: `${name} runs, with ${count === 1 ? '1 command' : `${count} commands`}` };
}

/** What a command inside has seen. */
interface Seen {
  /** Path of the agent's program, empty if it was not found. */
  readonly program: string;
  /** `uid:gid` of the owner of the agent's data. */
  readonly owner: string;
}

const script = `printf '%s\\n' "$(command -v "$1")" "$(stat -c %u:%g "$2")"`;

/** `undefined`: nothing can be run there now. */
async function lookInside(checks: Checks, info: ContainerInfo, known: Known): Promise<Seen | undefined> {
  const { key, agent } = known;
  const { hostPort } = info;
  if (!info.isRunning || info.state === 'paused' || key === undefined || hostPort === undefined) {
    await checks.skip(['ssh', 'agent'], 'the container does not run: cai exec -- true');
    return undefined;
  }
  let seen: Seen | undefined;
  const program = agent.command[0];
  await checks.check('ssh', async () => {
    const beganAt = performance.now();
    const { privateKey } = key;
    const hostKey = info.labels[label.hostKey] ?? '';
    const target = { port: hostPort, hostKey, privateKey, container: info.name };
    let connection: SshConnection | undefined;
    let connectedAt: number;
    try {
      connection = await SshConnection.open(target);
      connectedAt = performance.now();
      seen = await ask(connection, info, known, program);
    } catch (reason) {
      throw (await noRoomIn(known.engine, info, reason)) ?? reason;
    } finally {
      connection?.end();
    }
    const connectMs = Math.round(connectedAt - beganAt);
    const commandMs = Math.round(performance.now() - connectedAt);
    return { status: 'ok', detail: `connected in ${connectMs} ms; a command took ${commandMs} ms` };
  });
  if (seen === undefined) await checks.skip(['agent'], 'nothing can be asked inside');
  else await checks.check('agent', () => agentFinding(seen!, known));
  return seen;
}

async function ask(
  connection: SshConnection,
  info: ContainerInfo,
  known: Known,
  program: string,
): Promise<Seen> {
  const remote = await connection.run({
    argv: ['/bin/sh', '-c', script, 'sh', program, dataFolder],
    cwd: '/',
    env: commandEnvironment(info, known.config, known.host.env),
  });
  remote.stdin.end();
  remote.stderr.resume();
  const [found = '', owner = '', end] = (await limitedText(remote.stdout)).split('\n');
  if (end === undefined)
    throw new CaiError('SSH_CONNECT', 'a command in the container did not end as it should');
  return { program: found, owner };
}

function agentFinding({ program }: Seen, { agent, config, settings, host }: Known): Finding {
  if (program !== '') return { status: 'ok', detail: `${agent.name}: ${program}` };
  const anew = 'then cai exec --fresh -- true';
  const lacking = installedBy(imageRequestOf(host, config, settings.workspace, agent.name));
  const remedy =
    lacking === undefined ? `cai build ${agent.name}, ${anew}; or ${agent.remedy}` : `${lacking}, ${anew}`;
  return { status: 'fail', detail: `${agent.command[0]} is not in the container`, remedy };
}

async function dataFinding(
  info: ContainerInfo,
  { engine, settings }: Known,
  seen: Seen | undefined,
): Promise<Finding> {
  const mount = info.mounts.find(({ target }) => target === dataFolder);
  if (mount?.type !== 'volume') {
    return {
      status: 'fail',
      detail: 'the agent has no data volume',
      remedy: 'use --fresh to make the container anew',
    };
  }
  const own = await ownVolumes(engine, settings.hostUser.uid);
  if (!own.some(({ name }) => name === mount.source)) {
    return {
      status: 'warn',
      detail: `the volume ${mount.source} was not made by cai`,
      remedy: `"cai rm --volumes" will not remove it; docker volume rm ${mount.source} does`,
    };
  }
  if (seen === undefined || seen.owner === info.user) return { status: 'ok', detail: mount.source };
  return {
    status: 'fail',
    detail: `the volume ${mount.source} belongs to ${seen.owner}, and commands run as ${info.user}`,
    remedy: 'remove it with "cai rm --volumes": what the agent keeps is lost',
  };
}
