import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { encode } from 'uqr';
import { cai, runInTerminal, userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';

/** A user, and a way to start and end their server at its usual socket and any port. */
function newUser() {
  const user = userWith('[agents.none]\ncommand = ["/bin/true"]\n[serve]\nagents = ["none"]\n');
  const socket = join(user.env!.HOME!, '.local/state/containai/serve/serve.sock');
  const start = async (...addresses: string[]) => {
    const args = addresses.flatMap((each) => ['--listen', each]);
    const server = spawn(process.execPath, [cai, 'serve', ...args], {
      ...{ cwd: user.cwd, env: { PATH: process.env.PATH, ...user.env } },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    const address = (await lines.next()).value as string;
    const end = async (): Promise<void> => {
      const gone = once(server, 'close');
      server.kill();
      await gone;
    };
    return { address, end };
  };
  const run = (...args: string[]) => runHere(['serve', 'link', ...args], user);
  return { start, run, socket, user };
}

test('the link is alone on stdout; a QR code of it is on stderr', async () => {
  const { start, run } = newUser();
  const { address, end } = await start('127.0.0.1:0');
  const { status, stdout, stderr } = await run('--qr');
  const other = await run();
  const forNobody = await run('--user', 'eve');
  await end();

  expect(status).toBe(0);
  expect(stdout).toMatch(new RegExp(`^${address}/#ticket=[\\w-]{43}\n$`));
  const size = encode(stdout.trim(), { border: 2 }).size;
  const rows = stderr.split('\n').filter((line) => line.startsWith('\u001b[97;40m'));
  expect(rows.map((line) => line.length - '\u001b[97;40m\u001b[0m'.length)).toEqual(
    Array(Math.ceil(size / 2)).fill(size),
  );
  expect(other.stdout).not.toBe(stdout);
  expect(other.stderr).toBe(
    'cai: whoever opens it first is signed in: it works once, and for five minutes\n',
  );
  expect(forNobody).toMatchObject({ status: 11, stdout: '' });
  expect(forNobody.stderr).toContain('nobody of that name has a token');
});

test('without a server, or one that browsers can reach, it says what to do', async () => {
  const { start, run, socket } = newUser();
  const without = await run();
  const { end } = await start(`unix:${socket}`);
  const unreached = await run();
  await end();

  expect(without).toMatchObject({ status: 11, stdout: '' });
  expect(without.stderr).toContain('no "cai serve" of yours listens on');
  expect(unreached.stderr).toContain('give it one by --listen HOST:PORT');
});

test('a server that ends in the middle of its answer is named', async () => {
  const { run, socket } = newUser();
  mkdirSync(dirname(socket), { recursive: true, mode: 0o700 });
  const server = createServer((stream) => stream.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{')).listen(
    socket,
  );
  await once(server, 'listening');
  const { status, stderr } = await run();
  server.close();

  expect(status).toBe(11);
  expect(stderr).toMatch(/^cai: the server at .*serve\.sock cannot be used: .*aborted\n$/);
});

test('a terminal gets no QR code for an address that no phone can open', async () => {
  const { start, user } = newUser();
  const { end } = await start('127.0.0.1:0');
  const { stdout } = await runInTerminal(['serve', 'link'], user);
  await end();

  expect(stdout).toContain('/#ticket=');
  expect(stdout).not.toContain('\u001b[97;40m');
  expect(stdout).toContain('for a phone, set "tls_cert" and "tls_key" in [serve]');
});
