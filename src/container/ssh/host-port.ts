/** Ports of this machine's loopback address in a container: sshd listens there at the same port. */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProcessLocks, type Lock } from '../../system/process-lock';
import { unlessFails } from '../../system/unless';
import { joinStreams } from '../../system/streams/tunnel-server';
import type { SshConnection } from './ssh';

/** Between two attempts at a port that is taken inside, in milliseconds; the longest once the user was told. */
const tryMs = 200;
const maxTryMs = 30_000;
/** How long a process of ours that is ending may still hold a port, in milliseconds. */
export const endingMs = 3_000;
/** How often a command looks whether the one that serves a port has ended, in milliseconds. */
const lookMs = 100;
/** How many connections may be open at once: each costs a descriptor here. */
const maxConnections = 256;

/** Where on this machine a port leads. */
export interface HostAddress {
  /** Addresses to try, in order. */
  readonly hosts: readonly string[];
  readonly port: number;
}

export const localhost = ['127.0.0.1', '::1'];

type PortConnection = Pick<SshConnection, 'listen' | 'isOver'>;

interface Offer {
  /** Takes a sentence for the user. */
  readonly tell: (notice: string) => void;
  /** How long the port may be taken inside before the user is told, in milliseconds. */
  readonly patienceMs: number;
  /** Whether another process of ours serves the port. */
  readonly isServed?: () => boolean;
  /** Is called while another process of ours serves the port, and once the user has been told that it is taken. */
  readonly onWait?: () => void;
}

/** Resolves when the port is listened on inside, however long others have it. Rejects if the connection is over. */
export async function offerPort(
  connection: PortConnection,
  address: HostAddress,
  { tell, isServed = () => false, onWait, ...offer }: Offer,
): Promise<void> {
  const { port } = address;
  const take = takerFor(address, tell);
  let { patienceMs } = offer;
  let [triedMs, isTold] = [0, false];
  for (;;) {
    const isOthers = isServed();
    if (isOthers) [triedMs, patienceMs] = [0, endingMs];
    else if (await isListening(connection, port, take)) return;
    else if (triedMs >= patienceMs && !isTold) {
      isTold = true;
      tell(
        `port ${port} is taken in the container, by a program or service there or by another editor: end that, or let the server of this machine listen on another port; it is tried again`,
      );
    }
    if (isOthers || isTold) onWait?.();
    // sshd writes a line about each attempt into the log of the container.
    const waitMs = isOthers ? lookMs : isTold ? Math.min(Math.max(triedMs, tryMs), maxTryMs) : tryMs;
    await sleep(waitMs, undefined, { ref: false });
    triedMs += waitMs;
  }
}

/**
 * Has the container `id` reach these ports while the connection lasts. Of several commands in it the first serves a port,
 * and notes that in `state`. Resolves when each port is served, or the user was told that it is taken; what it resolves
 * with ends the notes.
 */
export async function openHostPorts(
  connection: PortConnection,
  ports: readonly number[],
  { id, state, tell }: { readonly id: string; readonly state: string } & Pick<Offer, 'tell'>,
): Promise<() => void> {
  const notes: Lock[] = [];
  const locks = new ProcessLocks(join(state, 'host-ports'));
  const served = servedIn(locks);
  const open = (port: number): Promise<void> =>
    new Promise((done) => {
      const name = `${id}-${port}`;
      const offer = { tell, patienceMs: tryMs, isServed: () => served().has(name), onWait: done };
      offerPort(connection, { hosts: localhost, port }, offer)
        .then(() => {
          const note = locks.tryTake(name);
          if (note !== undefined) notes.push(note);
        })
        // How the connection was lost is told by the command on it.
        .catch(() => undefined)
        .finally(done);
    });
  if (ports.length > 0) unlessFails(() => removeLeft(locks));
  await Promise.all(ports.map(open));
  return () => notes.forEach((note) => note.release());
}

/** The names of the notes of commands that run: looked for once for all ports. */
function servedIn(locks: ProcessLocks): () => ReadonlySet<string> {
  let [names, lookedAt] = [new Set<string>(), -Infinity];
  return () => {
    if (performance.now() - lookedAt < lookMs / 2) return names;
    names = new Set(locks.holders().flatMap(({ isAlive, name }) => (isAlive ? [name] : [])));
    lookedAt = performance.now();
    return names;
  };
}

/** Removes the notes of commands that were killed: their containers may be gone, and nobody would look at them again. */
function removeLeft(locks: ProcessLocks): void {
  for (const { isAlive, path } of locks.holders()) if (!isAlive) rmSync(path, { force: true });
}

async function isListening(
  connection: PortConnection,
  port: number,
  take: (stream: Duplex) => void,
): Promise<boolean> {
  try {
    await connection.listen(port, take);
    return true;
  } catch (reason) {
    if (connection.isOver) throw reason;
    return false;
  }
}

/** Leads streams to the address. */
function takerFor(address: HostAddress, tell: Offer['tell']): (stream: Duplex) => void {
  let open = 0;
  let isTold = false;
  return (stream) => {
    stream.on('error', () => undefined);
    if (open >= maxConnections) {
      stream.destroy();
      return;
    }
    open++;
    stream.on('close', () => open--);
    lead(stream, address).catch(() => {
      stream.destroy();
      if (!isTold) tell(`nothing answers on port ${address.port} of this machine: start the server`);
      isTold = true;
    });
  };
}

/** Joins a stream to the address. Rejects when nothing answers there. */
async function lead(stream: Duplex, { hosts, port }: HostAddress): Promise<void> {
  const [host, ...others] = hosts;
  const socket = connect({ host: host!, port, allowHalfOpen: true, noDelay: true });
  try {
    await once(socket, 'connect');
  } catch (reason) {
    if (others.length === 0) throw reason;
    await lead(stream, { hosts: others, port });
    return;
  }
  joinStreams(socket, stream);
}
