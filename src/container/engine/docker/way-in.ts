/**
 * The way into a container: a stream to an sshd that is started for it. Nothing listens on a network.
 *
 * Where the engine runs on this very system, that is a Unix socket of the container, reached by `/proc/PID/root`, which
 * the kernel opens to root and to the container's user alone. Elsewhere the engine starts sshd, which takes some 40 ms
 * longer. What is in the container may be hostile: the host key tells whether it is the container, and nothing more.
 */
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { open, readFile, type FileHandle } from 'node:fs/promises';
import { createConnection } from 'node:net';
import type { Duplex } from 'node:stream';
import { pathOnly, placeOf } from '../../../system/files/descriptor';
import type { OpenPipes } from '../../../system/streams/pipe-streams';
import { NotYet } from '../engine';

/** Nobody can read this program, and so nobody inside can trace it, from its first moment on. */
const enter = ['/usr/sbin/sshd', '-i', '-e', '-f', '/run/cai/sshd_config'] as const;

const asSuch = pathOnly | constants.O_NOFOLLOW;

/**
 * A new stream to the sshd of a container whose first process has that id, as the engine's machine counts; `pid` is
 * undefined where that is another one. `exec` has the engine start a program inside; `undefined`: the container stands
 * still, does not run, or is gone. Rejects with `NotYet`, as `exec`, and as sockets do.
 */
export async function wayInto(
  exec: (argv: readonly string[]) => Promise<Duplex | undefined>,
  pid: number | undefined,
  env: NodeJS.ProcessEnv,
): Promise<Duplex> {
  const door = await find('ssh', pid, env);
  if (door !== undefined) return await connectTo(door);
  const stream = await exec(enter);
  if (stream === undefined) throw new NotYet('the container stands still or does not run');
  return stream;
}

/** Opens our ends of the named pipes `NAME.in` and `NAME.out`; `undefined`: they cannot be reached from here. */
export async function pipesInto(
  name: string,
  pid: number | undefined,
  env: NodeJS.ProcessEnv,
): Promise<OpenPipes | undefined> {
  const input = await openPipe(await find(`${name}.in`, pid, env), constants.O_WRONLY);
  if (input === undefined) return undefined;
  const output = await find(`${name}.out`, pid, env)
    .then((found) => openPipe(found, constants.O_RDONLY))
    .catch(() => undefined);
  if (output !== undefined) return { input, output };
  closeSync(input);
  return undefined;
}

/** What is opened is the pipe that was looked at: the agent can put something else in its place. */
async function openPipe(found: FileHandle | undefined, way: number): Promise<number | undefined> {
  try {
    if ((await found?.stat())?.isFIFO() !== true) return undefined;
    return openSync(placeOf(found!.fd), way | constants.O_NONBLOCK);
  } catch {
    // Nobody is at its other end.
    return undefined;
  } finally {
    await found?.close();
  }
}

/**
 * What has that name where the container's way in is, of the container whose first process that is; `undefined`: it cannot
 * be reached from here.
 */
async function find(
  name: string,
  pid: number | undefined,
  env: NodeJS.ProcessEnv,
): Promise<FileHandle | undefined> {
  if (env.CAI_WAY_IN === 'exec' || pid === undefined) return undefined;
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  // An engine elsewhere counts other processes.
  if (!command.includes('\0/run/cai/keeper\0')) return undefined;
  // A kernel without CONFIG_PROC_CHILDREN has no such file.
  const listed = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => undefined);
  if (listed === undefined) return undefined;
  const children = listed.match(/\d+/g);
  if (children === null) throw new NotYet('nobody is at its door yet');
  // Only into one that may be traced: the porter, or what an agent has left behind.
  for (const child of children) {
    const found = await findIn(`/proc/${child}/root`, name).catch(() => undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Step by step: who is root in the container can put a link in the place of each folder on the way. */
async function findIn(root: string, name: string): Promise<FileHandle> {
  let at = await open(root, pathOnly);
  for (const part of ['run', 'cai', 'door', name]) {
    const folder = at;
    try {
      at = await open(placeOf(folder.fd, part), asSuch);
    } finally {
      await folder.close();
    }
  }
  return at;
}

/** What is connected to is the socket that was looked at: the agent can put a link in its place. */
async function connectTo(door: FileHandle): Promise<Duplex> {
  try {
    if (!(await door.stat()).isSocket()) throw new NotYet('its socket is no socket');
    const socket = createConnection(placeOf(door.fd));
    await once(socket, 'connect');
    return socket;
  } finally {
    await door.close();
  }
}
