/** `cai forward`: ports of the container, such as that of a development server, on this machine's loopback. */
import type { AddressInfo, Server } from 'node:net';
import { constants } from 'node:os';
import type { Host } from '../../system/host';
import { explained } from '../../container/endings';
import type { RunningContainer } from '../../container/provide';
import type { Settings } from '../../container/spec/spec';
import type { SshConnection } from '../../container/ssh/ssh';
import { openTunnelServer } from '../../system/streams/tunnel-server';
import { metadataOf } from '../../workspace/devcontainer/metadata';
import { CaiError, messageOf } from '../../errors';
import { quoted } from '../../system/quoted';
import { declare } from '../support/command';
import { firstEndSignal } from '../support/end-signals';
import { tell } from '../support/terminal';
import { Target, targetOptions, type TargetOptions } from '../containers/target';

/** Two ports: one here (0: one that is free), one in the container. */
type Pair = Readonly<{ local: number; inside: number }>;

/** Resolves with 128 + N when signal N ends it. Rejects with `CaiError`, also when the connection is lost. */
export const run = declare<TargetOptions>({
  name: 'forward',
  description: `Makes ports of the workspace's container reachable on 127.0.0.1 of this machine, until Ctrl-C. Prints their
addresses first, in the order of the ports.`,
  arguments: [
    [
      '[port...]',
      'PORT, or LOCAL:PORT for another port on this machine; LOCAL 0 picks a free one (default: "forwardPorts" of devcontainer.json)',
    ],
  ],
  options: targetOptions,
  action: (options, host, ports) => forward(ports.map(pairOf), options, host),
});

function pairOf(text: string): Pair {
  const [, local, inside] = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(text) ?? [];
  const pair = { local: Number(local ?? inside), inside: Number(inside) };
  if (inside !== undefined && pair.inside >= 1 && pair.inside <= 65_535 && pair.local <= 65_535) return pair;
  throw new CaiError('USAGE', `"${text}" is not a port: write PORT or LOCAL:PORT, such as 5173 or 8080:5173`);
}

async function forward(named: readonly Pair[], options: TargetOptions, host: Host): Promise<number> {
  const target = await Target.find(options, host);
  const { container, connection } = await target.connect();
  const servers: Server[] = [];
  try {
    const pairs = named.length > 0 ? named : portsOf(container, target.wanted.settings);
    // Only when all of them are there are they told.
    for (const pair of pairs) servers.push(await listen(pair, connection));
    for (const server of servers) {
      process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
    }
    const ended = await Promise.race([firstEndSignal(), connection.lost]);
    if (typeof ended === 'string') return 128 + constants.signals[ended];
    throw await explained(ended, target.wanted.engine, container);
  } finally {
    for (const server of servers) server.close();
    connection.destroy();
  }
}

/** What the container's devcontainer.json names. */
function portsOf({ devcontainer }: RunningContainer, { services = [] }: Settings): readonly Pair[] {
  const names = services.map(({ name }) => name);
  const { ports, otherPorts } = metadataOf(devcontainer, names);
  for (const port of otherPorts)
    tell(`${quoted(port)} of "forwardPorts" is no port of the container or of a service beside it`);
  if (ports.length > 0) return ports.map((inside) => ({ local: inside, inside }));
  const example = 'such as "cai forward 5173"';
  throw new CaiError('USAGE', `name a port, ${example}: no devcontainer.json names one in "forwardPorts"`);
}

async function listen({ local, inside }: Pair, connection: SshConnection): Promise<Server> {
  try {
    return await openTunnelServer(
      local,
      () => connection.openTunnel(inside),
      () => tell(`nothing answers on port ${inside} of the container: start the server there`),
    );
  } catch (reason) {
    throw new CaiError('USAGE', cannotListen(local, inside, reason));
  }
}

function cannotListen(local: number, inside: number, reason: unknown): string {
  const where = `127.0.0.1:${local}`;
  switch ((reason as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return `${where} is in use by another program: choose another port here, such as "cai forward 0:${inside}"`;
    case 'EACCES':
      return `${where} is not for ordinary users: choose a port above 1023, such as "cai forward 0:${inside}"`;
    default:
      return `${where} cannot be used (${messageOf(reason)}): choose another port`;
  }
}
