/**
 * Whatever ends, is reset or says no more on the way out, and whenever: both ends get an answer or an end, and `cai` goes
 * on. An error that nobody takes would fail the test that it comes in.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, createSecureContext, TLSSocket } from 'node:tls';
import { authorityOf, identityFor, type Identity } from '../../../src/network/keys/authority';
import { KeyedHost } from '../../../src/network/egress/keyed-host';
import { EgressProxy } from '../../../src/network/egress/proxy';
import { listening } from '../../support/listening';
import { newFolder } from '../../support/temp-folder';

jest.mock('../../../src/network/keys/authority', () =>
  jest.requireActual<object>('../../support/known-identities'),
);

const host = 'api.example';
const place = { host, port: 443 };

/** What a peer does from some step on. */
const faults = {
  ends: (socket: Socket) => socket.end(),
  resets: (socket: Socket) => socket.resetAndDestroy(),
  'says no more': () => undefined,
} as const;
type Fault = keyof typeof faults;

/** In the order in which they come. */
const steps = ['connect', 'TLS', 'head', 'body', 'answer', 'answer body', 'trailers', 'upgrade'] as const;
type Step = (typeof steps)[number];

/** What the server has said when it comes to a step, if that is nothing but the usual. */
const begun: Partial<Record<Step, string>> = {
  answer: 'HTTP/1.1 200 OK\r\nContent-Le',
  'answer body': 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun',
  trailers: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n5\r\nbegun\r\n0\r\nA: ',
  upgrade: 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nbegun',
};

interface Way {
  readonly isKeyed: boolean;
  /** Of CONNECT; absent: the request itself goes to the proxy. */
  readonly isTunnel: boolean;
  readonly isUpgrade: boolean;
}
const ways: Readonly<Record<string, Way>> = {
  'plain HTTP': { isKeyed: false, isTunnel: false, isUpgrade: false },
  'another protocol over plain HTTP': { isKeyed: false, isTunnel: false, isUpgrade: true },
  'a tunnel': { isKeyed: false, isTunnel: true, isUpgrade: false },
  'a host with a key': { isKeyed: true, isTunnel: true, isUpgrade: false },
  'another protocol at a host with a key': { isKeyed: true, isTunnel: true, isUpgrade: true },
};

const stepsOf = ({ isKeyed, isUpgrade }: Way): Step[] =>
  steps.filter((step) => {
    if (step === 'TLS') return isKeyed;
    if (step === 'upgrade') return isUpgrade;
    return !isUpgrade || step === 'connect' || step === 'head' || step === 'answer';
  });

let own: Identity;
let world: Identity;
let real: Identity;
beforeAll(async () => {
  [own, world] = await Promise.all([authorityOf(newFolder()), authorityOf(newFolder())]);
  real = await identityFor(host, world);
});

/** The programs of a test. */
const programs: Socket[] = [];
afterEach(() => programs.splice(0).forEach((socket) => socket.destroy()));

const serving = (onSocket: (socket: Socket) => void): Promise<number> =>
  listening(createServer({ allowHalfOpen: true }, (socket) => onSocket(socket.on('error', () => undefined))));

/** Resolves with what a stream says once that has this text, or its end. */
async function saying(stream: Duplex, text: string): Promise<void> {
  let said = '';
  for await (const [chunk] of on(stream)) {
    said += chunk.toString('latin1');
    if (said.includes(text)) return;
  }
}

async function* on(stream: Duplex): AsyncGenerator<[Buffer]> {
  while (!stream.readableEnded && !stream.destroyed) {
    const chunk = stream.read() as Buffer | null;
    if (chunk !== null) yield [chunk];
    else await Promise.race(['readable', 'end', 'close'].map((name) => once(stream, name)));
  }
}

/** A server that goes wrong at a step; resolves with its port, and with the connection once it has come to that. */
async function faultyServer({ isKeyed }: Way, step: Step, fault: Fault) {
  let reach!: (stream: Duplex) => void;
  const reached = new Promise<Duplex>((resolve) => (reach = resolve));
  const play = async (socket: Socket): Promise<void> => {
    let stream: Duplex = socket;
    if (step === 'TLS') await once(socket, 'data');
    else if (step !== 'connect') {
      if (isKeyed)
        stream = new TLSSocket(socket, { isServer: true, secureContext: createSecureContext(real) });
      stream.on('error', () => undefined);
      await saying(stream, step === 'body' ? 'sent' : '\r\n\r\n');
      const text = begun[step];
      if (text !== undefined) await new Promise((resolve) => stream.write(text, resolve));
    }
    faults[fault](socket);
    reach(stream);
  };
  const port = await serving((socket) => void play(socket));
  return { port, reached };
}

/** Where every place is. */
let portOfServer: number;
const tunnel = async (): Promise<Socket> => {
  const socket = connect({ port: portOfServer, host: '127.0.0.1', allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
};
const dialler = {
  tunnel,
  direct: tunnel,
  check: () => Promise.resolve(),
  noted: <T>(_: object, made: T) => made,
  proxyFor: () => undefined,
};
// One for all: it makes a key pair.
const keyed = new KeyedHost(place, {
  withKeys: (plain) => Promise.resolve(plain),
  exchangeAt: () => undefined,
  authority: () => Promise.resolve(own),
  dialler,
  authorities: () => [world.cert],
});

/** The proxy of a container, on a port; every place is that server. */
async function proxyTo(port: number, isKeyed: boolean): Promise<number> {
  portOfServer = port;
  const policy = { admit: () => Promise.resolve(), stillAdmits: () => () => true, noteEnd: () => undefined };
  const proxy = new EgressProxy(policy, dialler, () => (isKeyed ? keyed : undefined));
  return await serving((socket) => proxy.take(socket));
}

/** A program in the container: its connection, and the stream on which it has begun its request. */
async function asking(port: number, { isKeyed, isTunnel, isUpgrade }: Way) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
  programs.push(socket);
  let stream: Duplex = socket;
  if (isTunnel) {
    socket.write(`CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await saying(socket, '\r\n\r\n');
    if (isKeyed) {
      stream = connectTls({ socket, servername: host, ca: own.cert }).on('error', () => undefined);
      await once(stream, 'secureConnect');
    }
  }
  const target = isTunnel ? '/' : `http://${host}:80/`;
  stream.write(
    isUpgrade
      ? `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`
      : `POST ${target} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1000000\r\n\r\nsent`,
  );
  return { socket, stream };
}

const isOver = (stream: Duplex): boolean => stream.destroyed || stream.readableEnded;

/** Resolves when a stream has ended, or broken off; what it said before that. */
async function heard(stream: Duplex): Promise<string> {
  let said = '';
  stream.on('data', (chunk: Buffer) => (said += chunk.toString('latin1')));
  if (!isOver(stream)) await Promise.race(['end', 'close'].map((name) => once(stream, name)));
  return said;
}

const cases = Object.entries(ways).flatMap(([name, way]) =>
  stepsOf(way).flatMap((step) =>
    (Object.keys(faults) as Fault[])
      // A program that goes at a later step is below.
      .filter((fault) => fault !== 'says no more' || step === 'connect' || step === 'TLS')
      .map((fault) => [name, fault, step] as const),
  ),
);

test.each(cases)('%s: a server that %s at this step: %s', async (name, fault, step) => {
  const way = ways[name]!;
  const { port, reached } = await faultyServer(way, step, fault);
  const { socket, stream } = await asking(await proxyTo(port, way.isKeyed), way);
  const far = await reached;
  const end = heard(stream);

  if (fault === 'says no more') {
    // It could still say something. Whoever has asked goes, and the server is told.
    socket.resetAndDestroy();
    // Who is being connected to is given up after a time.
    if (!way.isKeyed) await heard(far);
    return;
  }

  const said = await end;
  // Where the two are not simply joined, an answer that had not begun says why there is none.
  if (way.isKeyed || !(way.isTunnel || way.isUpgrade))
    expect(said).toMatch(/^HTTP\/1\.1 (?:502 cai: |200 OK|101 )/);
});

test.each(
  Object.entries(ways).flatMap(([name, way]) =>
    stepsOf(way)
      .filter((step) => step !== 'connect' && step !== 'TLS')
      .flatMap((step) => (['ends', 'resets'] as const).map((fault) => [name, fault, step] as const)),
  ),
)('%s: a program that %s while the server is at this step: %s', async (name, fault, step) => {
  const way = ways[name]!;
  const { port, reached } = await faultyServer(way, step, 'says no more');
  const { socket } = await asking(await proxyTo(port, way.isKeyed), way);
  const far = await reached;

  faults[fault](socket);

  await heard(far);
});
