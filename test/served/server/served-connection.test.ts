/** A connection whose process is a script, and whose client is an outlet of the test's. */
import { once, EventEmitter } from 'node:events';
import { tmpdir } from 'node:os';
import type { LiveSession } from '../../../src/served/server/traffic/live-session';
import type { Closing, Outlet } from '../../../src/served/server/client-stream';
import { ServedConnection, type ConnectionOptions } from '../../../src/served/server/served-connection';
import { SessionClaims } from '../../../src/served/server/traffic/session-claims';
import { noLog, program } from '../../agent/agent-run';
import { codeOf } from '../../support/code-of';
import { newFolder } from '../../support/temp-folder';

/** Says `count` notifications of `size` bytes for each call of `say`; answers every request. */
const script = `
  const send = (m) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params = {} } = JSON.parse(line);
    for (let n = 1; n <= (params.count ?? 0); n++)
      send({ method: 'said', params: { n, pad: 'x'.repeat(params.size ?? 0) } });
    if (method === 'session/new') send({ id, result: { sessionId: 's' } });
    else if (id !== undefined) send({ id, result: {} });
  }).on('close', () => process.exit(0));
`;

const made: ServedConnection[] = [];
afterEach(async () => {
  await Promise.all(made.splice(0).map((each) => each.close('ending', 'the test is over')));
});

/** What a client sees, and how much it takes. */
class Client extends EventEmitter implements Outlet {
  readonly got: { number: number; message: { id?: unknown; params?: { n?: number } } }[] = [];
  closed: [Closing, string] | undefined;
  /** Lines that it still takes before it is full. */
  room = Infinity;

  send(line: Buffer, number: number): boolean {
    this.got.push({ number, message: JSON.parse(line.toString()) as never });
    this.room--;
    this.emit('line');
    return this.room > 0;
  }

  close(why: Closing, reason: string): void {
    this.closed = [why, reason];
    this.emit('closed');
  }

  get numbers(): number[] {
    return this.got.map(({ number }) => number);
  }

  /** Resolves when the answer to that request has come. */
  async answer(id: number): Promise<void> {
    while (!this.got.some(({ message }) => message.id === id)) await once(this, 'line');
  }
}

interface Made {
  readonly connection: ServedConnection;
  /** Resolves with whether the end was expected. */
  readonly ended: Promise<boolean>;
}

const usual: ConnectionOptions['process'] = {
  agent: program(process.execPath, '-e', script),
  cwd: tmpdir(),
  env: { PATH: process.env.PATH },
  limits: { maxLineBytes: 1e9, maxSearchBytes: 0 },
  log: noLog,
};

function connect(options: Partial<ConnectionOptions> = {}): Made {
  let end: (isExpected: boolean) => void;
  const ended = new Promise<boolean>((resolve) => (end = resolve));
  const connection = new ServedConnection({
    id: 'c',
    visitor: { name: 'owner' },
    process: usual,
    hear: () => undefined,
    isSplit: false,
    keep: { bytes: 1_000_000, lines: 1_000 },
    graceMs: 600_000,
    stallMs: 600_000,
    sessions: new Map<string, LiveSession>(),
    claims: new SessionClaims(newFolder()),
    answered: () => undefined,
    onEnd: (isExpected) => end(isExpected),
    ...options,
  });
  made.push(connection);
  return { connection, ended };
}

function call(connection: ServedConnection, id: number, params = {}, method = 'say'): boolean {
  return connection.receive(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params })));
}

test('a message that is nothing but space is counted and has no effect', async () => {
  const { connection } = connect();
  const client = new Client();
  connection.attach(client);
  connection.receive(Buffer.from(' \t '));
  call(connection, 1);
  await client.answer(1);

  expect(connection.received).toBe(2);
  expect(client.numbers).toEqual([1]);
});

test('what the process says while nobody is there waits for whoever comes back', async () => {
  const { connection } = connect();
  const [before, after] = [new Client(), new Client()];
  connection.attach(before);
  call(connection, 1, { count: 1 });
  await before.answer(1);
  connection.detach(before, false);
  call(connection, 2, { count: 2 });

  connection.attach(after, 1);
  await after.answer(2);
  expect(after.numbers).toEqual([2, 3, 4, 5]);
  expect(before.numbers).toEqual([1, 2]);
});

test('one who comes back takes the place of the one before, which may not have been noticed to be gone', async () => {
  const { connection } = connect();
  const [before, after] = [new Client(), new Client()];
  connection.attach(before);
  connection.attach(after);
  expect(before.closed?.[0]).toBe('replaced');

  connection.detach(before, true);
  call(connection, 1);
  await after.answer(1);
  expect(before.got).toEqual([]);
});

test('more than is kept is not given in part: the loss is told', async () => {
  const { connection } = connect({ keep: { bytes: 1_000_000, lines: 5 } });
  const client = new Client();
  connection.attach(client);
  call(connection, 1, { count: 10 });
  await client.answer(1);

  expect(client.numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(codeOf(() => connection.check(5))).toBe('GONE');
  expect(codeOf(() => connection.attach(new Client(), 5))).toBe('GONE');
  expect(client.closed).toBeUndefined();
  expect(codeOf(() => connection.check(12))).toBe('USAGE');
  expect(codeOf(() => connection.check(6))).toBeUndefined();
});

test('the process waits for a client that does not read, and nothing is lost', async () => {
  const { connection } = connect({ keep: { bytes: 100_000, lines: 1_000 } });
  const client = new Client();
  client.room = 1;
  connection.attach(client);
  call(connection, 1, { count: 500, size: 10_000 });
  await once(client, 'line');
  client.room = Infinity;
  connection.flush();
  await client.answer(1);

  expect(client.got.slice(0, -1).map(({ message }) => message.params!.n)).toEqual(
    Array.from({ length: 500 }, (_, index) => index + 1),
  );
});

test('a client that takes nothing for too long is cut, and may come back', async () => {
  const { connection } = connect({ stallMs: 20 });
  const [slow, after] = [new Client(), new Client()];
  slow.room = 1;
  connection.attach(slow);
  call(connection, 1, { count: 3 });
  await once(slow, 'closed');

  expect(slow.closed).toEqual(['slow', 'the client has taken nothing for 0.02 s']);
  connection.attach(after, slow.numbers.at(-1));
  await after.answer(1);
  expect(after.numbers).toEqual([2, 3, 4]);
});

test('a client that has much before it in one line is given time for it', async () => {
  const { connection } = connect({ stallMs: 20 });
  const slow = new Client();
  slow.room = 1;
  connection.attach(slow);
  const since = performance.now();
  call(connection, 1, { count: 2, size: 16_000 });
  await once(slow, 'closed');

  expect(performance.now() - since).toBeGreaterThan(1_000);
});

test('its process ends when nobody comes back in time', async () => {
  const { connection, ended } = connect({ graceMs: 30 });
  const client = new Client();
  connection.attach(client);
  call(connection, 1);
  await client.answer(1);
  connection.detach(client, false);
  expect(connection.isOver).toBe(false);

  expect(await ended).toBe(true);
  expect(connection.isOver).toBe(true);
});

test('its process ends at once when a client is gone that has said nothing', async () => {
  const { connection, ended } = connect();
  const client = new Client();
  connection.attach(client);
  connection.detach(client, false);

  expect(await ended).toBe(true);
});

test('a bug that a message meets ends its connection alone', async () => {
  const log = { ...noLog, error: jest.fn() };
  const answered = () => {
    throw new Error('a bug');
  };
  const { connection, ended } = connect({ answered, process: { ...usual, log } });
  const client = new Client();
  connection.attach(client);
  call(connection, 1);
  await once(client, 'closed');

  expect(client.closed).toEqual(['failed', 'internal error']);
  expect(await ended).toBe(true);
  const said = { err: new Error('a bug'), connection: 'c' };
  expect(log.error).toHaveBeenCalledWith(said, 'internal error: a connection is ended');
});

test('a client that says no more has its answers, and then the process ends', async () => {
  const { connection, ended } = connect();
  const client = new Client();
  connection.attach(client);
  call(connection, 1);
  connection.inputIsOver();

  await client.answer(1);
  expect(await ended).toBe(true);
});

test('the client is told when the process has ended by itself', async () => {
  const { connection, ended } = connect({
    process: { ...usual, agent: program(process.execPath, '-e', 'process.exit(3)') },
  });
  const client = new Client();
  connection.attach(client);

  expect(await ended).toBe(false);
  expect(client.closed).toEqual(['ended', expect.stringContaining('status 3')]);
});

test('with a stream for each session, each has its lines and its numbers', async () => {
  const { connection } = connect({ isSplit: true });
  const [own, ofSession] = [new Client(), new Client()];
  connection.attach(own);
  call(connection, 1, {}, 'session/new');
  await own.answer(1);
  connection.attach(ofSession, undefined, 's');
  call(connection, 2, { sessionId: 's' }, 'session/prompt');
  await ofSession.answer(2);

  expect(own.numbers).toEqual([1]);
  expect(ofSession.numbers).toEqual([1]);
});

describe('two connections that share a session', () => {
  async function shared(options: Partial<ConnectionOptions> = {}) {
    const sessions = new Map<string, LiveSession>();
    const home = connect({ sessions, ...options });
    const guest = connect({ sessions });
    const [desk, phone] = [new Client(), new Client()];
    home.connection.attach(desk);
    guest.connection.attach(phone);
    call(home.connection, 1, {}, 'session/new');
    await desk.answer(1);
    call(guest.connection, 2, { sessionId: 's' }, 'session/resume');
    await phone.answer(2);
    return { home, guest, desk, phone };
  }

  test('a slow client does not keep the other waiting: it is cut when more waits than is kept', async () => {
    const { home, desk, phone } = await shared({ keep: { bytes: 50_000, lines: 1_000 } });
    desk.room = 1;
    call(home.connection, 3, { sessionId: 's', count: 100, size: 1_000 }, 'session/prompt');
    await once(desk, 'closed');

    expect(desk.closed?.[0]).toBe('slow');
    expect(phone.closed).toBeUndefined();
  });

  test('the process lives on for a guest when its client has gone for good, and ends with the guest', async () => {
    const { home, guest, desk, phone } = await shared();
    home.connection.detach(desk, true);
    call(guest.connection, 4, { sessionId: 's' }, 'session/prompt');
    await phone.answer(4);

    guest.connection.detach(phone, true);
    expect(await guest.ended).toBe(true);
    expect(await home.ended).toBe(true);
  });
});

test('who waits for room is told when the process has ended instead', async () => {
  const { connection, ended } = connect({
    process: { ...usual, agent: program(process.execPath, '-e', 'setTimeout(() => {}, 1e9)') },
  });
  connection.attach(new Client());
  const message = { jsonrpc: '2.0', method: 'x', params: 'x'.repeat(2_000_000) };
  expect(connection.receive(Buffer.from(JSON.stringify(message)))).toBe(false);
  const told = new Promise<void>((resolve) => connection.whenRoom(resolve));
  connection.end();

  await told;
  expect(await ended).toBe(true);
});
