/** The user's SSH agent in a container: `[git] ssh_agent` and `sign`. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { buildTimeoutMs } from './place';
import { git } from './repository';
import { login, names, sshPlace, type SshPlace } from './ssh-world';
import { folder, ownFile } from './support';

let world: SshPlace;
beforeAll(async () => {
  world = await sshPlace({ allowed: [names[0]], isSigning: true });
}, buildTimeoutMs);

const url = (name: string, port = world.port) => `ssh://${login}@${name}:${port}${world.remote}`;

test('git pushes to an allowed host, whose key is known inside', async () => {
  const commands =
    'git commit --quiet --allow-empty --message inside && git push --quiet "$1" HEAD:refs/heads/new';

  await world.place.prints(['sh', '-c', commands, 'sh', url(names[0])]);

  expect(execFileSync('git', ['-C', world.remote, 'log', '-1', '--format=%s', 'new'], { encoding: 'utf8' })).toBe('inside\n'); // prettier-ignore
});

test('git does not get in elsewhere, and a line says why', async () => {
  const ssh = 'ssh -o StrictHostKeyChecking=no -o BatchMode=yes';

  const { status, stderr } = await world.place.run(['git', '-c', `core.sshCommand=${ssh}`, 'ls-remote', url(names[1], world.otherPort)]); // prettier-ignore

  expect(status).not.toBe(0);
  expect(stderr).toContain('Permission denied (publickey');
  expect(stderr).toMatch(
    /the SSH agent refuses a container for SHA256:\S+: a server that is not in git.ssh_agent/,
  );
});

test('commits and tags are signed with the key of git', async () => {
  await world.place.prints([
    'sh',
    '-c',
    'git commit --quiet --allow-empty --message signed && git tag -m v1 v1',
  ]);

  const signers = join(folder, 'signers');
  ownFile(signers, `ada@example.com ${world.userKey.line}\n`);
  const check = (...what: string[]) =>
    git(world.cai, '-C', world.place.workspace, '-c', `gpg.ssh.allowedSignersFile=${signers}`, ...what);
  expect(check('log', '-1', '--format=%G? %GS %s')).toBe('G ada@example.com signed');
  expect(check('verify-commit', 'HEAD')).toBe('');
  expect(check('verify-tag', 'v1')).toBe('');
});

test('the socket is gone with its command', async () => {
  const socket = await world.place.prints(['sh', '-c', 'test -S "$SSH_AUTH_SOCK" && echo "$SSH_AUTH_SOCK"']);

  expect(socket).toMatch(/^\/tmp\/cai-ssh-agent-/);
  expect(await world.place.prints(['sh', '-c', 'ls /tmp | grep -c cai-ssh-agent'])).toBe('1');
  expect((await world.place.run(['test', '-e', socket])).status).toBe(1);
});

test('without an agent on this machine the command runs, and the user is told', async () => {
  const args = ['exec', '--workspace', world.place.workspace, '--', 'sh', '-c', 'echo "[$SSH_AUTH_SOCK]"'];

  const { stdout, stderr } = await world.cai.run(args, { env: { SSH_AUTH_SOCK: undefined } });

  expect(stdout.toString()).toBe('[]\n');
  expect(stderr).toContain('SSH_AUTH_SOCK names none: start one');
});
