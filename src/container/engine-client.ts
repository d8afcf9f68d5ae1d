import Docker from 'dockerode';
import { CaiError, messageOf } from '../errors';
import type { EngineAddress } from './context';
import { readBodiesHere } from './engine-modem';

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
    const docker = new Docker({ ...nothing, ...options });
    readBodiesHere(docker.modem);
    return docker;
  } catch (reason) {
    // It reads that environment even if none of it counts.
    const why = `DOCKER_HOST and DOCKER_CERT_PATH cannot be used: ${messageOf(reason)}: mend or unset them`;
    throw new CaiError('NO_ENGINE', why);
  }
}
