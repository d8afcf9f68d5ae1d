/** Turns over HTTP/2 and TLS, with node's own client and the built server. */
import { once } from 'node:events';
import * as http2 from 'node:http2';
import { certificate } from '../../../support/certificate';
import type { Json } from '../../../support/inbox';
import { success } from '../../../support/messages';
import { Served } from '../../../support/served';
import type { Event } from '../../../support/streamable';

let server: Served;
let cert: string;
let session: http2.ClientHttp2Session;
beforeAll(async () => {
  const made = certificate();
  cert = made.cert;
  const args = ['--tls-cert', made.certFile, '--tls-key', made.keyFile];
  server = await Served.start({ listen: ['https://127.0.0.1:0'], args });
});
afterAll(() => server.end());
beforeEach(() => void (session = http2.connect(server.url, { ca: cert })));
afterEach(() => session.destroy());

/** One connection with one session, all of it on one socket. */
class Client {
  #headers: http2.OutgoingHttpHeaders = server.owner;
  #sessionId = '';

  constructor(private readonly agent: string) {}

  /** Resolves when the session is open. */
  async open(): Promise<this> {
    const hello = await this.#post({ id: 1, method: 'initialize', params: { protocolVersion: 1 } });
    this.#headers = { ...this.#headers, 'acp-connection-id': hello['acp-connection-id'] };
    const connection = await this.events();
    await this.#post({
      id: 2,
      method: 'session/new',
      params: { cwd: server.workspace('a'), mcpServers: [] },
    });
    const { message } = (await connection.next())!;
    this.#sessionId = (message.result as { sessionId: string }).sessionId;
    return this;
  }

  /** Begins the turn with the id 3. */
  async prompt(text: string): Promise<void> {
    const params = { sessionId: this.#sessionId, prompt: [{ type: 'text', text }] };
    await this.#post({ id: 3, method: 'session/prompt', params });
  }

  /** The stream of the session, or before it is open of the connection; `after`: behind that event. */
  async events(after?: number): Promise<EventStream> {
    const headers = { accept: 'text/event-stream', ...this.#inSession };
    const resumed = after === undefined ? {} : { 'last-event-id': String(after) };
    const stream = session.request({ ...this.#all, ...headers, ...resumed });
    const [answer] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
    expect(answer[':status']).toBe(200);
    return new EventStream(stream);
  }

  get #inSession(): http2.OutgoingHttpHeaders {
    return this.#sessionId === '' ? {} : { 'acp-session-id': this.#sessionId };
  }

  get #all(): http2.OutgoingHttpHeaders {
    return { ...this.#headers, ':path': `/acp?agent=${this.agent}` };
  }

  async #post(message: Json): Promise<http2.IncomingHttpHeaders> {
    const headers = { ':method': 'POST', 'content-type': 'application/json', ...this.#inSession };
    const stream = session.request({ ...this.#all, ...headers });
    stream.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
    const [answer] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
    stream.resume();
    expect(answer[':status']).toBe(message.method === 'initialize' ? 200 : 202);
    return answer;
  }
}

/** The events of one answer, as they come. */
class EventStream {
  readonly #chunks: AsyncIterator<string, undefined>;
  #text = '';

  constructor(readonly stream: http2.ClientHttp2Stream) {
    this.#chunks = stream.setEncoding('utf8')[Symbol.asyncIterator]();
  }

  /** The next one; undefined: the stream is over. */
  async next(): Promise<Event | undefined> {
    for (;;) {
      const [, event, rest] = /^(.*?)\n\n(.*)$/s.exec(this.#text) ?? [];
      if (event === undefined) {
        const { done, value } = await this.#chunks.next();
        if (done === true) return undefined;
        this.#text += value;
        continue;
      }
      this.#text = rest!;
      const [, id, data] = /^id: (\d+)\ndata: (.*)$/.exec(event) ?? [];
      if (data !== undefined) return { id: Number(id), message: JSON.parse(data) as Json };
    }
  }

  /** So many, and fewer only where the stream is over. */
  async take(count: number): Promise<Event[]> {
    const events: Event[] = [];
    for (let event; events.length < count && (event = await this.next()) !== undefined;) events.push(event);
    return events;
  }
}

const textOf = ({ message }: Event): string =>
  (message.params as { update: { content: { text: string } } }).update.content.text;
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

/** All updates of `flood` in a turn of 2,000, each once and in order, and its answer behind them. */
function expectWhole(events: readonly Event[]): void {
  expect(events.map(({ id }) => id)).toEqual(upTo(2_001).map((n) => n + 1));
  expect(events.slice(0, -1).map((event) => parseInt(textOf(event)))).toEqual(upTo(2_000));
  expect(events.at(-1)!.message).toEqual(success(3, { stopReason: 'end_turn' }));
}

test('a stream that is reset goes on behind the last event that has come', async () => {
  const last = 500;
  const client = await new Client('flood').open();
  const broken = await client.events();
  await client.prompt('2000 2000');
  const before = await broken.take(last);
  broken.stream.close(http2.constants.NGHTTP2_CANCEL);
  const again = await client.events(last);

  expectWhole([...before, ...(await again.take(2_001 - last))]);
});
