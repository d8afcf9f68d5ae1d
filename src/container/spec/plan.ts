/** What the container of a workspace and an agent is to be, as an engine is asked for it. */
import { ownIdentity } from '../../system/process-identity';
import { agentHome } from '../../workspace/mount';
import { machineName } from '../../config/host-rules';
import type { ContainerPlan } from '../engine/engine';
import { protectionText, rootsText } from './changes';
import { caFile, systemCaFile } from './files';
import { configHash, label, ownerLabels, recordedOf, volumeLabels } from './labels';
import { mountsOf } from './mounts/mounts';
import { rightsOf, sharedMemoryOf } from './rights';
import type { Circumstances, ContainerUser, Settings } from './spec';

/** The plan; `hostKey`: fingerprint of the key that is put in. */
export function planOf(settings: Settings, circumstances: Circumstances, hostKey: string): ContainerPlan {
  const recorded = recordedOf(settings, circumstances);
  const { can, cpus } = circumstances.engine;
  const services = (settings.services ?? []).map(({ name }) => name);
  const loopbackNames = [...services, ...(settings.namesMachine === true ? [machineName] : [])];
  return {
    image: recorded.image,
    user: recorded.user,
    rights: rightsOf(settings, circumstances),
    ...(settings.hostname !== undefined && { hostname: settings.hostname }),
    command: ['/usr/bin/perl', '/run/cai/keeper'],
    workingFolder: settings.workingFolder,
    env: environmentOf(settings, circumstances.user),
    labels: {
      ...ownerLabels(settings),
      [label.workspace]: settings.workspace ?? '',
      [label.configHash]: configHash(settings),
      [label.protection]: protectionText(settings.protection),
      [label.spec]: JSON.stringify(recorded),
      [label.roots]: rootsText(settings.binds),
      [label.hostKey]: hostKey,
      ...(services.length > 0 && { [label.services]: services.join(',') }),
      ...(settings.authority !== undefined && { [label.authority]: settings.authority }),
      ...(circumstances.devcontainer !== undefined && { [label.devcontainer]: circumstances.devcontainer }),
      [label.maker]: ownIdentity(),
    },
    volumeLabels: volumeLabels(settings),
    mounts: mountsOf(settings, circumstances.user),
    // Engines refuse more than there are.
    cpus: can.cpus ? Math.min(settings.cpus ?? 0, cpus) : 0,
    shmBytes: sharedMemoryOf(settings, circumstances),
    // Without a network, names are looked up by the proxy of `src/network/egress/`.
    extraHosts: settings.extraHosts,
    ...(loopbackNames.length > 0 && { loopbackNames }),
    // One without a workspace has nothing that is worth keeping.
    isTemporary: settings.workspace === undefined,
  };
}

/** Most programs read the system's bundle; these read others unless they are told. */
const certificateVariables = {
  NODE_EXTRA_CA_CERTS: caFile,
  REQUESTS_CA_BUNDLE: systemCaFile,
  SSL_CERT_FILE: systemCaFile,
};

/** Added to the image's environment. Holds no secrets, because everybody with the engine can see it. */
function environmentOf(settings: Settings, user: ContainerUser): Record<string, string> {
  return {
    CAI_HOST_WORKSPACE: settings.workspace ?? '',
    CAI_DISK_BYTES: String(settings.diskBytes ?? 0),
    CAI_IDLE_SECONDS: String(Math.ceil(settings.idleMs / 1000)),
    // Beside the folder it would keep a file in the home folder, which does not last.
    CLAUDE_CONFIG_DIR: `${agentHome}/.claude`,
    // Agents refuse to work as root outside of a sandbox.
    ...(user.uid === 0 && { IS_SANDBOX: '1' }),
    ...(settings.certificates !== undefined && certificateVariables),
  };
}
