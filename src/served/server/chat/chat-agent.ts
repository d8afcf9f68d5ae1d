/** The conversations of one visitor with one agent: one connection, and a session for each conversation. */
import type { JsonObject } from '../../../rpc/json';
import { HttpError } from '../http/http-error';
import type { ServedConnection } from '../served-connection';
import { ChatConnection, type ChatListener } from './chat-connection';
import { Conversation, refusePermission, type ChatMessage, type ConversationOptions } from './conversation';

/** Sessions that stay open, besides those that are in a turn. */
const maxOpen = 32;

/** One process for the conversations of one visitor with one agent. */
export class ChatAgent implements ChatListener {
  readonly #connection: ChatConnection;
  readonly #ready: Promise<JsonObject>;
  /** By the panel's ids. The one that was used last stands last. */
  readonly #conversations = new Map<string, Conversation>();

  /** Takes a connection that nobody else uses. */
  constructor(
    connection: ServedConnection,
    private readonly options: Pick<ConversationOptions, 'kept' | 'folder'>,
  ) {
    this.#connection = new ChatConnection(connection, this);
    this.#ready = this.#connection.request('initialize', { protocolVersion: 1, clientCapabilities: {} });
    this.#ready.catch(() => undefined);
  }

  /** The connection has ended: another is needed. */
  get isOver(): boolean {
    return this.#connection.isOver;
  }

  /** As `Conversation.prompt`. */
  async prompt(name: string, message: ChatMessage): Promise<unknown> {
    const options = { ...this.options, connection: this.#connection, ready: this.#ready };
    const conversation = this.#conversations.get(name) ?? new Conversation(name, options);
    this.#conversations.delete(name);
    this.#conversations.set(name, conversation);
    try {
      const ended = conversation.prompt(message);
      this.#makeRoom();
      return await ended;
    } finally {
      const isNothing = !conversation.isOpen && !conversation.isBusy;
      if (isNothing && this.#conversations.get(name) === conversation) this.#conversations.delete(name);
    }
  }

  /** Ends the turn of a conversation, if it is in one; throws `HttpError` if there is no such conversation. */
  cancel(name: string): void {
    this.#known(name).cancel();
  }

  /** Answers a request for a permission; throws `HttpError` if it is not open. */
  decide(name: string, permissionId: string, optionId: string): void {
    this.#known(name).decide(permissionId, optionId);
  }

  updated(sessionId: unknown, update: JsonObject, bytes: number): void {
    this.#of(sessionId)?.updated(update, bytes);
  }

  asked(sessionId: unknown, id: string, params: JsonObject): void {
    const conversation = this.#of(sessionId);
    if (conversation === undefined) refusePermission(this.#connection, id);
    else conversation.asked(id, params);
  }

  withdrawn(id: string): void {
    for (const conversation of this.#conversations.values()) conversation.withdrawn(id);
  }

  #known(name: string): Conversation {
    const conversation = this.#conversations.get(name);
    if (conversation === undefined) throw new HttpError(404, 'no conversation of that id is open');
    return conversation;
  }

  #of(sessionId: unknown): Conversation | undefined {
    return [...this.#conversations.values()].find((each) => each.sessionId === sessionId);
  }

  /** Closes those that nobody has used for the longest time. */
  #makeRoom(): void {
    for (const [name, conversation] of this.#conversations) {
      if (conversation.isBusy || this.#conversations.size <= maxOpen) continue;
      this.#conversations.delete(name);
      conversation.close();
    }
  }
}
