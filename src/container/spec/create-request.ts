/** How the engine is asked for the container of a workspace and an agent. */
import { ownIdentity } from '../../system/process-identity';
import { agentHome } from '../../workspace/mount';
import { protectionText, rootsText } from './changes';
import { engineProfile } from '../engine/seccomp';
import {
  caFile,
  configHash,
  label,
  mountsOf,
  ownerLabels,
  recordedOf,
  systemCaFile,
  type Circumstances,
  type ContainerUser,
  type Recorded,
  type Settings,
} from './spec';

/** The body of the engine's request to create the container. Source: Docker Engine API, ContainerCreate. */
export function createRequest(settings: Settings, circumstances: Circumstances, hostKey: string) {
  const recorded = recordedOf(settings, circumstances);
  const environment = Object.entries(environmentOf(settings, circumstances.user));
  return {
    Image: recorded.image,
    ...(settings.hostname !== undefined && { Hostname: settings.hostname }),
    User: recorded.user,
    // None, whatever the image has; podman takes an empty list for nothing said.
    Entrypoint: [''],
    Cmd: ['/usr/bin/perl', '/run/cai/keeper'],
    WorkingDir: settings.workingFolder,
    Env: environment.map(([variable, value]) => `${variable}=${value}`),
    Labels: {
      ...ownerLabels(settings),
      [label.workspace]: settings.workspace ?? '',
      [label.configHash]: configHash(settings),
      [label.protection]: protectionText(settings.protection),
      [label.spec]: JSON.stringify(recorded),
      [label.roots]: rootsText(settings.binds),
      [label.hostKey]: hostKey,
      ...(settings.authority !== undefined && { [label.authority]: settings.authority }),
      [label.maker]: ownIdentity(),
    },
    HostConfig: hostConfigOf(settings, circumstances, recorded),
  };
}

function hostConfigOf(settings: Settings, { user, engine, seccomp }: Circumstances, recorded: Recorded) {
  const volumeOptions = { NoCopy: true, Labels: ownerLabels(settings), DriverConfig: {} };
  return {
    // The keeper is the first process itself: nothing inside can stop or kill that one.
    Init: false,
    // One without a workspace has nothing that is worth keeping.
    AutoRemove: settings.workspace === undefined,
    CapDrop: ['ALL'],
    CapAdd: [...recorded.capabilities],
    SecurityOpt: ['no-new-privileges', ...(seccomp === engineProfile ? [] : [`seccomp=${seccomp}`])],
    IpcMode: 'private',
    // Engines before API 1.41 heed none.
    CgroupnsMode: 'private',
    Memory: recorded.memoryBytes,
    MemorySwap: recorded.memoryBytes,
    // The engine refuses more than there are.
    NanoCpus: engine.limits.cpus ? Math.round(Math.min(settings.cpus ?? 0, engine.cpus) * 1e9) : 0,
    PidsLimit: recorded.pids,
    // Without a network, names are looked up by the proxy of `src/egress/`.
    ...(settings.hasNetwork ? { ExtraHosts: [...settings.extraHosts] } : { NetworkMode: 'none' }),
    Mounts: mountsOf(settings, user).map(({ type, source, target, isReadOnly }) => ({
      Type: type,
      Source: source,
      Target: target,
      ReadOnly: isReadOnly,
      ...(type === 'volume' && { VolumeOptions: volumeOptions }),
    })),
    LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
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
