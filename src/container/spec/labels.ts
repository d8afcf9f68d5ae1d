/** The labels of containers and volumes: what these are for, and how a container was made. */
import { createHash } from 'node:crypto';
import type { ContainerRights } from '../engine/container-info';
import { mountsOf, mountText } from './mounts/mounts';
import { rightsOf } from './rights';
import type { Circumstances, Settings } from './spec';

/** The labels that tell our containers, and what they were made for. */
export const label = {
  // On containers and volumes: `true`. On no image, because containers inherit its labels.
  managed: 'containai.managed',
  // Root of the workspace, empty without one.
  workspace: 'containai.workspace',
  agent: 'containai.agent',
  // Of `Settings`: tells a container that was made for another configuration.
  configHash: 'containai.config-hash',
  // What is protected in it, as `protectionText` tells it.
  protection: 'containai.protection',
  // JSON of `Recorded`.
  spec: 'containai.spec',
  // JSON: what was mounted of the host, `device:inode` by its place inside, for each bind that is a root.
  roots: 'containai.roots',
  // Of `Settings`; absent without one.
  authority: 'containai.authority',
  // Fingerprint of its SSH host key, `SHA256:...`.
  hostKey: 'containai.host-key',
  // Of one that was made from a devcontainer.json: what its image says of it, as `metadataOf` reads it.
  devcontainer: 'containai.devcontainer',
  // Process that made it, as `ownIdentity` names it.
  maker: 'containai.maker',
  // Names of the services beside it, with commas between; absent: none.
  services: 'containai.services',
  // On what is made for a service: its name; on its container, the id of the container of the agent.
  service: 'containai.service',
  serviceOf: 'containai.service-of',
  // Id of the host's user that made it.
  user: 'containai.user',
} as const;

/** What a container is made with and the engine tells of it: the two must stay equal. */
export interface Recorded extends ContainerRights {
  readonly image: string;
  /** `uid:gid`. */
  readonly user: string;
  /** `type source target ro|rw`, sorted. */
  readonly mounts: readonly string[];
}

/** What a container with these settings is made with, and compared with at each later use. */
export function recordedOf(settings: Settings, circumstances: Circumstances): Recorded {
  const { image, user } = circumstances;
  return {
    image,
    user: `${user.uid}:${user.gid}`,
    mounts: mountsOf(settings, user).map(mountText).sort(),
    ...rightsOf(settings, circumstances),
  };
}

/** Containers that one version of `cai` made with the same hash, image and protection are alike. */
export function configHash(settings: Settings): string {
  const binds = settings.binds.map((bind) => mountText({ type: 'bind', ...bind }));
  const entries = Object.entries({ ...settings, binds, protection: undefined, notices: [] });
  const text = JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The labels of all that is made for a user. */
export function ownerLabels({ agent, hostUser }: Settings): Record<string, string> {
  return { [label.managed]: 'true', [label.agent]: agent, [label.user]: String(hostUser.uid) };
}

/** On its data volume: which workspace it is of, if it is of one. */
export function volumeLabels(settings: Settings): Record<string, string> {
  const { data, workspace } = settings;
  const isOfOne = data === 'workspace' && workspace !== undefined;
  return { ...ownerLabels(settings), ...(isOfOne && { [label.workspace]: workspace }) };
}

/** On the volumes with the copy of a workspace, and in place of its folders, which all agents there share. */
export function workspaceLabels({ workspace = '', hostUser }: Settings): Record<string, string> {
  return { [label.managed]: 'true', [label.workspace]: workspace, [label.user]: String(hostUser.uid) };
}
