/** A client of Streamable HTTP whose streams of events may break: it goes on behind the last event that it has. */
import { Agent, get, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Json } from '../../../support/inbox';
import type { Wire } from './numbered-editor';

/** One connection. */
export class HttpWire implements Wire {
  /** Messages are posted one at a time: what they are about happens in their order. */
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #id = '';
  #take: (message: Json) => void = () => undefined;
  #fail: (reason: Error) => void = () => undefined;
  #isClosed = false;
  #posted: Promise<unknown> = Promise.resolve();

  /** `eventsPort`: where the streams are read. */
  constructor(
    private readonly port: number,
    private readonly eventsPort: number,
    private readonly headers: { readonly authorization: string },
  ) {}

  /** Gives each message to `take`; rejects if a stream cannot go on. */
  async receive(take: (message: Json) => void): Promise<never> {
    this.#take = take;
    return await new Promise((_, reject) => (this.#fail = reject));
  }

  async send(message: Json, sessionId?: string): Promise<void> {
    const posted = this.#posted.then(() => this.#post(message, sessionId));
    this.#posted = posted.catch((reason: unknown) => this.#fail(reason as Error));
    await this.#posted;
  }

  opened(sessionId: string): void {
    this.#read(sessionId, 0);
  }

  /** Reads no more. */
  close(): void {
    this.#isClosed = true;
    this.#agent.destroy();
  }

  async #post(message: Json, sessionId: string | undefined): Promise<void> {
    const sent = request({
      host: '127.0.0.1',
      port: this.port,
      path: '/acp',
      method: 'POST',
      agent: this.#agent,
      headers: { ...this.#headersFor(sessionId), 'content-type': 'application/json' },
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) =>
      sent.on('response', resolve).on('error', reject),
    );
    sent.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
    const answer = await answered;
    const body = await text(answer);
    if (answer.statusCode === 200) {
      this.#id = answer.headers['acp-connection-id'] as string;
      this.#take(JSON.parse(body) as Json);
      // The answer to `initialize` was the first message.
      this.#read(undefined, 1);
    } else if (answer.statusCode !== 202) {
      throw new Error(`${answer.statusCode}: ${body}`);
    }
  }

  /** One stream, behind the event of that number. */
  #read(sessionId: string | undefined, after: number): void {
    let last = after;
    const again = (): void => {
      if (!this.#isClosed) this.#read(sessionId, last);
    };
    const headers = { ...this.#headersFor(sessionId), accept: 'text/event-stream', 'last-event-id': last };
    const sent = get({ host: '127.0.0.1', port: this.eventsPort, path: '/acp', agent: false, headers });
    sent.on('error', () => undefined).on('close', again);
    sent.on('response', (answer) => {
      if (answer.statusCode !== 200) this.#fail(new Error(`a stream got ${answer.statusCode}`));
      let rest = '';
      answer.setEncoding('utf8').on('error', () => undefined);
      answer.on('data', (chunk: string) => {
        const events = (rest + chunk).split('\n\n');
        rest = events.pop()!;
        for (const event of events) {
          const [, number, data] = /^id: (\d+)\ndata: (.*)$/.exec(event) ?? [];
          if (number === undefined) continue;
          last = Number(number);
          this.#take(JSON.parse(data!) as Json);
        }
      });
    });
  }

  #headersFor(sessionId: string | undefined): Record<string, string> {
    return {
      ...this.headers,
      ...(this.#id !== '' && { 'acp-connection-id': this.#id }),
      ...(sessionId !== undefined && { 'acp-session-id': sessionId }),
    };
  }
}
