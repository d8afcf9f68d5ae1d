/**
 * For chat panels that know no ACP, such as one that is patched into Cursor: a message is posted, the answer comes as
 * lines of JSON. A panel's conversation (`composerId`) is a session. `docs/serve.md` has the requests and lines.
 */
import { join } from 'node:path';
import type { JsonObject } from '../../../rpc/json';
import { messageOf } from '../../../errors';
import type { Log } from '../../../system/log';
import { recordName } from '../../../system/state-folder';
import { jsonUnlessDeep } from '../../../system/unless';
import type { Connections } from '../connections';
import type { Request } from '../door/request-rules';
import type { Visitor } from '../door/visitor';
import { Bodies, isJson } from '../http/body';
import type { Response } from '../http/event-stream';
import { HttpError } from '../http/http-error';
import { ChatAgent } from './chat-agent';
import type { ChatMessage } from './conversation';
import { KeptConversations } from './kept-conversations';
import { promptOf } from './prompt-blocks';

/** Of an answer that its panel does not read, besides one message of the agent: then the turn is cancelled. */
const maxUnreadBytes = 8 * 1024 * 1024;
/** How long an answer is silent before a line says that it goes on: clients and proxies give up what is silent; in ms. */
const aliveMs = 15_000;
/** Of an id that a panel chooses. */
const maxIdLength = 256;

export interface ChatBridgeOptions {
  readonly connections: Connections;
  /** The workspace of conversations that name no `cwd`. */
  readonly folder: string;
  /** Where it is kept which sessions conversations are; undefined: nowhere. */
  readonly keptIn: string | undefined;
  readonly maxBodyBytes: number;
  readonly maxLineBytes: number;
  /** Has what cannot be kept. */
  readonly log: Log;
}

/** What panels are served by. */
export class ChatBridge {
  /** Of messages of people. */
  readonly #bodies: Bodies;
  readonly #agents = new Map<string, ChatAgent>();

  constructor(private readonly options: ChatBridgeOptions) {
    this.#bodies = new Bodies(options.maxBodyBytes);
  }

  /** Answers a request of somebody who was let in; rejects with `HttpError` for one that cannot be served. */
  async serve(request: Request, response: Response, visitor: Visitor, path: string): Promise<void> {
    const name = path.replace('/acp/', '');
    if (!['sendMessage', 'permission', 'cancel'].includes(name))
      throw new HttpError(404, 'there is nothing at this path');
    if (request.method !== 'POST' || !isJson(request))
      throw new HttpError(415, 'post an object of the type application/json');
    const body = await this.#bodies.readObject(request, visitor);
    const conversation = textOf(body, 'composerId');
    if (conversation.length > maxIdLength)
      throw new HttpError(400, `"composerId" has at most ${maxIdLength} characters`);
    if (name === 'sendMessage') {
      const cwd = body.cwd === undefined ? undefined : textOf(body, 'cwd');
      const message = { prompt: promptOf(body.message), cwd };
      await this.#answer(this.#agentOf(visitor, body), conversation, message, response);
      return;
    }
    const agent = this.#agentOf(visitor, body);
    if (name === 'cancel') agent.cancel(conversation);
    else agent.decide(conversation, textOf(body, 'permissionId'), textOf(body, 'optionId'));
    response.end('{}');
  }

  #agentOf(visitor: Visitor, { provider }: JsonObject): ChatAgent {
    const { connections, folder, keptIn, log } = this.options;
    const [first] = connections.agentsFor(visitor);
    const named = provider === undefined ? undefined : textOf((provider ?? {}) as JsonObject, 'id');
    const name = named?.replace(/^acp:/, '') ?? first;
    const key = JSON.stringify([visitor.name, name]);
    const known = this.#agents.get(key);
    if (known?.isOver === false) return known;
    const connection = connections.open(visitor, name, false);
    const file = keptIn && join(keptIn, `${recordName(key)}.json`);
    const agent = new ChatAgent(connection, { kept: new KeptConversations(file, log), folder });
    this.#agents.set(key, agent);
    return agent;
  }

  /** Each line is an object with `type`; the last one is `done` or `error`. A panel that leaves cancels the turn. */
  async #answer(
    agent: ChatAgent,
    conversation: string,
    message: Pick<ChatMessage, 'prompt' | 'cwd'>,
    response: Response,
  ): Promise<void> {
    const leaving = new AbortController();
    const say = (line: JsonObject): void => {
      // Nothing is said of what is nested so deep that it can be read and not be written.
      const text = jsonUnlessDeep(line);
      if (text === undefined || leaving.signal.aborted) return;
      alive.refresh();
      response.write(`${text}\n`);
      if (response.writableLength > maxUnreadBytes + this.options.maxLineBytes) response.destroy();
    };
    const alive = setTimeout(() => say({ type: 'alive' }), aliveMs).unref();
    response.on('close', () => leaving.abort());
    response.on('error', () => undefined);
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    response.flushHeaders?.();
    try {
      const stopReason = await agent.prompt(conversation, { ...message, say, left: leaving.signal });
      say({ type: 'done', stopReason });
    } catch (reason) {
      say({ type: 'error', message: messageOf(reason) });
    }
    clearTimeout(alive);
    response.end();
  }
}

function textOf(body: JsonObject, key: string): string {
  const value = body[key];
  if (typeof value === 'string' && value !== '') return value;
  throw new HttpError(400, `"${key}" must be a string that is not empty`);
}
