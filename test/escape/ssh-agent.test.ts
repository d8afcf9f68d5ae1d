/** Attacks on the user's SSH agent, of which a container has what `[git]` allows. */
import { buildTimeoutMs } from '../engine/place';
import { login, names, sshPlace, type SshPlace } from '../engine/ssh-world';
import { runWith } from '../support/ssh-world';
import { attempt, reachedIf } from './attempt';

let world: SshPlace;
beforeAll(async () => {
  world = await sshPlace({ allowed: [names[0]] });
}, buildTimeoutMs);

const usual = ['BatchMode=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR'];
const options = usual.flatMap((each) => ['-o', each]);
const ssh = (...more: string[]) => ['ssh', ...options, ...more, '-p', `${world.port}`];

/** Fails if the way that is allowed does not work: nothing would be tried then. */
async function works(): Promise<void> {
  const said = await world.place.prints([...ssh(), `${login}@${names[0]}`, 'echo in']);
  if (said !== 'in') throw new Error(said);
}

/** Talks to the agent as a program that keeps to no rule: each request is Python; prints the kinds of the answers. */
function asks(...requests: readonly string[]): readonly string[] {
  const script = `
import os, socket, struct
def s(b): return struct.pack('>I', len(b)) + b
def ask(b):
    c.sendall(s(b))
    head = c.recv(4, socket.MSG_WAITALL)
    return c.recv(struct.unpack('>I', head)[0], socket.MSG_WAITALL) if len(head) == 4 else b'\\0'
c = socket.socket(socket.AF_UNIX); c.connect(os.environ['SSH_AUTH_SOCK'])
key = bytes.fromhex('${world.userKey.blob.toString('hex')}')
${requests.map((request) => `print(ask(${request})[0])`).join('\n')}`;
  return ['python3', '-c', script];
}

const signResponse = '14';

/** What a program prints; that something is refused is told on stderr. */
async function says(command: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await world.place.run(command);
  if (status !== 0) throw new Error(stderr);
  return stdout.toString().trim();
}

attempt('an agent logs in with a key of the user at a host that is not allowed', async () => {
  await works();
  const other = ['ssh', ...options, '-p', `${world.otherPort}`, `${login}@${names[1]}`, 'echo in'];
  const { stdout } = await world.place.run(other);
  return reachedIf(stdout.toString().includes('in'), stdout.toString());
});

attempt('an agent uses a key of the user from a server that it is logged in at', async () => {
  await works();
  const { stdout } = await world.place.run([...ssh('-A'), `${login}@${names[0]}`, 'ssh-add -l']);
  return reachedIf(stdout.toString().includes('SHA256'), stdout.toString());
});

attempt('an agent gets a signature of the user for a login without a connection', async () => {
  await works();
  const data =
    "s(b'x' * 32) + b'\\x32' + s(b'git') + s(b'ssh-connection') + s(b'publickey') + b'\\1' + s(b'ssh-ed25519') + s(key)";
  const said = await says(asks(`b'\\x0d' + s(key) + s(${data}) + bytes(4)`));
  return reachedIf(said === signResponse, said);
});

attempt('an agent gets a signature of the user for a session that a key of its own has signed', async () => {
  await works();
  const bind = "b'\\x1b' + s(b'session-bind@openssh.com') + s(key) + s(b'x' * 32) + s(s(b'ssh-ed25519') + s(b'y' * 64)) + b'\\0'"; // prettier-ignore
  const data =
    "s(b'x' * 32) + b'\\x32' + s(b'git') + s(b'ssh-connection') + s(b'publickey') + b'\\1' + s(b'ssh-ed25519') + s(key)";
  const said = await says(asks(bind, `b'\\x0d' + s(key) + s(${data}) + bytes(4)`));
  return reachedIf(said !== '5\n5', said);
});

attempt('an agent has the user sign a file or a commit, which the user has not allowed', async () => {
  await works();
  const sign = (namespace: string) =>
    `b'\\x0d' + s(key) + s(b'SSHSIG' + s(b'${namespace}') + s(b'') + s(b'sha512') + s(b'z' * 64)) + bytes(4)`;
  const said = await says(asks(sign('git'), sign('file')));
  return reachedIf(said.split('\n').includes(signResponse), said);
});

attempt('an agent puts a key into the agent of the user, takes one out, or locks it', async () => {
  await works();
  const before = (await runWith(world.agent, 'ssh-add', ['-l'])).stdout;
  const said = await says(asks("b'\\x13'", "b'\\x12' + s(key)", "b'\\x16' + s(b'secret')"));
  const after = (await runWith(world.agent, 'ssh-add', ['-l'])).stdout;
  return reachedIf(said !== '5\n5\n5' || after !== before || before === '', `${said}\n${after}`);
});

attempt('an agent learns which keys the user has without a connection to an allowed host', async () => {
  await works();
  const { stdout } = await world.place.run(['ssh-add', '-l']);
  return reachedIf(stdout.toString().includes('SHA256'), stdout.toString());
});

attempt('an agent fills the memory of cai by messages to the SSH agent that do not end', async () => {
  await works();
  const script = `
import os, socket, struct
all = []
for n in range(200):
    c = socket.socket(socket.AF_UNIX); c.connect(os.environ['SSH_AUTH_SOCK']); c.settimeout(5)
    all.append(c)
closed = 0
for c in all:
    try:
        c.sendall(struct.pack('>I', 0x7fffffff) + b'x' * 65536)
        while c.recv(1): pass
        closed += 1
    except socket.timeout: pass
    except OSError: closed += 1
print(closed)`;
  const said = await says(['python3', '-c', script]);
  await works();
  return reachedIf(said !== '200', `${said} of 200 connections were closed`);
});
