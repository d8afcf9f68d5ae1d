/** What people are told when the engine cannot be reached or refuses something. */
import { CaiError, messageOf, type FailureCode } from '../../../errors';
import { Silent } from '../silence';
import { originOf, type EngineAddress } from './context';
import { SshFailure } from './elsewhere/ssh-failure';
import { isTlsError } from '../../../system/tls-errors';

/** In characters; what a runtime says of a failure can have many lines. */
const maxSentence = 8_192;

/** The HTTP status with which the engine refused; `undefined`: it did not come to that. */
export function statusOf(reason: unknown): number | undefined {
  const { statusCode } = reason as { statusCode?: unknown };
  if (typeof statusCode !== 'number') return undefined;
  // podman's answer for a container that is removed while it is looked at.
  return statusCode === 500 && sentenceOf(reason).endsWith('no such container') ? 404 : statusCode;
}

/** For failures that are fine: by status, or by what else the engine says. Others stay failures. */
export function unless(...fine: (number | ((reason: unknown) => boolean))[]): (reason: unknown) => undefined {
  return (reason) => {
    const status = statusOf(reason);
    if (!fine.some((each) => (typeof each === 'number' ? each === status : each(reason)))) throw reason;
  };
}

/** The engine's own sentence, of which a very long one is cut. */
export function sentenceOf(reason: unknown): string {
  return messageOf(reason).trim().slice(0, maxSentence);
}

/** Docker answers with 409 to that, as to other things, podman with 500. */
export function isNameTaken(reason: unknown): boolean {
  const status = statusOf(reason);
  return (status === 409 || status === 500) && /name.* already in use/is.test(sentenceOf(reason));
}

/**
 * podman's answer where a container does not run, or stands still, and Docker's where it has ended since a program was
 * made for it; otherwise Docker's is 409.
 */
export function isNotRunning(reason: unknown): boolean {
  return statusOf(reason) === 500 && /container state improper| is not running: /.test(sentenceOf(reason));
}

/** Somebody else removes it just now. */
export function isRemovalUnderWay(reason: unknown): boolean {
  return statusOf(reason) === 409 && sentenceOf(reason).includes('already in progress');
}

/**
 * The failure of a request to an engine as a `CaiError`, which it may be already. `what` was tried, as in "cannot ...":
 * `start the container x`; `code` is for a refusal: a container or image that is not there has its own code.
 */
export function engineError(
  reason: unknown,
  { address, what, code }: { address: EngineAddress; what: string; code: FailureCode },
): CaiError {
  if (reason instanceof CaiError) return reason;
  if (reason instanceof Silent) {
    const remedy = `see whether "docker ps" works, else restart it, or ${nameAnother}`;
    const text = `${reason.told(nameOf(address), what)}: ${remedy}`;
    return new CaiError('NOT_READY', text, undefined, { cause: reason });
  }
  const status = statusOf(reason);
  if (status === undefined) return unreachable(reason, address, what);
  const sentence = sentenceOf(reason);
  if (status === 400 && /client version .* too (?:old|new)/i.test(sentence)) {
    const text = `${nameOf(address)} and this cai have no API version in common (${sentence}): update the older of the two`;
    return new CaiError('NO_ENGINE', text, undefined, { cause: reason });
  }
  const isMissing = status === 404 && code === 'CONTAINER_START';
  const missing = /\bimage\b/i.test(sentence) ? 'IMAGE' : 'CONTAINER_NOT_FOUND';
  return new CaiError(isMissing ? missing : code, `cannot ${what}: ${sentence}`, undefined, {
    cause: reason,
  });
}

/** Something answers, but no engine that we could use. */
export function noEngineThere(address: EngineAddress, why: string): CaiError {
  return new CaiError(
    'NO_ENGINE',
    `what answers at ${address.endpoint} (${originOf(address)}) is no engine that can be used (${why}): ${nameAnother}`,
  );
}

/** `the engine at unix:///var/run/docker.sock (Docker context "default")` */
function nameOf(address: EngineAddress): string {
  return `the engine at ${address.endpoint} (${originOf(address)})`;
}

/** How long an engine may take to say that it is there, in milliseconds; elsewhere there is a login before. */
export const patienceWith = ({ isElsewhere }: EngineAddress): number =>
  isElsewhere === true ? 30_000 : 5_000;

/** `cai --acp` has no option for it. */
const nameAnother = 'name another with --context, DOCKER_HOST, or "context" in [engine] of your config.toml';

const start = `start it ("sudo systemctl start docker", or Docker Desktop), or ${nameAnother}`;

/** As with a shell that greets, or one that runs nothing. */
const notHttp =
  'cannot be reached: what comes by ssh is no answer of an engine: the account there must run commands, and print nothing by itself when it does';

/** The connection failed, or ended before the answer did. */
function unreachable(reason: unknown, address: EngineAddress, what: string): CaiError {
  if (reason instanceof SshFailure)
    return new CaiError('NO_ENGINE', `${nameOf(address)} ${reason.message}`, undefined, { cause: reason });
  const { code = '' } = reason as NodeJS.ErrnoException;
  if (address.ssh !== undefined && code.startsWith('HPE_'))
    return unreachable(new SshFailure(notHttp), address, what);
  const notLetIn = `does not let you in: join the group of the socket ("sudo usermod -aG docker $USER", then sign in again), or use a rootless engine`;
  const brokeOff = `broke off while it was to ${what}: see whether it still runs ("docker version")`;
  const said: Readonly<Record<string, string>> = {
    ENOENT: `is not running, for there is no such socket: ${start}`,
    ECONNREFUSED: `is not running, for nothing listens there: ${start}`,
    EACCES: notLetIn,
    EPERM: notLetIn,
    ABORT_ERR: `has not answered for ${patienceWith(address) / 1000} s: restart it, or ${nameAnother}`,
    ECONNRESET: brokeOff,
    EPIPE: brokeOff,
  };
  const odd = `gave no answer of an engine when it was to ${what} (${messageOf(reason)}): see whether "docker version" works, or ${nameAnother}`;
  const otherwise = isTlsError(code)
    ? `and cai do not trust each other (${messageOf(reason)}): check ca.pem, cert.pem and key.pem of that context`
    : `could not ${what} (${messageOf(reason)}): see whether "docker version" works`;
  const text = `${nameOf(address)} ${said[code] ?? (reason instanceof TypeError ? odd : otherwise)}`;
  return new CaiError('NO_ENGINE', text, undefined, { cause: reason });
}
