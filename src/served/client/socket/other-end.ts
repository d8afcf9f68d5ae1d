/** Connections within this machine that lead to a program of the user's. Source: Linux, proc_net_tcp.rst. */
import { closeSync, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { connect, isIPv4, type Socket } from 'node:net';
import { endianness, platform } from 'node:os';
import { ipv6Groups } from '../../../config/host-rules';
import { messageOf, errorCodeOf } from '../../../errors';
import { pathOnly, placeOf } from '../../../system/files/descriptor';

export interface End {
  /** Of either kind. */
  readonly address: string;
  /** TCP's. */
  readonly port: number;
}

/** What an attempt fails with that has led to somebody else. */
export class NotOurs extends Error {}

/** As the tables write them: a state, and addresses that stand for all. */
const listens = '0A';
const anyAddress = ['00000000', '0'.repeat(32)];

/**
 * Connects to a port of this machine; `done` gets the socket if a program of that user or of root has the other end, else
 * `NotOurs`: nothing was sent then. It gets whatever else goes wrong, too. Without an end, the attempt takes `limitMs`.
 */
export function connectToUser(
  to: { readonly host: string; readonly port: number },
  { uid, limitMs }: { readonly uid: number; readonly limitMs: number },
  done: (error: Error | null, socket: Socket) => void,
): void {
  const socket = connect(to);
  const fail = (error: Error): void => {
    socket.destroy();
    done(error, socket);
  };
  socket.setTimeout(limitMs, () => fail(new Error(`no answer in ${limitMs / 1_000} s`)));
  socket.once('error', fail);
  socket.once('connect', () => {
    socket.setTimeout(0).removeAllListeners('timeout');
    const fault = faultOf(socket, uid);
    if (fault === undefined) done(null, socket.removeListener('error', fail));
    else fail(new NotOurs(fault));
  });
}

/**
 * As `connectToUser`, at a Unix socket: it belongs to whoever has made it. On Linux what is connected to is the socket
 * that was looked at, whatever has its name by then.
 */
export function connectToSocketOf(
  uid: number,
  path: string,
  done: (error: Error | null, socket?: Socket) => void,
): void {
  let file: number | undefined;
  const close = (): void => {
    if (file !== undefined) closeSync(file);
  };
  try {
    if (platform() === 'linux') file = openSync(path, pathOnly);
    const { uid: owner } = file === undefined ? statSync(path) : fstatSync(file);
    if (owner !== uid && owner !== 0) throw new NotOurs(`the socket is that of another user (id ${owner})`);
    const socket = connect(file === undefined ? path : placeOf(file));
    const fail = (error: Error): void => {
      close();
      done(error);
    };
    socket.once('error', fail).once('connect', () => {
      close();
      done(null, socket.removeListener('error', fail));
    });
  } catch (reason) {
    close();
    done(reason as Error);
  }
}

function faultOf(socket: Socket, uid: number): string | undefined {
  const there = { address: socket.remoteAddress!, port: socket.remotePort! };
  const here = { address: socket.localAddress!, port: socket.localPort! };
  try {
    const owners = ownersOf(there, here, ['tcp', 'tcp6'].map(tableOf).join('\n'));
    const other = owners.find((owner) => owner !== uid && owner !== 0);
    if (owners.length > 0)
      return other === undefined ? undefined : `another user (id ${other}) listens there`;
    return 'nobody can tell whose program listens there';
  } catch (reason) {
    return `nobody can tell whose program listens there (${messageOf(reason)})`;
  }
}

/** Without IPv6 there is no table of it. */
function tableOf(name: string): string {
  try {
    return readFileSync(`/proc/net/${name}`, 'latin1');
  } catch (reason) {
    if (name === 'tcp6' && errorCodeOf(reason) === 'ENOENT') return '';
    throw reason;
  }
}

/**
 * The users who may have the end `there` of a connection from `here`; none if it is not in the tables of this machine. Until
 * its program has taken a connection, that is root's there, and whoever listens has it.
 */
export function ownersOf(there: End, here: End, tables: string): readonly number[] {
  const rows = tables.split('\n').map((line) => line.trim().split(/\s+/));
  const [at, from] = [spellingsOf(there), spellingsOf(here)];
  const taken = rows.find(([, local, remote]) => at.includes(local!) && from.includes(remote!));
  if (taken === undefined) return [];
  const owner = Number(taken[7]);
  if (owner !== 0) return [owner];
  const port = portText(there);
  const all = [...at, ...anyAddress.map((address) => `${address}:${port}`)];
  const listeners = rows.filter(([, local, , state]) => state === listens && all.includes(local!));
  return [owner, ...listeners.map((row) => Number(row[7]))];
}

/** An end as the tables write it; that of IPv4 may be in both of them. */
function spellingsOf(end: End): readonly string[] {
  const { address } = end;
  const words = isIPv4(address) ? [wordOf(address.split('.').map(Number))] : wordsOf(address);
  const mapped = ['00000000', '00000000', wordOf([0, 0, 255, 255])];
  const addresses = isIPv4(address) ? [words, [...mapped, ...words]] : [words];
  return addresses.map((each) => `${each.join('')}:${portText(end)}`);
}

function portText({ port }: End): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}

/** Of IPv6, four words. */
function wordsOf(address: string): string[] {
  const bytes = ipv6Groups(address).flatMap((group) => [group >> 8, group & 255]);
  return [0, 4, 8, 12].map((at) => wordOf(bytes.slice(at, at + 4)));
}

/** Four bytes as the machine's own number. */
function wordOf(bytes: readonly number[]): string {
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0'));
  return (endianness() === 'LE' ? hex.reverse() : hex).join('').toUpperCase();
}
