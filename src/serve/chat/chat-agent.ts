/** An ACP client for chat panels: one connection, and a session for each conversation. */
import { errorLine, notificationLine, requestLine, resultLine } from '../../rpc/answer';
import { joined } from '../../rpc/splice';
import type { JsonObject } from '../../child/child-data';
import { rpcCode } from '../../errors';
import type { Outlet } from '../client-stream';
import type { ServedConnection } from '../served-connection';

interface Conversation {
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
  readonly #requests = new Map<
    number,
    { readonly resolve: (result: JsonObject) => void; readonly reject: (reason: Error) => void }
  >();
  readonly #conversations = new Map<string, Promise<Conversation>>();
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
    const opening = this.#conversations.get(name) ?? this.#open(cwd);
    this.#conversations.set(name, opening);
    opening.catch(() => this.#conversations.delete(name));
    const conversation = await opening;
    if (conversation.isCancelled) await conversation.over;
    if (conversation.say !== undefined) throw new Error('the conversation is in a turn: cancel it first');
    Object.assign(conversation, { say, isCancelled: false });
    const prompt = [{ type: 'text', text }];
    const turn = this.#request('session/prompt', { sessionId: conversation.sessionId, prompt });
    const end = (): unknown => Object.assign(conversation, { say: undefined, permissions: new Set() });
    conversation.over = turn.then(end, end);
    return (await turn).stopReason;
  }

  /** Ends the turn of a conversation, if there is one. */
  cancel(name: string): void {
    this.#withOpen(name, (conversation) => {
      const { sessionId, say, permissions } = conversation;
      if (say === undefined) return;
      conversation.isCancelled = true;
      this.#send(notificationLine('session/cancel', JSON.stringify({ sessionId })));
      for (const id of permissions) this.#decide(permissions, id, { outcome: 'cancelled' });
    });
  }

  /** Answers a request for a permission, if it is open. */
  decide(name: string, permissionId: string, optionId: string): void {
    this.#withOpen(name, ({ permissions }) => {
      this.#decide(permissions, permissionId, { outcome: 'selected', optionId });
    });
  }

  /** As of `Outlet`. */
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

  /** As of `Outlet`. */
  close(_why: string, reason: string): void {
    this.isOver = true;
    for (const { reject } of this.#requests.values()) reject(new Error(reason));
  }

  /** Whoever has sent the message is told why a conversation could not be opened. */
  #withOpen(name: string, action: (conversation: Conversation) => void): void {
    this.#conversations.get(name)?.then(action, () => undefined);
  }

  async #open(cwd: string): Promise<Conversation> {
    await this.#ready;
    const { sessionId } = await this.#request('session/new', { cwd, mcpServers: [] });
    const conversation = { sessionId: String(sessionId), permissions: new Set<string>() };
    this.#bySession.set(sessionId, conversation);
    return conversation;
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
    if (method !== 'session/request_permission' || say === undefined) {
      const message = `a chat panel does not serve ${method}`;
      this.#send(errorLine(id, { code: rpcCode.methodNotFound, message }));
      return;
    }
    permissions!.add(id);
    say({ type: 'permission', permissionId: id, toolCall, options });
  }

  #decide(permissions: Set<string>, id: string, outcome: JsonObject): void {
    if (permissions.delete(id)) this.#send(resultLine(id, JSON.stringify({ outcome })));
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
