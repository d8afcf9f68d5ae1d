/** An ACP client for chat panels: one connection, and a session for each conversation. */
import { errorLine, notificationLine, requestLine, resultLine } from '../../../rpc/answer';
import { joined } from '../../../rpc/splice';
import type { JsonObject } from '../../../rpc/json';
import { rpcCode } from '../../../errors';
import type { Outlet } from '../client-stream';
import { HttpError } from '../http/http-error';
import type { ServedConnection } from '../served-connection';

/** Conversations that stay open, besides those that are in a turn. */
const maxConversations = 32;

type Waiting = Readonly<{ resolve(result: JsonObject): void; reject(reason: Error): void }>;

interface Conversation {
  readonly name: string;
  readonly sessionId: string;
  /** Takes what the agent says; undefined: no turn is open. */
  say?: ((line: JsonObject) => void) | undefined;
  /** Of its last turn. */
  over?: Promise<unknown>;
  isCancelled?: boolean;
  /** The ids of the agent's requests for a permission that are open. */
  permissions: Set<string>;
}

/** One process for the conversations of one visitor with one agent. */
export class ChatAgent implements Outlet {
  /** The connection has ended: another is needed. */
  isOver = false;
  readonly #requests = new Map<number, Waiting>();
  readonly #conversations = new Map<string, Promise<Conversation>>();
  /** The one that was used last stands last. */
  readonly #bySession = new Map<unknown, Conversation>();
  readonly #ready: Promise<JsonObject>;
  #lastId = 0;

  /** Takes a connection that nobody else uses. */
  constructor(private readonly connection: ServedConnection) {
    connection.attach(this);
    this.#ready = this.#request('initialize', { protocolVersion: 1, clientCapabilities: {} });
    this.#ready.catch(() => undefined);
  }

  /** Prompts in a conversation, which begins in the folder `cwd`; resolves with why the turn has ended. */
  async prompt(name: string, cwd: string, text: string, say: (line: JsonObject) => void): Promise<unknown> {
    const opening = this.#conversations.get(name) ?? this.#open(name, cwd);
    this.#conversations.set(name, opening);
    opening.catch(() => this.#conversations.delete(name));
    const conversation = await opening;
    if (conversation.isCancelled) await conversation.over;
    if (conversation.say !== undefined) throw new Error('the conversation is in a turn: cancel it first');
    Object.assign(conversation, { say, isCancelled: false });
    this.#makeRoomFor(conversation);
    const prompt = [{ type: 'text', text }];
    const turn = this.#request('session/prompt', { sessionId: conversation.sessionId, prompt });
    const end = (): unknown => Object.assign(conversation, { say: undefined, permissions: new Set() });
    conversation.over = turn.then(end, end);
    return (await turn).stopReason;
  }

  /** Ends the turn of a conversation, if it is in one; rejects with `HttpError` if there is no such conversation. */
  async cancel(name: string): Promise<void> {
    const conversation = await this.#known(name);
    const { sessionId, say, permissions } = conversation;
    if (say === undefined) return;
    conversation.isCancelled = true;
    this.#send(notificationLine('session/cancel', JSON.stringify({ sessionId })));
    for (const id of permissions) this.#send(resultLine(id, '{"outcome":{"outcome":"cancelled"}}'));
    permissions.clear();
  }

  /** Answers a request for a permission; rejects with `HttpError` if it is not open. */
  async decide(name: string, permissionId: string, optionId: string): Promise<void> {
    const { permissions } = await this.#known(name);
    if (!permissions.delete(permissionId)) throw new HttpError(404, 'no permission of that id is asked for');
    this.#send(resultLine(permissionId, JSON.stringify({ outcome: { outcome: 'selected', optionId } })));
  }

  send(line: Buffer): boolean {
    const { id, method, params, result, error } = JSON.parse(line.toString()) as {
      readonly id?: number | string;
      readonly method?: string;
    } & Readonly<Partial<Record<'params' | 'result' | 'error', JsonObject | null>>>;
    if (method !== undefined) {
      if (id !== undefined) this.#asked(JSON.stringify(id), method, params ?? {});
      else if (method === 'session/update') this.#updated(params ?? {});
      return true;
    }
    const waiting = this.#requests.get(Number(id));
    this.#requests.delete(Number(id));
    if (error === undefined) waiting?.resolve(result ?? {});
    else waiting?.reject(new Error(textOf(error?.message)));
    return true;
  }

  close(_why: string, reason: string): void {
    this.isOver = true;
    for (const { reject } of this.#requests.values()) reject(new Error(reason));
  }

  /** Whoever has sent the message is told why a conversation could not be opened. */
  async #known(name: string): Promise<Conversation> {
    const conversation = await this.#conversations.get(name)?.catch(() => undefined);
    if (conversation !== undefined) return conversation;
    throw new HttpError(404, 'there is no such conversation');
  }

  async #open(name: string, cwd: string): Promise<Conversation> {
    await this.#ready;
    const { sessionId } = await this.#request('session/new', { cwd, mcpServers: [] });
    return { name, sessionId: String(sessionId), permissions: new Set() };
  }

  /** Closes those that nobody has used for the longest time. */
  #makeRoomFor(conversation: Conversation): void {
    this.#bySession.delete(conversation.sessionId);
    this.#bySession.set(conversation.sessionId, conversation);
    for (const [sessionId, { name, say }] of this.#bySession) {
      if (say !== undefined || this.#bySession.size <= maxConversations) continue;
      this.#bySession.delete(sessionId);
      this.#conversations.delete(name);
      this.#request('session/close', { sessionId }).catch(() => undefined);
    }
  }

  #updated({ sessionId, update }: JsonObject): void {
    // As an agent has written it, which can be anything.
    const { sessionUpdate, content } = (update ?? {}) as JsonObject & { content?: { text?: string } | null };
    const say = this.#bySession.get(sessionId)?.say;
    if (sessionUpdate === 'agent_message_chunk') say?.({ type: 'text', content: content?.text ?? '' });
    else if (sessionUpdate === 'agent_thought_chunk')
      say?.({ type: 'thought', content: content?.text ?? '' });
    else if (sessionUpdate === 'plan') say?.({ ...(update as JsonObject), type: 'plan' });
    else if (typeof sessionUpdate === 'string' && sessionUpdate.startsWith('tool_call'))
      say?.({ ...(update as JsonObject), type: 'tool' });
  }

  #asked(id: string, method: string, { sessionId, toolCall, options }: JsonObject): void {
    const { say, permissions } = this.#bySession.get(sessionId) ?? {};
    const message = `a chat panel does not serve ${method}`;
    if (method === 'session/request_permission' && say !== undefined) {
      permissions!.add(id);
      say({ type: 'permission', permissionId: id, toolCall, options });
    } else this.#send(errorLine(id, { code: rpcCode.methodNotFound, message }));
  }

  async #request(method: string, params: JsonObject): Promise<JsonObject> {
    const id = ++this.#lastId;
    return await new Promise((resolve, reject) => {
      this.#requests.set(id, { resolve, reject });
      this.#send(requestLine(String(id), method, JSON.stringify(params)));
    });
  }

  #send(line: Buffer): void {
    this.connection.receive(joined(line));
  }
}

/** Of an agent's error, which can be anything. */
function textOf(message: unknown): string {
  return typeof message === 'string' ? message : 'the agent has failed, and does not say why';
}
