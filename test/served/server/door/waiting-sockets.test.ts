import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { WaitingSockets } from '../../../../src/served/server/door/waiting-sockets';

let lastPort = 0;

/** A socket from an address. */
function socketFrom(remoteAddress: string): Socket {
  const socket = Object.assign(new EventEmitter(), {
    remoteAddress,
    remotePort: ++lastPort,
    localPort: 8722,
    destroyed: false,
    destroy: () => {
      socket.destroyed = true;
      socket.emit('close');
    },
  });
  return socket as unknown as Socket;
}

/** These, of which two may wait; `true` for those that were ended. */
function ended(sockets: readonly Socket[], letIn: (waiting: WaitingSockets) => void = () => undefined) {
  const waiting = new WaitingSockets(2);
  const [last, ...first] = [...sockets].reverse();
  for (const each of first.reverse()) waiting.add(each);
  letIn(waiting);
  waiting.add(last!);
  return sockets.map(({ destroyed }) => destroyed);
}

test('the oldest goes when there are too many', () => {
  expect(ended(['10.0.0.1', '10.0.0.1', '10.0.0.1'].map(socketFrom))).toEqual([true, false, false]);
});

test('it is the oldest of the network that has most of them', () => {
  expect(ended(['10.0.0.1', '2001:db8::1', '2001:db8::2'].map(socketFrom))).toEqual([false, true, false]);
});

test('those by which somebody was let in, or that are closed, do not count', () => {
  const sockets = ['10.0.0.1', '10.0.0.1', '10.0.0.1'].map(socketFrom);
  const { remoteAddress, remotePort, localPort } = sockets[0]!;

  // TLS has another socket for the same connection.
  expect(
    ended(sockets, (waiting) => waiting.letIn({ remoteAddress, remotePort, localPort } as Socket)),
  ).toEqual([false, false, false]);
  expect(ended(sockets, () => sockets[1]!.emit('close'))).toEqual([false, false, false]);
});
