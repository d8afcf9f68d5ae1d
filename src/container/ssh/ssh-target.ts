/** Where a container's sshd is, and what is said of one that cannot be used. */
import type { Duplex } from 'node:stream';
import { CaiError, messageOf } from '../../errors';
import { printableLine } from '../../system/quoted';
import type { OpenPipes } from '../../system/streams/pipe-streams';
import { NotYet } from '../engine/engine';

/** Where a container's sshd is, and by what it is known. */
export interface SshTarget {
  /** A new stream to it, as `wayInto` gives one. */
  connect(): Promise<Duplex>;
  /** Our ends of the named pipes of a command, as `Engine.openPipes` gives them. */
  readonly openPipes?: ((name: string) => Promise<OpenPipes | undefined>) | undefined;
  /** The only host key that is accepted: `SHA256:...`. */
  readonly hostKey: string;
  /** The key that we log in with, in OpenSSH's format. */
  readonly privateKey: string;
  readonly container: string;
  /** What people type to see why it does not answer. */
  readonly lookCommand: string;
}

/** As sshd does with a client that has not logged in in time, which on a busy machine need not be its fault. */
export const closedEarly = 'the connection was closed before we were logged in';

/** Whether it looks as if sshd were only not there yet, or overrun. */
export function isStarting(reason: unknown): boolean {
  const { code, message } = reason as NodeJS.ErrnoException;
  return (
    reason instanceof NotYet ||
    ['EAGAIN', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(code ?? '') ||
    message.includes('before handshake') ||
    message === closedEarly
  );
}

/** The failure of the attempts to connect, of which `reason` ended the last. */
export function cannotConnect({ container, lookCommand }: SshTarget, reason: unknown): CaiError {
  const isRefused = (reason as { level?: string }).level === 'client-authentication';
  const why = isRefused
    ? 'does not accept our SSH key: remove it with "cai rm", and the next command recreates it'
    : `cannot be reached (${printableLine(messageOf(reason))}): see "${lookCommand}"; if that does not help, remove it with "cai rm", and the next command recreates it`;
  return new CaiError('SSH_CONNECT', `container "${container}" ${why}`, undefined, { cause: reason });
}

/** The failure of a connection that has ended. */
export function connectionLost({ container, lookCommand }: SshTarget, reason: string): CaiError {
  const what = `the connection to container "${container}" is lost (${reason})`;
  return new CaiError('SSH_CONNECT', `${what}: see "${lookCommand}"`);
}

/** The failure of a connection that something else has answered. */
export function wrongHostKey({ container, hostKey }: SshTarget, offered: string): CaiError {
  const what = `container "${container}" answers with host key ${offered}, but was made with ${hostKey}`;
  return new CaiError('HOST_KEY', `${what}: if you have not changed it yourself, remove it with "cai rm"`);
}
