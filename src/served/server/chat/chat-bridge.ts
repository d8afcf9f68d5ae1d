/**
 * For chat panels that know no ACP, such as one that is patched into Cursor: a message is posted, the answer comes as
 * lines of JSON. A panel's conversation (`composerId`) is a session. `docs/serve.md` has the requests and lines.
 */
import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../../../rpc/json';
import { messageOf } from '../../../errors';
import type { Connections } from '../connections';
import type { Request } from '../door/request-rules';
import type { Visitor } from '../door/visitor';
import { Bodies, isJson } from '../http/body';
import type { Response } from '../http/event-stream';
import { HttpError } from '../http/http-error';
import { ChatAgent } from './chat-agent';

/** Of an answer that its panel does not read: then the turn is cancelled. */
const maxUnreadBytes = 8 * 1024 * 1024;

type Message = readonly [conversation: string, cwd: string, text: string];

/** What panels are served by. */
export class ChatBridge {
  /** Of messages of people. */
  readonly #bodies = new Bodies(4 * 1024 * 1024);
  /** A process for each visitor and agent, by both names. */
  readonly #agents = new Map<string, ChatAgent>();

  /** `folder`: the workspace of conversations that name no `cwd`. */
  constructor(
    private readonly connections: Connections,
    private readonly folder: string,
  ) {}

  /** Answers a request of somebody who was let in; rejects with `HttpError` for one that cannot be served. */
  async serve(request: Request, response: Response, visitor: Visitor, path: string): Promise<void> {
    const name = path.replace('/acp/', '');
    if (!['sendMessage', 'permission', 'cancel'].includes(name))
      throw new HttpError(404, 'there is nothing at this path');
    if (request.method !== 'POST' || !isJson(request))
      throw new HttpError(415, 'post an object of the type application/json');
    const body = await this.#bodies.readObject(request, visitor);
    const agent = this.#agentOf(visitor, body.provider as { readonly id?: unknown } | null | undefined);
    const conversation = textOf(body, 'composerId');
    if (name === 'sendMessage') {
      const cwd = body.cwd === undefined ? this.folder : textOf(body, 'cwd');
      await answer(agent, [conversation, cwd, textOf(body, 'message')], response);
      return;
    }
    if (name === 'cancel') await agent.cancel(conversation);
    else await agent.decide(conversation, textOf(body, 'permissionId'), textOf(body, 'optionId'));
    response.end('{}');
  }

  #agentOf(visitor: Visitor, provider: { readonly id?: unknown } | null | undefined): ChatAgent {
    const [first] = this.connections.agentsFor(visitor);
    const name = typeof provider?.id === 'string' ? provider.id.replace(/^acp:/, '') : first;
    const key = JSON.stringify([visitor.name, name]);
    const known = this.#agents.get(key);
    if (known?.isOver === false) return known;
    const agent = new ChatAgent(this.connections.open(visitor, name, false));
    this.#agents.set(key, agent);
    return agent;
  }
}

/** Each line is an object with `type`; the last one is `done` or `error`. A panel that leaves cancels the turn. */
async function answer(agent: ChatAgent, message: Message, response: Response): Promise<void> {
  const write = (line: JsonObject): void => {
    (response as ServerResponse).write(`${JSON.stringify(line)}\n`);
    if (response.writableLength > maxUnreadBytes) response.destroy();
  };
  response.on('close', () => {
    if (!response.writableFinished) agent.cancel(message[0]).catch(() => undefined);
  });
  (response as ServerResponse).writeHead(200, { 'content-type': 'application/x-ndjson' });
  try {
    write({ type: 'done', stopReason: await agent.prompt(...message, write) });
  } catch (reason) {
    write({ type: 'error', message: messageOf(reason) });
  }
  response.end();
}

function textOf(body: JsonObject, key: string): string {
  const value = body[key];
  if (typeof value === 'string' && value !== '') return value;
  throw new HttpError(400, `"${key}" must be a string that is not empty`);
}
