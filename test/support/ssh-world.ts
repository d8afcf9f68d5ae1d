/** OpenSSH's own programs on this machine: an agent with keys, servers with theirs, and clients. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { patienceMs } from './patience';
import { freePort, isOpen } from './ports';

const sshd = '/usr/sbin/sshd';

/** Where OpenSSH's server is not installed, what needs it is skipped. */
export const hasSshd = existsSync(sshd);

const started: ChildProcess[] = [];

afterAll(async () => {
  const running = started.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  const ended = running.map((each) => once(each, 'exit'));
  running.forEach((each) => each.kill('SIGKILL'));
  await Promise.all(ended);
});

/** A key pair. */
export interface KeyPair {
  /** The file of the private key; that of the public one ends with `.pub`. */
  readonly file: string;
  /** Type, base64 and comment. */
  readonly line: string;
  /** As SSH sends it. */
  readonly blob: Buffer;
}

/** Makes a key in a folder. */
export function newKey(folder: string, name: string, type = 'ed25519'): KeyPair {
  const file = join(folder, name);
  // Of RSA the smallest that is taken, as a larger one takes seconds; the other types have no choice of it.
  const size = type === 'rsa' ? ['-b', '2048'] : [];
  execFileSync('ssh-keygen', ['-q', '-t', type, ...size, '-N', '', '-C', `comment of ${name}`, '-f', file]);
  const line = readFileSync(`${file}.pub`, 'utf8').trim();
  return { file, line, blob: Buffer.from(line.split(' ')[1]!, 'base64') };
}

/** OpenSSH's agent with keys; resolves with its socket. `owner`: whom it runs as. */
export async function startAgent(
  folder: string,
  keys: readonly KeyPair[],
  owner?: { readonly uid: number; readonly gid: number },
): Promise<string> {
  const socket = join(folder, `agent-${started.length}.sock`);
  const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: ['ignore', 'pipe', 'ignore'], ...owner });
  started.push(agent);
  // It names its socket once it listens, which is later than the socket is there.
  await once(agent.stdout, 'data');
  for (const { file } of keys)
    execFileSync('ssh-add', ['-q', file], { env: { SSH_AUTH_SOCK: socket }, stdio: 'pipe', ...owner });
  return socket;
}

/** OpenSSH's server with that key, on a port of 127.0.0.1; it lets `authorized` in. Resolves with the port. */
export async function startServer(
  folder: string,
  hostKey: KeyPair,
  authorized: readonly KeyPair[],
): Promise<number> {
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true });
  const port = await freePort();
  const [config, keys] = [join(folder, `sshd-${port}`), join(folder, `authorized-${port}`)];
  writeFileSync(keys, authorized.map(({ line }) => `${line}\n`).join(''));
  chmodSync(keys, 0o644);
  const lines = [
    ...[`ListenAddress 127.0.0.1:${port}`, `HostKey ${hostKey.file}`, `AuthorizedKeysFile ${keys}`],
    ...['StrictModes no', 'UsePAM no', 'PidFile none', 'AllowAgentForwarding yes', 'LogLevel ERROR'],
  ];
  writeFileSync(config, lines.map((line) => `${line}\n`).join(''));
  started.push(spawn(sshd, ['-D', '-e', '-f', config], { stdio: 'ignore' }));
  await until(() => isOpen(port));
  return port;
}

/** Gives files to a user. */
export function giveTo(owner: { readonly uid: number; readonly gid: number }, ...files: string[]): void {
  if (userInfo().uid === 0) files.forEach((file) => chownSync(file, owner.uid, owner.gid));
}

/** What a program says, and its exit status. */
export interface Said {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program that is to use that agent. */
export async function runWith(
  socket: string,
  file: string,
  args: readonly string[],
  input = '',
): Promise<Said> {
  const env = { PATH: process.env.PATH, HOME: '/nowhere', SSH_AUTH_SOCK: socket };
  const child = spawn(file, args, { env });
  started.push(child);
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, ...said };
}

/** Logs in at a port of this machine with keys of an agent, and runs a command there. */
export async function login(
  socket: string,
  port: number,
  options: readonly string[] = [],
  command = 'echo in',
): Promise<Said> {
  const usual = [
    'BatchMode=yes',
    'StrictHostKeyChecking=no',
    'UserKnownHostsFile=/dev/null',
    'LogLevel=ERROR',
  ];
  const all = ['-F', '/dev/null', ...usual.flatMap((each) => ['-o', each]), ...options];
  return await runWith(socket, 'ssh', [...all, '-p', `${port}`, `${userInfo().username}@127.0.0.1`, command]);
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error('what was started does not come up');
    await pause(10);
  }
}
