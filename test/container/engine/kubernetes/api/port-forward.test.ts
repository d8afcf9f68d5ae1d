/**
 * Sources of the form: Kubernetes, kubelet/pkg/cri/streaming/portforward/websocket.go (the port on each channel, the text
 * on channel 1, the end of the connection with the data) and apiserver/pkg/util/wsstream/conn.go (a close frame at the end).
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { WebSocketServer, type WebSocket } from 'ws';
import { openForward } from '../../../../../src/container/engine/kubernetes/api/port-forward';
import { Requests } from '../../../../../src/container/engine/kubernetes/api/requests';
import { PlayedApi, status } from './played-api';

const port = 8022;
const to = { namespace: 'ours', pod: 'a', port };
/** Little endian. */
const portOn = (channel: number) => Buffer.from([channel, port & 255, port >> 8]);
const data = (content: string) => Buffer.concat([Buffer.from([0]), Buffer.from(content)]);

let api: PlayedApi;
const nodes = new WebSocketServer({ noServer: true });
const hungNodes = new WebSocketServer({ noServer: true, autoPong: false });
/** What a node does with a connection; refusals come before. */
let serve: (webSocket: WebSocket) => void;
let refuse: ((request: IncomingMessage) => string | undefined) | undefined;
let requests: IncomingMessage[] = [];
let playing = nodes;
beforeAll(async () => {
  api = await PlayedApi.start();
  api.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    requests.push(request);
    const refusal = refuse?.(request);
    if (refusal !== undefined) socket.end(refusal);
    else playing.handleUpgrade(request, socket, head, (webSocket) => serve(webSocket));
  });
});
afterAll(() => api.end());
beforeEach(() => {
  requests = [];
  refuse = undefined;
  playing = nodes;
  api.credentials = [{ token: 'first' }];
});
afterEach(() => [nodes, hungNodes].forEach(({ clients }) => clients.forEach((each) => each.terminate())));

/** Opens a connection of which the test plays the node. */
async function opened(kind = nodes): Promise<{ forward: Duplex; node: WebSocket }> {
  playing = kind;
  let node!: WebSocket;
  serve = (webSocket) => {
    node = webSocket;
    node.send(portOn(0));
    node.send(portOn(1));
  };
  return { forward: await openForward(new Requests(api.cluster), to), node };
}

/** The next message to the node. */
async function received(node: WebSocket): Promise<Buffer> {
  return ((await once(node, 'message')) as [Buffer])[0];
}

describe('a connection', () => {
  test('asks for one port in the form of version 4, as we', async () => {
    const { forward } = await opened();

    expect(requests[0]?.url).toBe('/api/v1/namespaces/ours/pods/a/portforward?ports=8022');
    expect(requests[0]?.headers).toMatchObject({
      authorization: 'Bearer first',
      'sec-websocket-protocol': 'v4.channel.k8s.io',
    });
    forward.destroy();
  });

  test('is open once the node has told the port on both channels, however it cuts that', async () => {
    let node!: WebSocket;
    serve = (webSocket) => {
      node = webSocket;
      [Buffer.from([0, 1]), Buffer.from([1, 1, 2]), data('')].forEach((each) => node.send(each));
      node.once('pong', () => node.send(Buffer.from([0, 2, 65])));
      node.ping();
    };

    const forward = await openForward(new Requests(api.cluster), to);

    expect(String(await once(forward, 'data'))).toBe('A');
    forward.destroy();
  });

  test('carries what is written and what the pod says, as bytes', async () => {
    const { forward, node } = await opened();

    const got = received(node);
    forward.write(Buffer.from([0, 255, 10]));
    expect(await got).toEqual(Buffer.from([0, 0, 255, 10]));
    node.send(Buffer.from([0, 1, 2]));

    expect((await once(forward, 'data'))[0]).toEqual(Buffer.from([1, 2]));
    forward.destroy();
  });

  test('cuts what is too long for a node, and joins what is short', async () => {
    const { forward, node } = await opened();
    const lengths: number[] = [];
    const all = new Promise<void>((resolve) => {
      node.on('message', (message: Buffer) => {
        lengths.push(message.length - 1);
        if (lengths.reduce((sum, each) => sum + each) === 600_003) resolve();
      });
    });

    forward.write(Buffer.alloc(600_000));
    for (const each of ['a', 'b', 'c']) forward.write(each);
    await all;

    expect(lengths).toEqual([262_144, 262_144, 75_712, 3]);
    forward.destroy();
  });

  test('takes no more than is read', async () => {
    const { forward, node } = await opened();
    const carrier = (node as unknown as { _socket: Duplex })._socket;
    // More than the kernel holds for both ends, which can be 38 MB. Source: tcp(7), tcp_rmem and tcp_wmem.
    while (carrier.writableLength < 64_000_000) node.send(Buffer.alloc(262_145), () => undefined);
    const sent = await new Promise<boolean>((resolve) => {
      node.once('pong', () => resolve(true));
      forward.once('readable', () => setImmediate(() => resolve(false)));
    });

    expect(sent).toBe(false);
    expect(forward.readableLength).toBeLessThan(2_000_000);
    expect(carrier.writableLength).toBeGreaterThan(0);
    const drained = once(carrier, 'drain');
    forward.resume();
    await drained;
    forward.destroy();
  });

  test('ends the WebSocket when it is destroyed', async () => {
    const { forward, node } = await opened();
    const closed = once(node, 'close');
    forward.destroy();

    expect((await closed)[0]).toBe(1006);
  });
});

describe('its end', () => {
  test('by the pod comes after all that it has said, and what is written then is no failure', async () => {
    const { forward, node } = await opened();
    node.send(data('last'));
    node.close(1000);
    await once(node, 'close');
    forward.write('too late');

    expect(await text(forward)).toBe('last');
    expect(forward.errored).toBeNull();
  });

  test('by us waits for what the pod still says', async () => {
    const { forward, node } = await opened();
    const got = received(node);
    forward.end('all');
    await got;
    node.send(data('answer'));
    const closed = once(node, 'close');

    expect(await text(forward)).toBe('answer');
    expect((await closed)[0]).toBe(1000);
  });

  test('is a failure if the connection was cut', async () => {
    const { forward, node } = await opened();
    const failed = once(forward, 'error');
    node.terminate();

    expect(String((await failed)[0])).toContain(
      'port 8022 of the pod ours/a: the connection broke off (1006)',
    );
  });

  test('is a failure in the words of the node', async () => {
    const { forward, node } = await opened();
    const failed = once(forward, 'error');
    node.send(
      Buffer.concat([Buffer.from([1]), Buffer.from('error forwarding port 8022: connection refused')]),
    );

    expect((await failed)[0]).toMatchObject({
      message: 'port 8022 of the pod ours/a: error forwarding port 8022: connection refused',
      isPassing: true,
    });
  });
});

describe('a node that gives no sign of life', () => {
  beforeEach(() =>
    jest.useFakeTimers({
      now: Date.now(),
      doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'],
    }),
  );
  afterEach(() => jest.useRealTimers());

  /** The next ping comes. */
  async function pinged(node: WebSocket): Promise<void> {
    const ping = once(node, 'ping');
    jest.advanceTimersByTime(15_000);
    await ping;
  }

  test('is given up after a few pings without an answer', async () => {
    const { forward, node } = await opened(hungNodes);
    const failed = once(forward, 'error') as Promise<[Error]>;
    const pings: unknown[] = [];
    let reason: unknown;
    // Without the time between them, the first of these see bytes that are still on their way.
    for (let ticks = 0; ticks < 8 && reason === undefined; ticks++) {
      const next = once(node, 'ping').then((ping) => void pings.push(ping));
      jest.advanceTimersByTime(15_000);
      reason = await Promise.race([next, failed.then(([error]) => error)]);
    }

    expect(String(reason)).toContain('port 8022 of the pod ours/a: there was no sign of life');
    expect(pings.length).toBeGreaterThanOrEqual(2);
  });

  test('is another than one that has nothing to say', async () => {
    const { forward, node } = await opened();
    for (let ticks = 0; ticks < 10; ticks++) {
      await pinged(node);
      // What the node says then comes after its pong.
      node.send(data('x'));
      await once(forward, 'data');
    }

    expect(forward.destroyed).toBe(false);
    forward.destroy();
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('an attempt fails', () => {
  const open = (limitMs?: number) => openForward(new Requests(api.cluster), to, limitMs);

  test('if nobody listens, which the node may say at once', async () => {
    serve = (node) => {
      [portOn(0), portOn(1), Buffer.concat([Buffer.from([1]), Buffer.from('connection refused')])].forEach(
        (each) => node.send(each),
      );
      node.close(1000);
    };

    await expect(open()).rejects.toMatchObject({ isPassing: true });
  });

  test('if the node falls silent', async () => {
    serve = (node) => node.send(portOn(0));

    await expect(open(300)).rejects.toThrow('no answer for 0.3 s');
  });

  test('if the node ends it', async () => {
    serve = (node) => node.close(1000);

    await expect(open()).rejects.toThrow('the node has closed it at once');
  });

  test('if it is refused, in the words of the server', async () => {
    const body = JSON.stringify(status(404, 'NotFound', 'pods "a" not found', 'pods'));
    refuse = () => `HTTP/1.1 404 Not Found\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

    await expect(open()).rejects.toMatchObject({ status: 404, kind: 'pods', message: 'pods "a" not found' });
  });

  test('with old credentials, and then not with new ones', async () => {
    api.credentials = [{ token: 'first' }, { token: 'second' }];
    refuse = ({ headers }) =>
      headers.authorization === 'Bearer second'
        ? undefined
        : 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n';

    const { forward } = await opened();

    expect(requests).toHaveLength(2);
    forward.destroy();
  });

  test('if there is no server', async () => {
    const cluster = { ...api.cluster, server: 'https://127.0.0.1:1' };

    await expect(openForward(new Requests(cluster), to)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
