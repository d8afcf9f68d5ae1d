/** The socket by which a container is entered, as programs of this machine reach it. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import type { Place } from './place';
import { user } from './support';

/** Its path, by a process of the container into which the container's user may look. */
export async function doorOf(place: Place): Promise<string> {
  const pid = await place.inspect('{{.State.Pid}}');
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  for (const child of children) {
    const door = `/proc/${child}/root/run/cai/door/ssh`;
    if ((await whatHears(user, door)) !== 'EACCES') return door;
  }
  throw new Error(`no way in by ${children.join(', ')}`);
}

/** A port of 127.0.0.1 that leads to it, for programs that can only use one. */
export async function portTo(door: string): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer((socket) => {
    const inside = connect(door);
    for (const [from, to] of [[socket, inside], [inside, socket]] as const) {
      from.on('error', () => to.destroy()).pipe(to);
    } // prettier-ignore
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, server };
}

const script = `const socket = require('node:net').connect(process.argv[1]);
socket.on('data', (said) => { process.stdout.write(said); socket.destroy(); }).on('error', ({ code }) => process.stdout.write(code));`;

/** What another process hears or fails with that connects there as that user: what sshd says first, or `EACCES`. */
export function whatHears(
  ids: { readonly uid: number; readonly gid: number },
  door: string,
): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['-e', script, door], { ...ids, cwd: '/' }, (_, stdout) => resolve(stdout));
  });
}
