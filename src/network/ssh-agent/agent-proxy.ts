/** What a container has of the user's SSH agent, for as long as one command runs. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { within } from '../../system/time-limit';
import { AgentConnection, type AgentRules, type UsersAgent } from './agent-connection';
import { messagesOf, wireString } from './wire';

/** How many connections may be open at once: each costs up to two descriptors here, and some memory. */
const maxConnections = 32;
/**
 * How long the user's agent may take for an answer, in milliseconds: somebody may have to type a passphrase, or to find a
 * security key and touch it. Servers give a login two minutes.
 */
const answerMs = 5 * 60_000;
/** After so many refusals of one command no more are told: the container decides how many there are. */
const maxTold = 100;

/** Serves streams that come from a container. */
export class AgentProxy {
  #open = 0;
  #told = 0;
  readonly #rules: AgentRules;

  /** `socket`: where the user's agent listens. `tell` gets a line for each request that is refused. */
  constructor(
    private readonly socket: string,
    rules: Omit<AgentRules, 'onRefusal'>,
    private readonly tell: (line: string) => void,
    private readonly limitMs = answerMs,
  ) {
    this.#rules = { ...rules, onRefusal: (host, why) => this.#refused(host, why) };
  }

  /** Serves a stream to its end. Never rejects. */
  async take(stream: Duplex): Promise<void> {
    stream.on('error', () => undefined);
    if (this.#open >= maxConnections) {
      this.#refused('', `more than ${maxConnections} connections at once`);
      stream.destroy();
      return;
    }
    this.#open++;
    try {
      await new AgentConnection(this.#rules, () => connectTo(this.socket, stream, this.limitMs)).serve(
        stream,
      );
    } finally {
      this.#open--;
    }
  }

  #refused(host: string, why: string): void {
    this.#told++;
    const whom = host === '' ? '' : ` for ${host}`;
    if (this.#told <= maxTold) this.tell(`the SSH agent refuses a container${whom}: ${why}`);
    if (this.#told === maxTold) this.tell('what the SSH agent refuses this command is not told any more');
  }
}

/** A connection to the user's agent, which ends with the stream that it is for. */
async function connectTo(path: string, stream: Duplex, limitMs: number): Promise<UsersAgent> {
  const socket = connect(path);
  const end = () => socket.destroy();
  stream.once('close', end);
  await once(socket, 'connect');
  // Whoever waits for an answer hears of it.
  socket.on('error', () => undefined);
  const answers = messagesOf(socket);
  return {
    ask: async (request) => {
      socket.write(wireString(request));
      const answer = await within(limitMs, answers.next());
      // What comes late would be taken for the answer to the next request.
      if (answer === undefined) socket.destroy();
      if (answer?.value === undefined) throw new Error('the agent gives no answer');
      return answer.value;
    },
    end: () => {
      stream.off('close', end);
      socket.destroy();
    },
  };
}
