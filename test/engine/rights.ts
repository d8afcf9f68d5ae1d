import { posix } from 'node:path';
import type { Pod } from '../../src/container/engine/kubernetes/pod/pod';
import { podsOf } from './cluster';
import { isKubernetes } from './engines';
import type { Place } from './place';

/** All that the engine knows of what the container of a place may, and whether a command in it gets to `secret`. */
export async function rightsOf(place: Place, secret: string): Promise<string> {
  const { status } = await place.run(['cat', secret]);
  const lines = isKubernetes ? factsOfPod(podsOf(place.workspace)[0]!) : await factsOfContainer(place);
  return `${status === 0}\n${[...lines].sort().join('\n')}`;
}

async function factsOfContainer(place: Place): Promise<string[]> {
  const facts = await place.inspect(
    '{{range .Mounts}}{{.Type}} {{.Source}} {{.Destination}} {{.RW}}{{println}}{{end}}{{.Config.User}} {{.Image}} {{.HostConfig.Memory}} {{.HostConfig.PidsLimit}} {{.HostConfig.NanoCpus}} {{.HostConfig.NetworkMode}} {{json .HostConfig.ExtraHosts}} {{json .HostConfig.CapAdd}} {{json .HostConfig.SecurityOpt}}{{println}}{{range .Config.Env}}{{println .}}{{end}}',
  );
  // podman tells the environment in any order, and the host name, which a new container has anew, with it.
  return facts.split('\n').filter((line) => !line.startsWith('HOSTNAME='));
}

/** But for what a new pod has anew: its node, and which part of its Secret is which file. */
function factsOfPod({ metadata, spec }: Pod): string[] {
  const { containers, volumes = [], securityContext, hostNetwork, hostPID, hostIPC } = spec;
  const facts = containers.flatMap(({ volumeMounts = [], env = [], ...container }) => [
    ...volumeMounts.map(({ name, mountPath, subPath = '', readOnly = false }) => {
      const { hostPath, persistentVolumeClaim: claim } = volumes.find((each) => each.name === name)!;
      const source = hostPath ? `bind ${posix.join(hostPath.path, subPath)}` : (claim?.claimName ?? name);
      return `${source} ${mountPath} ${!readOnly}`;
    }),
    ...env.map(({ name, value }) => `${name}=${value}`),
    JSON.stringify(container),
  ]);
  return [...facts, JSON.stringify([metadata.labels, securityContext, hostNetwork, hostPID, hostIPC])];
}
