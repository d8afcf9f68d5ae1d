/** Why there is no connection by ssh, in plain words. */
import { programs, type SshTarget } from './ssh-program';

/** There is no connection by ssh to an engine; the message goes on after "the engine at ...". */
export class SshFailure extends Error {
  /** `isProgramMissing`: ssh got there, but not the program that leads on to the engine. */
  constructor(
    message: string,
    readonly isProgramMissing = false,
  ) {
    super(message);
  }
}

/** The status of a shell that does not find a program. */
const notFound = 127;
const ofSsh = 255;

/** What ssh says, and what to say of it. Source: OpenSSH, ssh.c, sshconnect.c, sshconnect2.c, misc.c. */
const known: readonly (readonly [RegExp, (name: string) => string])[] = [
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED/,
    (name) =>
      `cannot be reached: its machine has another host key than before, so somebody may be in between: see what "ssh ${name}" says`,
  ],
  [
    /Host key verification failed/,
    (name) =>
      `cannot be reached: the host key of its machine is not known: run "ssh ${name}" once, and compare the fingerprint`,
  ],
  [
    /Permission denied \(|Too many authentication failures/,
    (name) =>
      `cannot be reached: ssh is not let in without asking you: add your key with "ssh-add", or name it in ~/.ssh/config, until "ssh -o BatchMode=yes ${name} true" works`,
  ],
  [
    /Could not resolve hostname/,
    (name) => `cannot be reached: ssh knows no machine ${name}: correct the name, or add it to ~/.ssh/config`,
  ],
  [
    /Connection refused|timed out|No route to host|Network is unreachable/,
    (name) => `cannot be reached: its machine does not answer ssh: see whether "ssh ${name}" works`,
  ],
];

/**
 * The failure of an `ssh` that ended before the engine said anything, by its exit status (null: killed) and what it wrote
 * to stderr.
 */
export function sshFailure(target: SshTarget, status: number | null, stderr: string): SshFailure {
  const name = nameOf(target);
  const lines = stderr.split('\n').map((line) => line.trim());
  const last = lines.findLast((line) => line !== '' && !line.startsWith('ControlSocket ')) ?? 'nothing';
  if (status === notFound) {
    const missing = programs.join(' nor ');
    const remedy = `install Docker's command line there, and see that "ssh ${name} docker version" works`;
    return new SshFailure(
      `cannot be reached: its machine has neither ${missing} for "ssh ${name}": ${remedy}`,
      true,
    );
  }
  if (status !== null && status !== ofSsh) {
    const remedy = `see whether "ssh ${name} docker version" works`;
    return new SshFailure(`does not answer on its own machine (${last}): ${remedy}`);
  }
  const found = known.find(([pattern]) => pattern.test(stderr));
  const other = `cannot be reached: ssh says "${last}": see whether "ssh ${name}" works`;
  return new SshFailure(found?.[1](name) ?? other);
}

export function sshMissing(reason: NodeJS.ErrnoException): SshFailure {
  const why =
    reason.code === 'ENOENT' ? 'there is no program ssh here: install OpenSSH’s client' : reason.message;
  return new SshFailure(`cannot be reached: ${why}`);
}

/** As an argument of `ssh`. */
function nameOf({ user, host, port }: SshTarget): string {
  return `${port === undefined ? '' : `-p ${port} `}${user === undefined ? '' : `${user}@`}${host}`;
}
