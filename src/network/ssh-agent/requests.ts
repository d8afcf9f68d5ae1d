/** What an agent may be asked to sign. Source: RFC 4252, 7; OpenSSH, PROTOCOL, PROTOCOL.agent and PROTOCOL.sshsig. */
import { Malformed, WireReader } from './wire';

/** Numbers of messages. Source: draft-ietf-sshm-ssh-agent, 5.1. */
export const message = {
  failure: 5,
  success: 6,
  requestIdentities: 11,
  identitiesAnswer: 12,
  signRequest: 13,
  signResponse: 14,
  extension: 27,
  extensionFailure: 28,
} as const;

/** The connection of an SSH client to a server, as the server's key has signed it. */
export interface Bound {
  /** Name of the host in the configuration. */
  readonly host: string;
  readonly hostKey: Buffer;
  /** Known to that server and that client alone. */
  readonly sessionId: Buffer;
}

/** What the extension `session-bind@openssh.com` says, unproven. */
export interface Binding {
  readonly hostKey: Buffer;
  readonly sessionId: Buffer;
  /** Of the session id, by the server's key. */
  readonly signature: Buffer;
  /** Whether the agent is forwarded through that connection. */
  readonly isForwarding: boolean;
}

/** The name of an extension, and how it goes on. */
export function readExtension(request: Buffer): { readonly name: string; readonly rest: WireReader } {
  const read = new WireReader(request);
  read.byte();
  return { name: read.text(), rest: read };
}

/** The rest of a `session-bind@openssh.com`. Fails with `Malformed`. */
export function readBinding(rest: WireReader): Binding {
  const [hostKey, sessionId, signature] = [rest.string(), rest.string(), rest.string()];
  const isForwarding = rest.byte() !== 0;
  rest.end();
  return { hostKey, sessionId, signature, isForwarding };
}

/** Which key is to sign what. Fails with `Malformed`. */
export function readSignRequest(request: Buffer): { readonly key: Buffer; readonly data: Buffer } {
  const read = new WireReader(request);
  read.byte();
  const [key, data] = [read.string(), read.string()];
  // Which hash an RSA key is to use; nothing else is known.
  if ((read.uint32() & ~0b110) !== 0) throw new Malformed('unknown flags');
  read.end();
  return { key, data };
}

/** The keys of an agent's answer, without its comments, which may name files and people. Fails with `Malformed`. */
export function readIdentities(answer: Buffer): Buffer[] {
  const read = new WireReader(answer);
  if (read.byte() !== message.identitiesAnswer) throw new Malformed('no list of keys');
  const keys: Buffer[] = [];
  for (let count = read.uint32(); count > 0; count--) {
    keys.push(read.string());
    read.string();
  }
  read.end();
  return keys;
}

const userAuthRequest = 50;
const hostbound = 'publickey-hostbound-v00@openssh.com';

/**
 * Why data is no login by that key on the bound connection; `undefined`: it is one. A signature of it is worth something
 * in that connection alone.
 */
export function refusalOfLogin(data: Buffer, key: Buffer, bound: Bound): string | undefined {
  return reading(() => {
    const read = new WireReader(data);
    if (!read.string().equals(bound.sessionId)) return 'it is for another connection';
    const isRequest = read.byte() === userAuthRequest;
    // The user's name there.
    read.string();
    const [service, method] = [read.text(), read.text()];
    const isSigned = read.byte() === 1;
    const isKnown = method === 'publickey' || method === hostbound;
    if (!isRequest || service !== 'ssh-connection' || !isKnown || !isSigned) return 'it is no login by a key';
    // The algorithm.
    read.string();
    if (!read.string().equals(key)) return 'it is a login by another key';
    if (method === hostbound && !read.string().equals(bound.hostKey))
      return 'it is a login at another server';
    read.end();
    return undefined;
  });
}

const sshsig = Buffer.from('SSHSIG');
const hashBytes: Readonly<Record<string, number>> = { sha256: 32, sha512: 64 };

/** Whether data is what `ssh-keygen -Y sign` has signed; no login begins like that. */
export function isFileSignature(data: Buffer): boolean {
  return data.subarray(0, sshsig.length).equals(sshsig);
}

/** Why data is not what git has signed for a commit or a tag; `undefined`: it is that. */
export function refusalOfFileSignature(data: Buffer): string | undefined {
  return reading(() => {
    const read = new WireReader(data.subarray(sshsig.length));
    if (read.text() !== 'git') return 'it is no commit or tag of git';
    if (read.string().length > 0) return 'it has something in a reserved field';
    const bytes = hashBytes[read.text()];
    if (bytes === undefined || read.string().length !== bytes) return 'it has no known hash';
    read.end();
    return undefined;
  });
}

function reading(look: () => string | undefined): string | undefined {
  try {
    return look();
  } catch (reason) {
    if (reason instanceof Malformed) return 'it is neither a commit nor a tag of git nor a sign-in';
    throw reason;
  }
}
