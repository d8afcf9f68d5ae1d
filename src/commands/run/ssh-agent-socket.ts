/** The user's SSH agent in a container, for what the configuration allows of it. */
import { randomBytes } from 'node:crypto';
import type { Variables } from '../../container/environment';
import { removeInside } from '../../container/ssh/short-command';
import type { SshConnection } from '../../container/ssh/ssh';
import { AgentFolders } from '../../system/paths/agent-folders';
import { AgentProxy, knownHosts, keyBlob } from '../../network';
import type { Host } from '../../system/host';
import { openLog } from '../../system/log';
import type { Wanted } from '../containers/target';
import { tell } from '../support/terminal';

interface OpenAgent {
  /** By which programs find it. */
  readonly env: Variables;
  /** Takes the socket away. Never rejects. */
  close(): Promise<void>;
}

/**
 * Opens a socket inside for as long as the connection lasts. Without anything that the configuration allows, and without
 * an agent here, which the user is told, there is no socket. Rejects with `SSH_CONNECT`.
 */
export async function openSshAgent(
  { config, settings }: Pick<Wanted, 'config' | 'settings'>,
  connection: Pick<SshConnection, 'listen' | 'run'>,
  host: Host,
  isQuiet: boolean,
): Promise<OpenAgent> {
  const none: OpenAgent = { env: [], close: () => Promise.resolve() };
  const { sshAgent: hosts } = config.git;
  const line = settings.userSettings?.signingKey;
  if (hosts.length === 0 && line === undefined) return none;
  const log = openLog(host.env);
  const say = (text: string): void => (isQuiet ? log.warn(text) : tell(text));
  const agent = host.env.SSH_AUTH_SOCK;
  if (agent === undefined || agent === '') {
    say(
      '[git] of the configuration needs an SSH agent on this machine, and SSH_AUTH_SOCK names none: start one',
    );
    return none;
  }
  const writable = settings.binds.filter(({ isReadOnly }) => !isReadOnly).map(({ source }) => source);
  // Read for each connection: the user may come to know a server meanwhile.
  const hostWith = (key: Buffer) =>
    knownHosts(hosts, host, new AgentFolders(host.folders.state, writable)).find(({ keys }) =>
      keys.some((each) => each.equals(key)),
    )?.host;
  const rules = { hostWith, signingKey: line === undefined ? undefined : keyBlob(line) };
  const proxy = new AgentProxy(agent, rules, say);
  const socket = `/tmp/cai-ssh-agent-${randomBytes(16).toString('hex')}`;
  await connection.listen(socket, (stream) => void proxy.take(stream));
  return { env: [['SSH_AUTH_SOCK', socket]], close: () => removeInside(connection, socket) };
}
