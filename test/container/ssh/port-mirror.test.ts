import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { PortMirror } from '../../../src/container/ssh/port-mirror';
import type { RemoteProcess } from '../../../src/container/ssh/remote-process';
import { freePort, isOpen } from '../../support/ports';
import { listening } from '../../support/listening';

/** A container whose watcher a test plays, and whose ports echo. */
class FakeContainer {
  readonly output = new PassThrough();
  readonly told: string[] = [];
  readonly reached: string[] = [];
  unreachable: string | undefined;
  endWatcher: () => void = () => undefined;
  readonly opening = PortMirror.open(
    {
      run: () =>
        Promise.resolve({
          ...{ stdin: new PassThrough(), stdout: this.output, stderr: new PassThrough() },
          exited: new Promise((resolve) => (this.endWatcher = () => resolve({ status: 127 }))),
        } as unknown as RemoteProcess),
      openTunnel: (port: number, address: string | undefined) => {
        this.reached.push(`${address!} ${port}`);
        return address === this.unreachable
          ? Promise.reject(new Error('nobody'))
          : Promise.resolve(new PassThrough());
      },
    },
    (sentence) => this.told.push(sentence),
  );

  /** Resolves when the lines have been acted on: the last one is for a port that is known to be opened by them. */
  async says(lines: string, until: () => Promise<boolean>): Promise<void> {
    this.output.write(lines);
    while (!(await until())) await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('PortMirror', () => {
  let container: FakeContainer;
  let mirror: PortMirror;
  beforeEach(async () => {
    container = new FakeContainer();
    mirror = await container.opening;
  });
  afterEach(() => mirror.close());

  test('has a port here as long as the command has it there', async () => {
    const port = await freePort();
    await container.says(`+${port} 127.0.0.1\n`, () => isOpen(port));

    const echo = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).end('code=1');
    expect(await text(echo)).toBe('code=1');
    await container.says(`-${port}\n`, async () => !(await isOpen(port)));

    await container.says(`+${port} ::1\n`, () => isOpen(port));
    expect(container.reached.at(-1)).toBe(`::1 ${port}`);
  });

  test('tries the second address where the first does not answer', async () => {
    const port = await freePort();
    container.unreachable = '127.0.0.1';
    await container.says(`+${port} 127.0.0.1 ::1\n`, () => isOpen(port));
    container.reached.length = 0;

    const echo = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).end('x');

    expect(await text(echo)).toBe('x');
    expect(container.reached).toEqual([`127.0.0.1 ${port}`, `::1 ${port}`]);
  });

  test('has none any more when it is closed, and cuts off what goes on', async () => {
    const port = await freePort();
    await container.says(`+${port} 127.0.0.1\n`, () => isOpen(port));
    const socket = connect(port, '127.0.0.1').resume();
    await once(socket, 'connect');
    const closed = once(socket, 'close');

    await mirror.close();

    await closed;
    expect(await isOpen(port)).toBe(false);
  });

  test('says that a port is in use here', async () => {
    const port = await listening(createServer());

    await container.says(`+${port} 127.0.0.1\n`, () => Promise.resolve(container.told.length > 0));

    expect(container.told).toEqual([
      `127.0.0.1:${port} is in use by another program, so the browser cannot bring its answer to the sign-in: end that program and sign in again`,
    ]);
  });

  test('has no more than four, and says so', async () => {
    const ports = [await freePort(), await freePort(), await freePort(), await freePort(), await freePort()];
    const lines = ports.map((port) => `+${port} 127.0.0.1\n`).join('');

    await container.says(lines, () => Promise.resolve(container.told.length > 0));

    expect(await Promise.all(ports.map(isOpen))).toEqual([true, true, true, true, false]);
    expect(container.told).toEqual([
      `the sign-in listens on more than 4 ports: ${ports[4]} is not on this machine`,
    ]);
  });

  test.each([
    '+80 127.0.0.1',
    '+1023 127.0.0.1',
    '+70000 127.0.0.1',
    '+ 127.0.0.1',
    'x',
    `+${'1'.repeat(1_000)}`,
  ])('does not take "%s" for a port', async (line) => {
    const port = await freePort();

    await container.says(`${line}\n+${port} 127.0.0.1\n`, () => isOpen(port));

    expect(container.told).toEqual([]);
  });

  test('says little of a command that listens everywhere', async () => {
    const ports = await Promise.all(Array.from({ length: 4 }, freePort));
    const others = Array.from({ length: 1_000 }, (_, n) => 20_000 + n).filter(
      (port) => !ports.includes(port),
    );
    const lines = [...ports, ...others].map((port) => `+${port} 127.0.0.1\n`).join('');
    await container.says(lines, () => isOpen(ports[0]!));

    await container.says(`-${ports[0]}\n`, async () => !(await isOpen(ports[0]!)));

    expect(container.told).toHaveLength(8);
  });

  test('says that nothing is mirrored when the watcher ends by itself', async () => {
    container.endWatcher();

    await container.says('', () => Promise.resolve(container.told.length > 0));

    expect(container.told[0]).toContain('--fresh');
  });
});
