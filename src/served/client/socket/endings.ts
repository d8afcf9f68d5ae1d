/** What the end of a socket, or a refusal to open one, means for the connection that it carried. */
import { closeCodes } from '../../carried';
import { NotOurs } from './other-end';
import { isCertificateError } from '../../../system/tls-errors';

export interface Ending {
  /**
   * `again`: the connection may go on by another socket. `over`: it cannot, but a new one may begin. `idle`: as
   * `again`, once there is something to send. `refused`: no other attempt would end better. `absent`: as `refused`
   * where nothing has come from the server yet, else as `again`.
   */
  readonly kind: 'again' | 'over' | 'idle' | 'refused' | 'absent';
  /** Why, for people; a part may be the server's words. */
  readonly reason: string;
}

const codes: Readonly<Record<number, readonly [Ending['kind'], string]>> = {
  // The end of a connection by the server, of whatever kind.
  1000: ['over', 'the server has ended the connection'],
  1005: ['over', 'the server has ended the connection'],
  1001: ['again', 'the server ends'],
  // With the same messages it would happen again.
  1002: ['over', 'the server sees an error in the protocol'],
  1003: ['over', 'the server does not take such a message'],
  1007: ['over', 'the server does not take such a message'],
  1008: ['refused', 'the server does not allow it'],
  1009: ['over', 'a message is longer than the server takes'],
  [closeCodes.replaced]: ['again', 'another socket has taken its place'],
  [closeCodes.ended]: ['over', "the agent's process on the server has ended"],
  [closeCodes.slow]: ['again', 'too much waited for us on the server'],
  [closeCodes.idle]: ['idle', 'nothing has passed for long'],
};

/** Of a socket that was open. `said` is the server's reason, `error` what went wrong here. */
export function endingOfClose(code: number, said: string, error?: Error): Ending {
  // A line that is too long, or is no message, comes again whenever the connection goes on.
  if (codeOf(error).startsWith('WS_ERR_'))
    return { kind: 'over', reason: `it sent what it must not: ${error!.message}` };
  const [kind, reason] = codes[code] ?? ['again', error?.message ?? 'the connection broke'];
  return { kind, reason: said === '' ? reason : `${reason}: ${said}` };
}

/** Of an attempt that was answered with a status instead; `isReturn`: to go on with a connection. */
export function endingOfStatus(status: number, said: string, isReturn: boolean): Ending {
  const what = `it answers ${status}${said === '' ? '' : `: ${said}`}`;
  if (isReturn && (status === 404 || status === 410))
    return { kind: 'over', reason: `the server does not have the connection any more (${status})` };
  if (status === 401 || status === 403) return { kind: 'refused', reason: `${what}. ${remedies[status]}` };
  const isPassing = status >= 500 || [408, 425, 429].includes(status);
  return { kind: isPassing && status !== 501 ? 'again' : 'refused', reason: what };
}

const remedies = {
  401: 'Give a token with --token-file; "cai serve token add" makes one on the server',
  403: 'Ask whoever runs the server to allow it',
} as const;

/**
 * Of an attempt that came to nothing; `isStandard`: at the socket that this user's own server makes, so that nobody has to
 * wait to see that none runs.
 */
export function endingOfError(error: Error, isStandard: boolean): Ending {
  const code = codeOf(error);
  const reason = error instanceof AggregateError ? messageOfAll(error) : error.message;
  if (error instanceof NotOurs)
    return {
      kind: 'refused',
      reason: `${reason}, and would get the token. Use the Unix socket of your own "cai serve" (unix:PATH), or https://`,
    };
  // A certificate does not get better by waiting.
  if (isCertificateError(code))
    return { kind: 'refused', reason: `${reason}. If it is right, name its authority as "network.ca_file"` };
  if (isStandard && code === 'ENOENT')
    return {
      kind: 'absent',
      reason: 'nothing listens there. Run "cai serve", or give an address',
    };
  return { kind: 'again', reason: `${reason}. Check the address, and that "cai serve" runs there` };
}

/** A name with several addresses fails with an error for each address, and with none for the name. */
function messageOfAll(error: AggregateError): string {
  return (error.errors as Error[]).map(({ message }) => message).join(', ');
}

function codeOf(error: NodeJS.ErrnoException | undefined): string {
  return error?.code ?? '';
}
