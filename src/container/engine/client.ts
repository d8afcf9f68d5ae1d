import { Agent } from 'node:http';
import Docker from 'dockerode';
import { CaiError, messageOf } from '../../errors';
import type { EngineAddress } from './context';
import { describeNothing, readBodiesHere } from './modem';
import type { ModemInside } from './modem';
import { watchRequests } from './watch';

/** What dockerode would else take from `DOCKER_HOST` and its like, even for another engine. */
const nothing = {
  socketPath: undefined,
  host: undefined,
  port: undefined,
  protocol: 'http',
  ca: undefined,
  cert: undefined,
  key: undefined,
  timeout: undefined,
} as const;

/** dockerode for one engine, and no other. Fails with `CaiError('NO_ENGINE')` for an environment that it cannot read. */
export function engineClient({ options }: EngineAddress): Docker {
  try {
    const docker = new Docker({ ...nothing, ...ofSocket(options), ...options });
    describeNothing(docker.modem as object as ModemInside);
    watchRequests(docker.modem);
    readBodiesHere(docker.modem);
    return docker;
  } catch (reason) {
    // It reads that environment even if none of it counts.
    const why = `DOCKER_HOST and DOCKER_CERT_PATH cannot be used: ${messageOf(reason)}: mend or unset them`;
    throw new CaiError('NO_ENGINE', why);
  }
}

/**
 * As Node's own agent. A socket has no server name; to find that out, Node would compile a pattern of all addresses of
 * IPv6, which takes longer than the engine to answer.
 */
function ofSocket({ socketPath }: EngineAddress['options']): { agent?: Agent } {
  if (socketPath === undefined) return {};
  const agent = { keepAlive: true, scheduling: 'lifo', timeout: 5_000, servername: '' } as const;
  return { agent: new Agent(agent) };
}
