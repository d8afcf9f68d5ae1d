import { sshFailure, sshMissing } from '../../../../../src/container/engine/docker/elsewhere/ssh-failure';

const target = { host: 'build', user: 'me', port: '22' };

// Observed: OpenSSH 9.2, Docker 28.2.
test.each([
  [
    255,
    'Host key verification failed.\r\n',
    /host key of its machine is not known: run "ssh -p 22 me@build" once/,
  ],
  [
    255,
    '@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\nHost key verification failed.\r\n',
    /another host key than before, so somebody may be in between/,
  ],
  [255, 'me@build: Permission denied (publickey,password).\r\n', /not let in .*"ssh-add".*~\/\.ssh\/config/],
  [
    255,
    'ssh: Could not resolve hostname build: Name or service not known\r\n',
    /ssh knows no machine -p 22 me@build/,
  ],
  [255, 'ssh: connect to host build port 22: Connection refused\r\n', /its machine does not answer ssh/],
  [255, 'ssh: connect to host build port 22: Connection timed out\r\n', /its machine does not answer ssh/],
  [
    255,
    'Bad owner or permissions on /home/me/.ssh/config\r\n',
    /ssh says "Bad owner or permissions on \/home/,
  ],
  [null, '', /ssh says "nothing"/],
  [127, 'bash: line 1: docker: command not found\n', /its machine has neither docker nor podman/],
  [
    1,
    'failed to open the raw stream connection: dial unix /var/run/docker.sock: connect: no such file or directory\n',
    /^does not answer on its own machine \(failed to open .*\): see whether "ssh -p 22 me@build docker version" works$/,
  ],
])('status %s, %j is told in plain words', (status, stderr, message) => {
  const failure = sshFailure(target, status, stderr);

  expect(failure.message).toMatch(message);
  expect(failure.isProgramMissing).toBe(status === 127);
});

test('a machine without ssh is told what to install', () => {
  expect(sshMissing(Object.assign(new Error('spawn ssh ENOENT'), { code: 'ENOENT' })).message).toMatch(
    /install OpenSSH/,
  );
  expect(sshMissing(new Error('spawn ssh EAGAIN')).message).toMatch(/spawn ssh EAGAIN$/);
});
