/** Real clients, a real agent and real servers of OpenSSH, with the proxy between. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { AgentProxy } from '../../../src/network/ssh-agent/agent-proxy';
import { knownIn } from '../../../src/network/ssh-agent/known-hosts';
import { message, readIdentities } from '../../../src/network/ssh-agent/requests';
import {
  maxMessageBytes,
  messagesOf,
  uint32,
  WireReader,
  wireString,
} from '../../../src/network/ssh-agent/wire';
import {
  hasSshd,
  login,
  newKey,
  runWith,
  startAgent,
  startServer,
  type KeyPair,
} from '../../support/ssh-world';
import { newFolder } from '../../support/temp-folder';

const folder = newFolder();
let userKey: KeyPair;
let gitKey: KeyPair;
let agent: string;
/** Each line that the proxy told. */
let told: string[] = [];
const servers: Server[] = [];
const clients: Socket[] = [];

beforeAll(async () => {
  userKey = newKey(folder, 'user');
  gitKey = newKey(folder, 'git');
  agent = await startAgent(folder, [userKey, gitKey]);
});
beforeEach(() => (told = []));
afterEach(async () => {
  const closed = clients.splice(0).filter(({ closed: isClosed }) => !isClosed);
  await Promise.all(closed.map((each) => (each.destroy(), once(each, 'close'))));
});
afterAll(() => servers.forEach((each) => each.close()));

/** A proxy that allows a host with these keys; resolves with its socket. */
async function proxyFor(known: readonly KeyPair[], signing?: KeyPair): Promise<string> {
  const text = known.map(({ line }) => `allowed.example ${line}\n`).join('');
  const hosts = knownIn([text], ['allowed.example']);
  const hostWith = (key: Buffer) => hosts.find(({ keys }) => keys.some((each) => each.equals(key)))?.host;
  const proxy = new AgentProxy(agent, { hostWith, signingKey: signing?.blob }, (line) => told.push(line));
  const socket = join(folder, `proxy-${servers.length}.sock`);
  const server = createServer((stream) => void proxy.take(stream)).listen(socket);
  servers.push(server);
  await once(server, 'listening');
  return socket;
}

/** A connection on which requests are written by hand. */
class ByHand {
  readonly #answers: AsyncGenerator<Buffer, void>;

  private constructor(readonly socket: Socket) {
    this.#answers = messagesOf(socket);
  }

  static async to(path: string): Promise<ByHand> {
    const socket = connect(path);
    clients.push(socket.on('error', () => undefined));
    await once(socket, 'connect');
    return new ByHand(socket);
  }

  /** The answer; empty if the connection was closed instead. */
  async ask(...parts: readonly Buffer[]): Promise<Buffer> {
    this.socket.write(wireString(Buffer.concat(parts)));
    const { value } = await this.#answers.next();
    return value ?? Buffer.alloc(0);
  }

  /** Binds the connection as a client would. */
  async bind(...[hostKey, sessionId, signature, isForwarding = false]: Bind): Promise<number> {
    const parts = [hostKey, sessionId, signature].map(wireString);
    const head = [Buffer.from([message.extension]), wireString('session-bind@openssh.com')];
    return (await this.ask(...head, ...parts, Buffer.from([isForwarding ? 1 : 0])))[0]!;
  }

  async sign(key: KeyPair, data: Buffer): Promise<number> {
    const head = Buffer.from([message.signRequest]);
    return (await this.ask(head, wireString(key.blob), wireString(data), uint32(0)))[0]!;
  }
}

type Bind = [hostKey: Buffer, sessionId: Buffer, signature: Buffer, isForwarding?: boolean];

/** What that key signs, asked of an agent of its own as no client may. */
async function signatureBy(key: KeyPair, data: Buffer): Promise<Buffer> {
  const own = await ByHand.to(await startAgent(newFolder(), [key]));
  const head = Buffer.from([message.signRequest]);
  const answer = await own.ask(head, wireString(key.blob), wireString(data), uint32(4));
  return new WireReader(answer.subarray(1)).string();
}

/** What a client signs to log in. */
function loginData(sessionId: Buffer, key: KeyPair, hostKey?: Buffer): Buffer {
  const method = hostKey === undefined ? 'publickey' : 'publickey-hostbound-v00@openssh.com';
  return Buffer.concat([
    ...[wireString(sessionId), Buffer.from([50]), wireString('git'), wireString('ssh-connection')],
    ...[wireString(method), Buffer.from([1]), wireString('ssh-ed25519'), wireString(key.blob)],
    ...(hostKey === undefined ? [] : [wireString(hostKey)]),
  ]);
}

(hasSshd ? describe : describe.skip)('with a real server', () => {
  test.each(['ed25519', 'ecdsa', 'rsa'])(
    'a client logs in at an allowed host that has a key of %s',
    async (type) => {
      const hostKey = newKey(folder, `host-${type}`, type);
      const port = await startServer(folder, hostKey, [userKey]);

      const said = await login(await proxyFor([hostKey]), port);

      expect(said).toEqual({ status: 0, stdout: 'in\n', stderr: '' });
      expect(told).toEqual([]);
    },
  );

  test('a client does not log in at a host that is not allowed, and the refusal names its key', async () => {
    const [allowed, other] = [newKey(folder, 'allowed'), newKey(folder, 'other')];
    const port = await startServer(folder, other, [userKey]);

    const { status, stderr } = await login(await proxyFor([allowed]), port);

    expect([status, stderr]).toEqual([255, expect.stringContaining('Permission denied')]);
    const print = spawnSync('ssh-keygen', ['-lf', `${other.file}.pub`], { encoding: 'utf8' }).stdout.split(' ')[1]; // prettier-ignore
    expect(told[0]).toBe(`the SSH agent refuses a container for ${print}: a server that is not in git.ssh_agent, or is unknown`); // prettier-ignore
  });

  test('the agent is not there for whoever is logged in at an allowed host', async () => {
    const hostKey = newKey(folder, 'forwarded');
    const port = await startServer(folder, hostKey, [userKey]);

    const said = await login(await proxyFor([hostKey]), port, ['-A'], 'ssh-add -l; echo "status $?"');

    expect(said.stdout).not.toContain('SHA256');
    expect(said.stdout).toMatch(/status [12]/);
    expect(told).not.toEqual([]);
  });
});

describe('a connection', () => {
  const sessionId = Buffer.alloc(32, 7);
  let hostKey: KeyPair;
  let signature: Buffer;
  let socket: string;

  beforeAll(async () => {
    hostKey = newKey(folder, 'by-hand');
    signature = await signatureBy(hostKey, sessionId);
    socket = await proxyFor([hostKey]);
  });

  test('gets a signature of its login once it is bound, and the names of no files with the keys', async () => {
    const client = await ByHand.to(socket);

    expect(await client.bind(hostKey.blob, sessionId, signature)).toBe(message.success);
    const answer = await client.ask(Buffer.from([message.requestIdentities]));
    expect(readIdentities(answer)).toEqual([userKey.blob, gitKey.blob]);
    expect(answer.toString('latin1')).not.toContain('comment');
    expect(await client.sign(userKey, loginData(sessionId, userKey))).toBe(message.signResponse);
    expect(await client.sign(userKey, loginData(sessionId, userKey, hostKey.blob))).toBe(
      message.signResponse,
    );
    expect(told).toEqual([]);
  });

  test('gets nothing before it is bound', async () => {
    const client = await ByHand.to(socket);

    expect(readIdentities(await client.ask(Buffer.from([message.requestIdentities])))).toEqual([]);
    expect(await client.sign(userKey, loginData(sessionId, userKey))).toBe(message.failure);
    expect(told).toEqual([
      'the SSH agent refuses a container: keys are listed for connections to allowed servers alone',
      'the SSH agent refuses a container: something is not signed: it is for no connection to an allowed server',
    ]);
  });

  test('is not bound by a signature of something else, or by another key', async () => {
    const other = newKey(folder, 'forger');
    const attempts: Bind[] = [
      [hostKey.blob, Buffer.alloc(32, 8), signature],
      [hostKey.blob, sessionId, await signatureBy(other, sessionId)],
      [hostKey.blob, sessionId, Buffer.concat([signature, Buffer.from([0])])],
      [hostKey.blob, sessionId, Buffer.alloc(0)],
    ];
    for (const attempt of attempts) {
      const client = await ByHand.to(socket);

      expect(await client.bind(...attempt)).toBe(message.failure);
      expect(await client.sign(userKey, loginData(attempt[1], userKey))).toBe(message.failure);
    }
    expect(told.filter((line) => line.endsWith('for allowed.example: a connection that this server has not signed'))).toHaveLength(4); // prettier-ignore
  });

  test('is not bound for an agent that is forwarded, and gets nothing afterwards', async () => {
    const client = await ByHand.to(socket);

    expect(await client.bind(hostKey.blob, sessionId, signature, true)).toBe(message.failure);
    expect(await client.bind(hostKey.blob, sessionId, signature)).toBe(message.failure);
    expect(await client.sign(userKey, loginData(sessionId, userKey))).toBe(message.failure);
  });

  test('that is bound again, also with what another was bound with, is bound no more', async () => {
    const otherId = Buffer.alloc(32, 9);
    const client = await ByHand.to(socket);
    await client.bind(hostKey.blob, sessionId, signature);

    expect(await client.bind(hostKey.blob, otherId, await signatureBy(hostKey, otherId))).toBe(
      message.failure,
    );
    expect(await client.sign(userKey, loginData(sessionId, userKey))).toBe(message.failure);
    expect(await client.sign(userKey, loginData(otherId, userKey))).toBe(message.failure);
  });

  test('replays of an earlier one are good for a login at that one alone', async () => {
    const client = await ByHand.to(socket);
    await client.bind(hostKey.blob, sessionId, signature);

    expect(await client.sign(userKey, loginData(Buffer.alloc(32, 10), userKey))).toBe(message.failure);
    expect(told).toEqual(['the SSH agent refuses a container for allowed.example: something is not signed: it is for another connection']); // prettier-ignore
  });

  test.each([
    ['a login by another key', () => loginData(sessionId, gitKey)],
    ['a login at another server', () => loginData(sessionId, userKey, newKey(newFolder(), 'any').blob)],
    ['a login with more behind it', () => Buffer.concat([loginData(sessionId, userKey), Buffer.from([0])])],
    ['a login that is cut off', () => loginData(sessionId, userKey).subarray(0, -1)],
    ['a commit, where that is not allowed', () => Buffer.from('SSHSIG')],
    ['nothing', () => Buffer.alloc(0)],
  ])('gets no signature of %s', async (_, data) => {
    const client = await ByHand.to(socket);
    await client.bind(hostKey.blob, sessionId, signature);

    expect(await client.sign(userKey, data())).toBe(message.failure);
    expect(told).toHaveLength(1);
  });

  test.each([1, 17, 18, 19, 20, 21, 22, 23, 25, 26, 0, 255])(
    'cannot make a request of kind %d',
    async (kind) => {
      const client = await ByHand.to(socket);
      await client.bind(hostKey.blob, sessionId, signature);
      const keysBefore = (await runWith(agent, 'ssh-add', ['-l'])).stdout;

      expect((await client.ask(Buffer.from([kind]), wireString(userKey.blob)))[0]).toBe(message.failure);
      expect(told).toEqual([`the SSH agent refuses a container for allowed.example: a request of kind ${kind}, which containers may not make`]); // prettier-ignore
      expect((await runWith(agent, 'ssh-add', ['-l'])).stdout).toBe(keysBefore);
    },
  );

  test('cannot use another extension', async () => {
    const client = await ByHand.to(socket);

    const [kind] = await client.ask(Buffer.from([message.extension]), wireString('query'));

    expect(kind).toBe(message.extensionFailure);
  });

  test.each([0, maxMessageBytes + 1, 0xffff_ffff])(
    'that announces a message of %d bytes is closed',
    async (length) => {
      const client = await ByHand.to(socket);

      client.socket.write(uint32(length));
      await once(client.socket, 'close');

      expect(told).toEqual([expect.stringContaining(`a message of ${length} bytes`)]);
    },
  );

  test('may send the longest message byte by byte and many at once, and each is answered', async () => {
    const client = await ByHand.to(socket);
    const long = Buffer.alloc(maxMessageBytes, message.extension);
    const bytes = wireString(long);
    for (let at = 0; at < 64; at++) client.socket.write(bytes.subarray(at, at + 1));
    client.socket.write(bytes.subarray(64));

    expect((await client.ask(Buffer.from([message.requestIdentities])))[0]).toBe(message.failure);
    expect((await client.ask(Buffer.from([99])))[0]).toBe(message.identitiesAnswer);
  });

  test('does not come to more than 32 others, and what is refused is told a hundred times', async () => {
    const all = await Promise.all(Array.from({ length: 32 }, () => ByHand.to(socket)));
    // Each is served once it has an answer.
    for (const each of all) await each.ask(Buffer.from([message.extension]), wireString('query'));
    const more = await ByHand.to(socket);
    await once(more.socket, 'close');
    expect(told.at(-1)).toContain('more than 32 connections at once');

    const proxy = await proxyFor([hostKey]);
    told = [];
    const loud = await ByHand.to(proxy);
    for (let count = 0; count < 150; count++) await loud.ask(Buffer.from([99]));

    expect(told).toHaveLength(101);
    expect(told[100]).toBe('what the SSH agent refuses this command is not told any more');
  });
});

describe('where git may sign', () => {
  const sign = async (socket: string, namespace: string, key: KeyPair) => {
    const file = join(newFolder(), 'text');
    writeFileSync(file, 'a commit');
    const said = await runWith(socket, 'ssh-keygen', ['-Y', 'sign', '-n', namespace, '-f', `${key.file}.pub`, '-U', file]); // prettier-ignore
    return { ...said, file };
  };

  test('ssh-keygen signs a commit with the key of git, and the signature is good', async () => {
    const { status, file } = await sign(await proxyFor([], gitKey), 'git', gitKey);

    expect(status).toBe(0);
    const signers = join(folder, 'signers');
    writeFileSync(signers, `me ${gitKey.line}\n`);
    const check = ['-Y', 'verify', '-f', signers, '-I', 'me', '-n', 'git', '-s', `${file}.sig`];
    expect(spawnSync('ssh-keygen', check, { input: readFileSync(file) }).status).toBe(0);
    expect(told).toEqual([]);
  });

  test.each([
    ['of another namespace', 'file', () => gitKey, 'it is no commit or tag of git'],
    ['with another key', 'git', () => userKey, 'another key than that of user.signingkey is asked for'],
  ])('ssh-keygen signs nothing %s', async (_, namespace, key, why) => {
    const socket = await proxyFor([], gitKey);

    expect((await sign(socket, namespace, key())).status).not.toBe(0);
    // It asks only for keys that are listed; a hostile program needs no list.
    const client = await ByHand.to(socket);
    const parts = ['', 'sha512', Buffer.alloc(64)].map(wireString);
    const data = Buffer.concat([Buffer.from('SSHSIG'), wireString(namespace), ...parts]);
    expect(await client.sign(key(), data)).toBe(message.failure);
    expect(told.at(-1)).toBe(`the SSH agent refuses a container: something is not signed: ${why}`);
  });

  test('keys other than that of git are not listed', async () => {
    const client = await ByHand.to(await proxyFor([], gitKey));

    expect(readIdentities(await client.ask(Buffer.from([message.requestIdentities])))).toEqual([gitKey.blob]);
  });

  test.each([
    ['something in the reserved field', ['git', 'x', 'sha512', Buffer.alloc(64)]],
    ['another hash', ['git', '', 'md5', Buffer.alloc(16)]],
    ['a hash of another length', ['git', '', 'sha512', Buffer.alloc(32)]],
    ['more behind it', ['git', '', 'sha256', Buffer.alloc(32), 'x']],
  ])('a commit with %s is not signed', async (_, parts) => {
    const client = await ByHand.to(await proxyFor([], gitKey));

    const data = Buffer.concat([Buffer.from('SSHSIG'), ...parts.map((part) => wireString(part))]);

    expect(await client.sign(gitKey, data)).toBe(message.failure);
  });
});

/** A request for a signature that git may have with `gitKey`. */
const ofGit = () =>
  Buffer.concat([
    Buffer.from('SSHSIG'),
    ...['git', '', 'sha256', Buffer.alloc(32)].map((part) => wireString(part)),
  ]);

test.each([
  ['is gone', undefined],
  ['never answers', () => undefined],
])('an agent that %s is told, and the client hears of it', async (name, onConnection) => {
  const [path, silent] = ['.sock', '-agent'].map((end) => join(folder, `${name}${end}`));
  if (onConnection !== undefined) servers.push(createServer(onConnection).listen(silent));
  const hosts = { hostWith: () => undefined, signingKey: gitKey.blob };
  const proxy = new AgentProxy(silent!, hosts, (line) => told.push(line), 10);
  const server = createServer((stream) => void proxy.take(stream)).listen(path);
  servers.push(server);
  await once(server, 'listening');
  const client = await ByHand.to(path!);

  for (let count = 0; count < 2; count++) expect(await client.sign(gitKey, ofGit())).toBe(message.failure);
  const line = 'the SSH agent refuses a container: the SSH agent of this machine does not answer';
  expect(told).toEqual([line, line]);
});

test('a client that reads slowly is waited for without another listener for each answer', async () => {
  let most = 0;
  const stream = new Duplex({
    writableHighWaterMark: 1,
    read: () => undefined,
    write: (_chunk, _encoding, done) => {
      most = Math.max(most, stream.listenerCount('close'));
      setImmediate(done);
    },
  });
  for (let count = 0; count < 20; count++) stream.push(wireString(Buffer.from([99])));
  stream.push(null);

  await new AgentProxy(agent, { hostWith: () => undefined, signingKey: undefined }, () => undefined).take(
    stream,
  );

  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(10);
});
