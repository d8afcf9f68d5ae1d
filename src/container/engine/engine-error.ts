/** What people are told when the engine cannot be reached or refuses something. */
import { CaiError, messageOf } from '../../errors';
import type { FailureCode } from '../../errors';
import { originOf } from './context';
import type { EngineAddress } from './context';

/** A request to an engine: who it is for, what it is to do. */
export interface Asked {
  /** The engine. */
  readonly address: EngineAddress;
  /** What was tried, as in "cannot ...": `start the container x`. */
  readonly what: string;
  /** What it is if the engine refuses; a container or image that is not there has a code of its own. */
  readonly code: FailureCode;
}

/** The failure of a request that the engine leaves without an answer. */
export class EngineSilent extends Error {
  /** As errors of the system have it. */
  readonly code = 'ENGINE_SILENT';

  /** `seconds` is how long it was waited for; `isThere`: the engine answers other requests. */
  constructor(
    readonly seconds: number,
    readonly isThere: boolean,
  ) {
    super('no answer');
  }
}

/** The HTTP status with which the engine refused; `undefined`: it did not come to that. */
export function statusOf(reason: unknown): number | undefined {
  const { statusCode } = reason as { statusCode?: unknown };
  if (typeof statusCode !== 'number') return undefined;
  // podman's answer for a container that is removed while it is looked at.
  return statusCode === 500 && sentenceOf(reason).endsWith('no such container') ? 404 : statusCode;
}

/** The engine's own sentence, without what its client wraps around it. */
export function sentenceOf(reason: unknown): string {
  const text = messageOf(reason);
  return (/^\(HTTP code \d+\) .*? - (.*)$/s.exec(text)?.[1] ?? text).trim();
}

/** Docker answers with 409 to that, podman with 500. */
export function isNameTaken(reason: unknown): boolean {
  return (
    statusOf(reason) === 409 ||
    (statusOf(reason) === 500 && /name.* already in use/is.test(sentenceOf(reason)))
  );
}

/** Somebody else removes it just now. */
export function isRemovalUnderWay(reason: unknown): boolean {
  return statusOf(reason) === 409 && sentenceOf(reason).includes('already in progress');
}

/** The failure as a `CaiError`, which it may be already. */
export function engineError(reason: unknown, { address, what, code }: Asked): CaiError {
  if (reason instanceof CaiError) return reason;
  if (reason instanceof EngineSilent) return silent(reason, address, what);
  const status = statusOf(reason);
  if (status === undefined) return unreachable(reason, address, what);
  const sentence = sentenceOf(reason);
  const fail = (kind: FailureCode, message: string) =>
    new CaiError(kind, message, undefined, { cause: reason });
  if (status === 400 && /client version .* too (?:old|new)/i.test(sentence)) {
    return fail(
      'NO_ENGINE',
      `${nameOf(address)} and this cai have no API version in common (${sentence}): update the older of the two`,
    );
  }
  const isMissing = status === 404 && code === 'CONTAINER_START';
  const missing = /\bimage\b/i.test(sentence) ? 'IMAGE' : 'CONTAINER_NOT_FOUND';
  return fail(isMissing ? missing : code, `cannot ${what}: ${sentence}`);
}

/** Something answers, but no engine that we could use. */
export function noEngineThere(address: EngineAddress, why: string): CaiError {
  return new CaiError(
    'NO_ENGINE',
    `what answers at ${address.endpoint} (${originOf(address)}) is no engine that can be used (${why}): ${nameAnother}`,
  );
}

/** `the engine at unix:///var/run/docker.sock (Docker context "default")` */
export function nameOf(address: EngineAddress): string {
  return `the engine at ${address.endpoint} (${originOf(address)})`;
}

/** How long an engine may take to say that it is there, in milliseconds. */
export const pingTimeoutMs = 5_000;

/** `cai --acp` has no option for it. */
const nameAnother =
  'name another with --context, DOCKER_HOST, or "context" below [engine] in your config.toml';

const start = `start it ("sudo systemctl start docker", or Docker Desktop), or ${nameAnother}`;

/** The connection failed, or ended before the answer did. */
function unreachable(reason: unknown, address: EngineAddress, what: string): CaiError {
  const engine = nameOf(address);
  const { code = '' } = reason as NodeJS.ErrnoException;
  const tell = (message: string) => new CaiError('NO_ENGINE', message, undefined, { cause: reason });
  switch (code) {
    case 'ENOENT':
      return tell(`${engine} is not running, for there is no such socket: ${start}`);
    case 'ECONNREFUSED':
      return tell(`${engine} is not running, for nothing listens there: ${start}`);
    case 'EACCES':
    case 'EPERM':
      return tell(
        `${engine} does not let you in: join the group of the socket ("sudo usermod -aG docker $USER", then sign in anew), or use a rootless engine`,
      );
    case 'ABORT_ERR':
      return tell(`${engine} has not answered for ${pingTimeoutMs / 1000} s: restart it, or ${nameAnother}`);
    case 'ECONNRESET':
    case 'EPIPE':
      return tell(
        `${engine} broke off while it was to ${what}: see whether it still runs ("docker version")`,
      );
    default:
      return isTlsCode(code)
        ? tell(
            `${engine} and cai do not trust each other (${messageOf(reason)}): check ca.pem, cert.pem and key.pem of that context`,
          )
        : tell(`${engine} could not ${what} (${messageOf(reason)}): see whether "docker version" works`);
  }
}

function silent(reason: EngineSilent, address: EngineAddress, what: string): CaiError {
  const { seconds, isThere } = reason;
  const which = isThere
    ? 'still answers, but has not done that: it is overloaded, or stuck'
    : 'does not answer';
  const text = `${nameOf(address)} was to ${what} and ${which} (waited for ${seconds} s): see whether "docker ps" works, else restart it, or ${nameAnother}`;
  return new CaiError('NOT_READY', text, undefined, { cause: reason });
}

/** Source: Node, error codes of TLS and of OpenSSL. */
function isTlsCode(code: string): boolean {
  return /^(?:EPROTO|ERR_(?:TLS|SSL|OSSL)_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code);
}
