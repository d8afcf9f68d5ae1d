/** A chat panel that knows no ACP, as `docs/serve.md` has its requests. */
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { client, methods, PROTOCOL_VERSION, type ClientConnection } from '@agentclientprotocol/sdk';
import { createWebSocketStream } from '@agentclientprotocol/sdk/experimental/ws-client';
import { WebSocket } from 'ws';

/** A body, or a line of an answer. */
export type Json = Readonly<Record<string, unknown>>;

/** The command of the agent `fixtures/agents/chats.mjs`. */
export function chatsAgent(options: Json): string[] {
  return [process.execPath, resolve(__dirname, '../../fixtures/agents/chats.mjs'), JSON.stringify(options)];
}

/** Of one user of a server. */
export class ChatPanel {
  /** `prefix` makes its conversations others than those of another panel. */
  constructor(
    private readonly url: string,
    readonly headers: Readonly<Record<string, string>>,
    private readonly prefix = '',
  ) {}

  async post(
    path: string,
    body: Json,
    headers: Record<string, string> = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    const { composerId } = body;
    const named = typeof composerId === 'string' ? { composerId: this.prefix + composerId } : {};
    return await fetch(`${this.url}/acp/${path}`, {
      method: 'POST',
      headers: { ...this.headers, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ ...body, ...named }),
      signal: signal ?? null,
    });
  }

  /** Sends a message; the lines of the answer come one by one. */
  async say(
    message: unknown,
    composerId = 'c',
    more: Json = {},
    signal?: AbortSignal,
  ): Promise<AsyncIterator<Json>> {
    const { body } = await this.post('sendMessage', { composerId, message, ...more }, {}, signal);
    // What comes before somebody reads is kept from here on.
    const lines = createInterface(Readable.fromWeb(body as never))[Symbol.asyncIterator]();
    return (async function* () {
      for await (const line of { [Symbol.asyncIterator]: () => lines }) yield JSON.parse(line) as Json;
    })();
  }

  /** The whole answer to a message. */
  async ask(message: unknown, composerId = 'c', more: Json = {}): Promise<Json[]> {
    return await rest(await this.say(message, composerId, more));
  }

  /** A figure of the server. */
  async metric(name: string): Promise<number> {
    const metrics = await fetch(`${this.url}/metrics`, { headers: this.headers });
    return Number(new RegExp(`^cai_serve_${name} (\\d+)$`, 'm').exec(await metrics.text())![1]);
  }
}

/** Another client of the same user, which allows all. */
export async function sdkEditor(
  url: string,
  agent: string,
  headers: Readonly<Record<string, string>>,
): Promise<ClientConnection> {
  const address = `${url.replace('http', 'ws')}/acp?agent=${agent}`;
  const connection = client({ name: 'editor' })
    .onRequest(methods.client.session.requestPermission, ({ params: { options } }) => ({
      outcome: { outcome: 'selected' as const, optionId: options[0]!.optionId },
    }))
    .onNotification(methods.client.session.update, () => undefined)
    .connect(createWebSocketStream(address, { WebSocket, headers }));
  await connection.agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION });
  return connection;
}

/** The lines that are still to come. */
export async function rest(lines: AsyncIterator<Json>): Promise<Json[]> {
  const all: Json[] = [];
  for (let next = await lines.next(); next.done !== true; next = await lines.next()) all.push(next.value);
  return all;
}

/** The next line of that type. */
export async function lineOf(lines: AsyncIterator<Json>, type: string): Promise<Json> {
  for (;;) {
    const next = await lines.next();
    if (next.done === true) throw new Error(`the answer has ended without a line of the type ${type}`);
    if (next.value.type === type) return next.value;
  }
}
