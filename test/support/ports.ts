import { once } from 'node:events';
import { connect } from 'node:net';

/** Whether something on this machine accepts connections at a port. */
export async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return await once(socket, 'connect').then(
    () => (socket.destroy(), true),
    () => false,
  );
}
