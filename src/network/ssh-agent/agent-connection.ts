/**
 * One connection of a program in a container to the user's SSH agent. What is allowed passes on as it came; everything
 * else is answered here, and the agent never sees it.
 */
import type { Duplex } from 'node:stream';
import { fingerprint, isSignedBy } from './host-key';
import {
  isFileSignature,
  message,
  readBinding,
  readExtension,
  readIdentities,
  readSignRequest,
  refusalOfFileSignature,
  refusalOfLogin,
  type Bound,
} from './requests';
import { Malformed, messagesOf, uint32, wireString } from './wire';

export interface AgentRules {
  /** The name of the allowed host whose key that is, by what the user's ssh knows now; `undefined`: none. */
  readonly hostWith: (key: Buffer) => string | undefined;
  /** With which git may sign; `undefined`: with none. */
  readonly signingKey: Buffer | undefined;
  /** Is told of each request that is refused; `host` is empty where none is known. */
  readonly onRefusal: (host: string, why: string) => void;
}

export interface UsersAgent {
  /** Resolves with the answer to a message, both without lengths. Rejects if no answer comes. */
  ask(request: Buffer): Promise<Buffer>;
  end(): void;
}

const failure = Buffer.from([message.failure]);
const extensionFailure = Buffer.from([message.extensionFailure]);
const success = Buffer.from([message.success]);

class Refused extends Error {
  constructor(
    why: string,
    readonly host?: string,
    readonly answer: Buffer = failure,
  ) {
    super(why);
  }
}

/** Serves one stream. The agent is connected to when the first request for it is allowed. */
export class AgentConnection {
  #agent: UsersAgent | undefined;
  #bound: Bound | undefined;
  /** The server that this connection is for is not allowed: nothing on it is. */
  #isBarred = false;

  /** `connect` opens a connection to the user's agent. */
  constructor(
    private readonly rules: AgentRules,
    private readonly connect: () => Promise<UsersAgent>,
  ) {}

  /** Answers one request after the other until the stream ends. Never rejects. */
  async serve(stream: Duplex): Promise<void> {
    try {
      for await (const request of messagesOf(stream.iterator({ destroyOnReturn: false }))) {
        // Who does not read the answers is asked nothing more.
        if (!stream.write(wireString(await this.#answer(request)))) await drained(stream);
      }
      stream.end();
    } catch (reason) {
      if (reason instanceof Malformed) this.#refused(reason.message);
      stream.destroy();
    } finally {
      this.#agent?.end();
    }
  }

  async #answer(request: Buffer): Promise<Buffer> {
    try {
      if (request[0] === message.extension) return await this.#bind(request);
      if (request[0] === message.requestIdentities) return await this.#identities(request);
      if (request[0] === message.signRequest) return await this.#sign(request);
      throw new Refused(`a request of kind ${request[0]}, which containers may not make`);
    } catch (reason) {
      if (reason instanceof Refused) {
        this.#refused(reason.message, reason.host);
        return reason.answer;
      }
      if (reason instanceof Malformed) this.#refused('a request that makes no sense');
      else this.#refused('the SSH agent of this machine does not answer');
      return failure;
    }
  }

  async #bind(request: Buffer): Promise<Buffer> {
    const { name, rest } = readExtension(request);
    if (name !== 'session-bind@openssh.com')
      throw new Refused('an extension that containers may not use', undefined, extensionFailure);
    try {
      const { hostKey, sessionId, signature, isForwarding } = readBinding(rest);
      const host = this.rules.hostWith(hostKey);
      const shown = host ?? fingerprint(hostKey);
      if (this.#bound !== undefined || this.#isBarred) throw new Refused('a second server', shown);
      if (isForwarding) throw new Refused('the agent would be forwarded to a server', shown);
      if (host === undefined)
        throw new Refused('a server that is not in git.ssh_agent, or is unknown', shown);
      if (!isSignedBy(hostKey, sessionId, signature))
        throw new Refused('a connection that this server has not signed', shown);
      this.#bound = { host, hostKey, sessionId };
    } catch (reason) {
      this.#isBarred = true;
      this.#bound = undefined;
      throw reason;
    }
    // An agent may hold keys that are for some servers alone, and an old one does not know what that is.
    await this.#ask(request);
    return success;
  }

  async #identities(request: Buffer): Promise<Buffer> {
    if (request.length !== 1) throw new Malformed('a list of keys');
    const { signingKey } = this.rules;
    if (this.#bound !== undefined) return identities(readIdentities(await this.#ask(request)));
    if (signingKey !== undefined && !this.#isBarred) return identities([signingKey]);
    throw new Refused('keys are listed for connections to allowed servers alone', undefined, identities([]));
  }

  async #sign(request: Buffer): Promise<Buffer> {
    const { key, data } = readSignRequest(request);
    const host = this.#bound?.host;
    if (this.#isBarred) throw new Refused('a signature for a server that was refused');
    const why = isFileSignature(data) ? this.#refusalForGit(key, data) : this.#refusalForLogin(key, data);
    if (why !== undefined) throw new Refused(`something is not signed: ${why}`, host);
    const answer = await this.#ask(request);
    return answer[0] === message.signResponse ? answer : failure;
  }

  #refusalForLogin(key: Buffer, data: Buffer): string | undefined {
    if (this.#bound === undefined) return 'it is for no connection to an allowed server';
    return refusalOfLogin(data, key, this.#bound);
  }

  #refusalForGit(key: Buffer, data: Buffer): string | undefined {
    const { signingKey } = this.rules;
    if (signingKey === undefined) return 'git.sign is not set';
    if (!key.equals(signingKey)) return 'another key than that of user.signingkey is asked for';
    return refusalOfFileSignature(data);
  }

  async #ask(request: Buffer): Promise<Buffer> {
    this.#agent ??= await this.connect();
    return await this.#agent.ask(request);
  }

  #refused(why: string, host = this.#bound?.host ?? ''): void {
    this.rules.onRefusal(host, why);
  }
}

function identities(keys: readonly Buffer[]): Buffer {
  const list = keys.flatMap((key) => [wireString(key), wireString('')]);
  return Buffer.concat([Buffer.from([message.identitiesAnswer]), uint32(keys.length), ...list]);
}

/** Resolves when more can be written, or never will. */
function drained(stream: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      stream.off('drain', end).off('close', end);
      resolve();
    };
    if (stream.destroyed) resolve();
    else stream.on('drain', end).on('close', end);
  });
}
