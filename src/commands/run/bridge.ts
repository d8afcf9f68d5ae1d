/** `cai bridge`, for `cai --acp`: agents in a container reach a port of this machine, or a program that runs here. */
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Option } from 'commander';
import type { Host } from '../../system/host';
import { statusLine, type AgentStatus } from '../../rpc/status';
import type { SshConnection } from '../../container/ssh/ssh';
import { joinStreams } from '../../system/streams/tunnel-server';
import { CaiError } from '../../errors';
import { declare } from '../support/command';
import { endSignals } from '../support/end-signals';
import { HostProgram, readOrder } from './host-program';
import { Target, targetOptions, type TargetOptions } from '../containers/target';

/** Between two attempts at a port that is taken inside, in milliseconds; the longest later, when the user is told. */
const tryMs = 200;
const maxTryMs = 30_000;
/** A port may still be held by one of us that is ending. */
const patienceMs = 3_000;
/** How many connections may be open at once: each costs a descriptor here. */
const maxConnections = 256;
/** How often the parent is looked at, in milliseconds. */
const parentCheckMs = 1_000;

interface BridgeOptions extends TargetOptions {
  /** Descriptor that is told what happens, as for `cai exec`. */
  readonly statusFd?: number;
}

/** Resolves with 0 when nobody wants it any more; with the status of what went wrong, which has been told. */
export const run = declare<BridgeOptions>({
  name: 'bridge',
  description: `For "cai --acp": lets the container of a workspace reach a port of this machine's loopback address, or a
program that is run here, until stdin ends.`,
  arguments: [['<what>', '"localhost:PORT", or "program": the one that the first line of stdin describes']],
  options: [
    ...targetOptions,
    new Option('--status-fd <number>', 'report there what happens, as JSON lines').argParser(Number),
  ],
  action: ({ statusFd = 1, ...options }, host, [what]) => {
    const tell = (status: AgentStatus): void => {
      try {
        writeSync(statusFd, statusLine(status));
      } catch {
        // Nobody is there any more to be told.
      }
    };
    return bridge(what!, options, host, tell);
  },
});

async function bridge(
  what: string,
  options: TargetOptions,
  host: Host,
  tell: (status: AgentStatus) => void,
): Promise<number> {
  const notice = (text: string): void => tell({ kind: 'notice', text });
  const program =
    what === 'program' ? new HostProgram(await readOrder(process.stdin), notice, host) : undefined;
  const address = program === undefined ? addressOf(what) : undefined;
  const unwanted = untilUnwanted();
  let connection: SshConnection | undefined;
  const serve = async (): Promise<never> => {
    const target = await Target.find({ ...options, quiet: true }, host);
    const opened = await target.connect();
    ({ connection } = opened);
    if (program !== undefined) await program.listen(connection, target.wanted.settings);
    else await forward(connection, address!, notice);
    tell({ kind: 'started' });
    throw await target.explain(await connection.lost, opened.container);
  };
  try {
    return await Promise.race([serve(), unwanted.then(() => 0)]);
  } catch (reason) {
    if (!(reason instanceof CaiError)) throw reason;
    notice(reason.message);
    tell({ kind: 'failed', code: reason.code });
    return reason.exitCode;
  } finally {
    await program?.end(connection);
    connection?.destroy();
  }
}

interface Address {
  readonly hosts: readonly string[];
  readonly port: number;
}

function addressOf(what: string): Address {
  const [, host, digits] = /^(localhost|127(?:\.\d{1,3}){3}):(\d{1,5})$/.exec(what) ?? [];
  if (host === undefined || Number(digits) < 1 || Number(digits) > 65_535)
    throw new CaiError('USAGE', `"${what}" is not an address: write "localhost:PORT" or "program"`);
  return { hosts: host === 'localhost' ? ['127.0.0.1', '::1'] : [host], port: Number(digits) };
}

/** Resolves when the port is listened on inside, however long another program has it. */
async function forward(
  connection: SshConnection,
  address: Address,
  notice: (text: string) => void,
): Promise<void> {
  const { port } = address;
  let open = 0;
  let isTold = false;
  const take = (stream: Duplex): void => {
    stream.on('error', () => undefined);
    if (open >= maxConnections) {
      stream.destroy();
      return;
    }
    open++;
    stream.on('close', () => open--);
    join(stream, address).catch(() => {
      stream.destroy();
      if (!isTold) notice(`nothing answers on port ${port} of this machine: start the server`);
      isTold = true;
    });
  };
  for (let triedMs = 0; !(await tryListening(connection, port, take));) {
    if (triedMs === patienceMs)
      notice(
        `port ${port} is taken in the container, by a program there or by another editor: end that, or let the server listen on another port; it is tried again`,
      );
    // sshd writes a line about each into the log of the container.
    const waitMs = triedMs < patienceMs ? tryMs : Math.min(triedMs, maxTryMs);
    await sleep(waitMs);
    triedMs += waitMs;
  }
}

async function tryListening(
  connection: SshConnection,
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

/** Joins a stream to the address. Rejects when nothing answers there. */
async function join(stream: Duplex, { hosts, port }: Address): Promise<void> {
  const [host, ...others] = hosts;
  const socket = connect({ host: host!, port, allowHalfOpen: true, noDelay: true });
  try {
    await once(socket, 'connect');
  } catch (reason) {
    if (others.length === 0) throw reason;
    await join(stream, { hosts: others, port });
    return;
  }
  joinStreams(socket, stream);
}

/** Resolves when our stdin has ended, or our parent, or when a signal tells us to end. */
function untilUnwanted(): Promise<void> {
  const parent = process.ppid;
  return new Promise((resolve) => {
    const leave = (): void => resolve();
    if (process.stdin.readableEnded) leave();
    process.stdin.on('end', leave).on('error', leave).on('close', leave).resume();
    for (const signal of endSignals) process.on(signal, leave);
    setInterval(() => process.ppid !== parent && leave(), parentCheckMs).unref();
  });
}
