/** A client of Streamable HTTP that a test plays request by request. */
import type { Json } from './inbox';
import type { Served } from './served';

/** An event of a stream. */
export interface Event {
  /** Its number. */
  readonly id: number;
  readonly message: Json;
}

/** One stream of events, as it comes. */
export class Events {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #text = '';

  /** Of an answer whose body nobody else reads. */
  constructor(readonly response: Response) {
    this.#reader = response.body!.getReader();
  }

  /** The next event; undefined: the server has ended the stream. */
  async next(): Promise<Event | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const event = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        const [, id, data] = /^id: (\d+)\ndata: (.*)$/.exec(event) ?? [];
        if (data !== undefined) return { id: Number(id), message: JSON.parse(data) as Json };
        continue;
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += Buffer.from(value).toString();
    }
  }

  /** Ends the request. */
  async cancel(): Promise<void> {
    await this.#reader.cancel();
  }
}

/** A client that sends what it is told to. */
export class StreamableClient {
  /** Of the connection, once it is initialized. */
  id: string | undefined;
  #lastId = 0;

  /** `agent`: the one that it names. */
  constructor(
    private readonly server: Served,
    private readonly agent = 'mock',
  ) {}

  /** Sends a request with the owner's headers and that of the connection; `headers` may take some away. */
  async send(
    method: string,
    headers: Readonly<Record<string, string | undefined>> = {},
    body?: string | Buffer,
    path = `/acp?agent=${this.agent}`,
  ): Promise<Response> {
    const all = { ...this.server.owner, 'acp-connection-id': this.id, ...headers };
    const given = Object.entries(all).filter((each): each is [string, string] => each[1] !== undefined);
    return await fetch(`${this.server.url}${path}`, {
      method,
      headers: given,
      body,
      duplex: 'half',
    } as RequestInit);
  }

  /** Posts a message. */
  async post(
    message: Json | string,
    headers: Readonly<Record<string, string | undefined>> = {},
  ): Promise<Response> {
    const body = typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message });
    const session = typeof message === 'string' ? undefined : (message.params as Json | undefined)?.sessionId;
    const named = typeof session === 'string' ? { 'acp-session-id': session } : {};
    return await this.send('POST', { 'content-type': 'application/json', ...named, ...headers }, body);
  }

  /** Begins the connection. */
  async initialize(): Promise<Response> {
    const response = await this.post({
      id: ++this.#lastId,
      method: 'initialize',
      params: { protocolVersion: 1 },
    });
    this.id = response.headers.get('acp-connection-id') ?? undefined;
    return response;
  }

  /** Opens the stream of a session, or of the connection, behind that event. */
  async events(session?: string, after?: number): Promise<Events> {
    const headers = { 'acp-session-id': session, 'last-event-id': after?.toString() };
    return new Events(await this.send('GET', { accept: 'text/event-stream', ...headers }));
  }

  /** Opens a session, and resolves with its id and both streams. */
  async open(): Promise<{ sessionId: string; connection: Events; session: Events }> {
    await (await this.initialize()).text();
    const connection = await this.events();
    const params = { cwd: this.server.workspace('a'), mcpServers: [] };
    await this.post({ id: ++this.#lastId, method: 'session/new', params });
    const { sessionId } = (await connection.next())!.message.result as { sessionId: string };
    return { sessionId, connection, session: await this.events(sessionId) };
  }

  /** Begins a turn. */
  async prompt(sessionId: string, text: string): Promise<number> {
    const params = { sessionId, prompt: [{ type: 'text', text }] };
    const id = ++this.#lastId;
    await this.post({ id, method: 'session/prompt', params });
    return id;
  }
}
