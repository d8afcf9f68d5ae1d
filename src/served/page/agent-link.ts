/** The connection to one agent, made again whenever it is lost. */
import { AcpClient, LostError, type Id } from './acp-client';
import { closeCodes } from '../carried';
import { EarlyUpdates } from './early-updates';
import { fieldsOf, textOf, type Fields } from './fields';

/** How long until the first and, doubling, at most until another try; in milliseconds. */
const retryMs = { first: 500, most: 30_000 };

export interface ShownSession {
  /** The params of a `session/update`. */
  updated(params: Fields): void;
  asked(id: Id, params: Fields): void;
  /** It was answered elsewhere, or is not needed any more. False: it is not one of this session's. */
  withdrawn(id: Id): boolean;
  /** A turn that another client has begun is over. */
  turnEnded(): void;
  /** There is a new connection: what happens in the session has to be asked for again. */
  reconnected(): void;
}

/** How a link stands; `reason` is for people. */
export interface LinkState {
  readonly isReady: boolean;
  /** Why not; undefined: it is only just beginning. */
  readonly reason?: string;
}

export class AgentLink {
  /** What the agent can do, once `ready` has resolved. */
  capabilities: Fields = {};
  state: LinkState = { isReady: false };
  readonly #sessions = new Map<string, ShownSession>();
  readonly #early = new EarlyUpdates();
  #client: Promise<AcpClient> | undefined;
  #open: AcpClient | undefined;
  #retry: number | undefined;
  #waitMs = retryMs.first;
  #isOver = false;

  /** Connects to nothing yet. `changed`: told whenever `state` is another one; `lost`: as `closed` of `AcpEvents`. */
  constructor(
    readonly agent: string,
    private readonly changed: () => void,
    private readonly lost: (code: number) => void,
  ) {}

  /** Resolves when lines pass; rejects with `LostError`, and goes on trying. */
  async ready(): Promise<AcpClient> {
    clearTimeout(this.#retry);
    this.#client ??= this.#connect();
    return await this.#client;
  }

  /** Makes a session, which is to be shown at once; its answer. Rejects as `AcpClient.call`. */
  async newSession(cwd: string): Promise<Fields> {
    const client = await this.ready();
    return await this.#early.during(client.call('session/new', { cwd, mcpServers: [] }));
  }

  /** The session gets what is about it from now on. */
  show(id: string, session: ShownSession): void {
    this.#sessions.set(id, session);
    for (const params of this.#early.take(id)) session.updated(params);
  }

  /** Whoever waits for a try need not wait any longer. */
  hurry(): void {
    if (this.#client !== undefined || this.#isOver || this.state.reason === undefined) return;
    this.ready().catch(() => undefined);
  }

  /** It is not needed any more. What turns are open go on for a while. */
  close(): void {
    this.#isOver = true;
    clearTimeout(this.#retry);
    this.#open?.close(this.#sessions.size === 0);
  }

  async #connect(): Promise<AcpClient> {
    const client = new AcpClient(this.agent, {
      told: (method, params) => this.#told(method, params),
      asked: (id, method, params) => {
        const session = this.#sessions.get(textOf(params.sessionId) ?? '');
        if (method === 'session/request_permission' && session !== undefined) session.asked(id, params);
        else client.refuse(id);
      },
      withdrawn: (id) => [...this.#sessions.values()].some((session) => session.withdrawn(id)),
      closed: (code, reason) => {
        if (this.#open === client) this.#closed(code, reason);
      },
    });
    this.#open = client;
    await client.opened();
    try {
      await this.#initialize(client);
    } catch (reason) {
      if (isLost(reason)) throw reason;
      this.#client = undefined;
      this.#open = undefined;
      client.close(true);
      this.#set({ isReady: false, reason: String(reason) });
      throw reason;
    }
    this.#waitMs = retryMs.first;
    this.#set({ isReady: true });
    for (const session of this.#sessions.values()) session.reconnected();
    return client;
  }

  async #initialize(client: AcpClient): Promise<void> {
    const answer = await client.call('initialize', {
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: 'containai-page', title: 'cai serve', version: '1' },
    });
    this.capabilities = fieldsOf(answer.agentCapabilities);
  }

  #told(method: string, params: Fields): void {
    const id = textOf(params.sessionId) ?? '';
    const session = this.#sessions.get(id);
    if (method === '_containai/turn_ended') session?.turnEnded();
    else if (method !== 'session/update') return;
    else if (session !== undefined) session.updated(params);
    else this.#early.add(params);
  }

  #closed(code: number, reason: string): void {
    this.#client = undefined;
    this.#open = undefined;
    this.#early.clear();
    if (this.#isOver) return;
    this.#set({
      isReady: false,
      reason: reason === '' ? 'The connection was lost.' : `The server says: ${reason}.`,
    });
    this.lost(code);
    if (code !== closeCodes.idle && !document.hidden)
      this.#retry = setTimeout(() => this.hurry(), this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, retryMs.most);
  }

  #set(state: LinkState): void {
    this.state = state;
    this.changed();
  }
}

/** Whether the connection is what has failed: it is being made again. */
export function isLost(reason: unknown): boolean {
  return reason instanceof LostError;
}
