/** `cai bridge`, for `cai --acp`: agents in a container reach a port of this machine, or a program that runs here. */
import { writeSync } from 'node:fs';
import { Option } from 'commander';
import type { Host } from '../../system/host';
import { statusLine, type AgentStatus } from '../../rpc/status';
import { explained } from '../../container/endings';
import { endingMs, localhost, offerPort, type HostAddress } from '../../container/ssh/host-port';
import type { SshConnection } from '../../container/ssh/ssh';
import { CaiError } from '../../errors';
import { common, declare } from '../support/command';
import { endSignals } from '../support/end-signals';
import { HostProgram, readOrder } from './host-program';
import { Target, targetOptions, type TargetOptions } from '../containers/target';
import { unlessFails } from '../../system/unless';

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
    common.rootIdentity,
  ],
  action: ({ statusFd = 1, ...options }, host, [what]) => {
    // Perhaps nobody is there any more to be told.
    const tell = (status: AgentStatus) => void unlessFails(() => writeSync(statusFd, statusLine(status)));
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
    else await offerPort(connection, address!, { tell: notice, patienceMs: endingMs });
    tell({ kind: 'started' });
    throw await explained(await connection.lost, target.wanted.engine, opened.container);
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

function addressOf(what: string): HostAddress {
  const [, host, digits] = /^(localhost|127(?:\.\d{1,3}){3}):(\d{1,5})$/.exec(what) ?? [];
  if (host === undefined || Number(digits) < 1 || Number(digits) > 65_535)
    throw new CaiError('USAGE', `"${what}" is not an address: write "localhost:PORT" or "program"`);
  return { hosts: host === 'localhost' ? localhost : [host], port: Number(digits) };
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
