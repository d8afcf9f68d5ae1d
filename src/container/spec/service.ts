/** What a service beside the container of an agent is to be. */
import type { Config } from '../../config/config';
import { placeOfValue } from '../../config/effective-config';
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { noRights, type ContainerInfo } from '../engine/container-info';
import type { ContainerPlan } from '../engine/engine';
import type { EngineAbout, ImageInfo } from '../engine/engine-info';
import { readPackaged } from './files';
import { label } from './labels';
import type { Settings } from './spec';

export type Service = Config['services'][number];

/** The container of an agent, and the names of the services beside it. */
export interface Owner extends Pick<ContainerInfo, 'id' | 'name'> {
  readonly services: readonly string[];
}

/** Names of the services beside a container with these labels. */
export function servicesIn(labels: ContainerInfo['labels']): string[] {
  return labels[label.services]?.split(',') ?? [];
}

export const serviceContainer = (owner: Pick<Owner, 'name'>, service: string): string =>
  `${owner.name}-${service}`;

export const serviceVolume = (owner: Pick<Owner, 'name'>, service: string): string =>
  `${serviceContainer(owner, service)}-data`;

/**
 * The services that a workspace wants. Fails with `CaiError('CONFIG')` where others could reach them, and where nothing
 * runs them.
 */
export function wantedServices(config: Config, host: Host, root: string | undefined): Settings['services'] {
  const { services, network, engine } = config;
  if (services.length === 0) return undefined;
  if (engine.kind === 'kubernetes')
    throw new CaiError(
      'CONFIG',
      `${placeOfValue(host, root, 'services[].name', services[0]!.name)} asks for a service, which cai cannot run in a cluster yet: remove the [[services]], or use Docker or podman`,
    );
  if (network.egress === 'open')
    throw new CaiError(
      'CONFIG',
      `${placeOfValue(host, root, 'network.egress', 'open')} is "open", with which other containers would reach the services: remove it, or the [[services]]`,
    );
  return services;
}

/**
 * Official images start as root, give their folders to a user of theirs, and become that user. The last one is ours:
 * our shell there tells the program to end. No program has a right outside of its own files.
 */
const capabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'KILL', 'SETGID', 'SETUID'];

/** On the container of a service, which is no container of an agent. */
function serviceLabels({ agent, hostUser, workspace }: Settings, { name }: Service): Record<string, string> {
  const where = workspace === undefined ? {} : { [label.workspace]: workspace };
  return { [label.agent]: agent, [label.user]: String(hostUser.uid), ...where, [label.service]: name };
}

export const serviceVolumeLabels = (settings: Settings, service: Service): Record<string, string> => ({
  [label.managed]: 'true',
  ...serviceLabels(settings, service),
});

/**
 * What a shell begins with so that services find each other by name where the engine gives each a file of names of its own,
 * as podman does, which takes no further names for such a container. A service that is not root there has only `localhost`.
 */
function namesFor(services: Settings['services'] = []): string {
  const names = services.map(({ name }) => name);
  if (names.length === 0) return '';
  const isThere = `while read -r _ name _; do [ "$name" != '${names[0]}' ] || exit 0; done </etc/hosts; exit 1`;
  return `(${isThere}) 2>/dev/null || (echo '127.0.0.1 ${names.join(' ')}' >>/etc/hosts) 2>/dev/null\n`;
}

/** The plan of its container. Fails with `CaiError('CONFIG')` for an image that starts nothing. */
export function servicePlan(
  {
    service,
    owner,
    settings,
  }: { readonly service: Service; readonly owner: Pick<Owner, 'id' | 'name'>; readonly settings: Settings },
  image: ImageInfo,
  { can, cpus, seccomp }: Pick<EngineAbout, 'can' | 'cpus' | 'seccomp'>,
): ContainerPlan {
  const { entrypoint = [], command: usual = [], stopSignal = 'SIGTERM' } = image;
  const program = [...entrypoint, ...(service.command ?? usual)];
  if (program.length === 0)
    throw new CaiError(
      'CONFIG',
      `the image ${service.image} of the service "${service.name}" starts nothing: set its "command"`,
    );
  const source = serviceVolume(owner, service.name);
  const { volume: target } = service;
  return {
    image: image.id,
    user: '',
    command: [
      '/bin/sh',
      '-c',
      namesFor(settings.services) + readPackaged('service'),
      'cai',
      stopSignal,
      ...program,
    ],
    workingFolder: '',
    env: Object.fromEntries(
      service.env.map((each) => [each.replace(/=.*/s, ''), each.slice(each.indexOf('=') + 1)]),
    ),
    labels: { ...serviceLabels(settings, service), [label.serviceOf]: owner.id },
    volumeLabels: {},
    mounts: target === undefined ? [] : [{ type: 'volume', source, target, isReadOnly: false }],
    rights: {
      ...noRights,
      capabilities,
      seccomp,
      memoryBytes: can.memory ? service.memoryBytes : 0,
      pids: can.pids ? settings.pids : 0,
    },
    cpus: can.cpus ? Math.min(settings.cpus ?? 0, cpus) : 0,
    extraHosts: [],
    networkOf: owner.id,
    fillsVolumes: true,
    isTemporary: false,
  };
}
