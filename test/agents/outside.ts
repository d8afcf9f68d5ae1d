import { createServer, type AddressInfo } from 'node:net';

/** An HTTP proxy that connects to nothing and remembers who was asked for. */
export interface Outside {
  readonly url: string;
  /** First lines of the requests that came, such as `CONNECT host:443 HTTP/1.1`. */
  readonly attempts: readonly string[];
  close(): void;
}

/** Starts it on a free loopback port. Programs that honour HTTPS_PROXY cannot reach past it. */
export async function openOutside(): Promise<Outside> {
  const attempts: string[] = [];
  const server = createServer((socket) => {
    socket.once('data', (data) => {
      attempts.push(data.toString('latin1').split('\r\n', 1).join());
      socket.destroy();
    });
    // A program that is killed resets its connection.
    socket.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, attempts, close: () => server.close() };
}
