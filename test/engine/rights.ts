import type { Place } from './place';

/** All that the engine knows of what the container of a place may, and whether a command in it gets to `secret`. */
export async function rightsOf(place: Place, secret: string): Promise<string> {
  const { status } = await place.run(['cat', secret]);
  const facts = await place.inspect(
    '{{range .Mounts}}{{.Type}} {{.Source}} {{.Destination}} {{.RW}}{{println}}{{end}}{{.Config.User}} {{.Image}} {{.HostConfig.Memory}} {{.HostConfig.PidsLimit}} {{.HostConfig.NanoCpus}} {{.HostConfig.NetworkMode}} {{json .HostConfig.ExtraHosts}} {{json .HostConfig.CapAdd}} {{json .HostConfig.SecurityOpt}}{{println}}{{range .Config.Env}}{{println .}}{{end}}',
  );
  // podman tells the environment in any order, and the host name, which a new container has anew, with it.
  const lines = facts.split('\n').filter((line) => !line.startsWith('HOSTNAME='));
  return `${status === 0}\n${lines.sort().join('\n')}`;
}
