import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { Server, type Connection, type ServerChannel, type Session } from 'ssh2';
import { newHostKey } from '../../../src/container/ssh/keys';
import type { SshConnection } from '../../../src/container/ssh/ssh';

/** A command as the supervisor would have it, and the channel that it talks on. */
export interface Played {
  /** Its arguments. */
  readonly argv: readonly string[];
  /** The client's end of stdin, stdout and stderr; `exit` and `end` end it. */
  readonly channel: ServerChannel;
  /** What the client asked for on the channel: terminals, sizes, signals. */
  readonly requests: unknown[];
  /** The whole connection. */
  readonly connection: Connection;
}

/** A stream to a port of this machine. */
export async function toPort(port: number): Promise<Duplex> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** An SSH server in this process that looks like a container's, and plays commands. */
export interface SshServer {
  /** How to reach it. */
  readonly target: Parameters<typeof SshConnection.open>[0];
  /** What it has received and sent, a line each, as ssh2 describes it. */
  readonly log: readonly string[];
  /** Ends it, with all its connections. */
  close(): void;
}

/** `play` plays a command once its header is read, and must say that it is ready. A locked server lets nobody in. */
export async function startServer(
  play: (command: Played) => void,
  { port = 0, key = newHostKey(), isLocked = false } = {},
): Promise<SshServer> {
  const user = newHostKey();
  const connections = new Set<Connection>();
  const log: string[] = [];
  const debug = (line: string) => void log.push(line);
  const server = new Server({ hostKeys: [key.privateKey], debug }, (connection) => {
    connections.add(connection);
    connection.on('error', () => undefined);
    connection.on('authentication', (attempt) => {
      if (attempt.method === 'publickey' && attempt.username === 'agent' && !isLocked) attempt.accept();
      else attempt.reject();
    });
    connection.on('session', (accept) => serve(accept(), connection, play));
    connection.on('request', (accept, reject, name, info) => {
      const asked = info as {
        readonly bindAddr?: string;
        readonly bindPort?: number;
        readonly socketPath?: string;
      };
      if (asked.bindPort === 1) {
        reject?.();
        return;
      }
      accept?.();
      // Whatever is listened on is opened at once, and so is something that was not asked for.
      const opened = (_: unknown, channel?: ServerChannel): void => void channel?.end(`from ${name}`);
      if (asked.socketPath !== undefined) connection.openssh_forwardOutStreamLocal(asked.socketPath, opened);
      else connection.forwardOut(asked.bindAddr!, asked.bindPort!, '127.0.0.1', 9, opened);
      connection.forwardOut('127.0.0.1', 4_711, '127.0.0.1', 9, (error) =>
        log.push(`stranger: ${String(error)}`),
      );
    });
    connection.on('tcpip', (accept, reject, { destIP, destPort }) => {
      if (destPort === 1) reject();
      else if (destPort === 2) accept().resume();
      else accept().end(`${destIP}:${destPort}`);
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    log,
    target: {
      connect: () => toPort((server.address() as AddressInfo).port),
      hostKey: key.fingerprint,
      privateKey: user.privateKey,
      container: 'cai-test',
      lookCommand: 'docker logs cai-test',
    },
    close: () => {
      server.close();
      for (const connection of connections) connection.end();
    },
  };
}

function serve(session: Session, connection: Connection, play: (command: Played) => void): void {
  const requests: unknown[] = [];
  session.on('pty', (accept, _reject, { cols, rows }) => {
    requests.push({ pty: [cols, rows] });
    accept();
  });
  session.on('window-change', (_accept, _reject, { cols, rows }) => requests.push({ size: [cols, rows] }));
  session.on('signal', (_accept, _reject, { name }) => requests.push({ signal: name }));
  session.on('exec', (accept, _reject, { command }) => {
    const channel = accept();
    channel.on('error', () => undefined);
    if (command !== 'exec /run/cai/supervisor') throw new Error(`unexpected command: ${command}`);
    void readHeader(channel).then((argv) => play({ argv, channel, requests, connection }));
  });
}

/** Takes the header from a channel; what follows stays in it. */
async function readHeader(channel: ServerChannel): Promise<string[]> {
  let bytes = Buffer.alloc(0);
  for (;;) {
    bytes = Buffer.concat([bytes, (channel.read() ?? Buffer.alloc(0)) as Buffer]);
    const start = bytes.indexOf(10) + 1;
    const end = start + Number(bytes.toString('latin1', 0, start));
    if (start > 0 && bytes.length >= end) {
      if (bytes.length > end) channel.unshift(bytes.subarray(end));
      const [, count, ...rest] = bytes.toString('utf8', start, end - 1).split('\0');
      return rest.slice(0, Number(count));
    }
    await once(channel, 'readable');
  }
}
