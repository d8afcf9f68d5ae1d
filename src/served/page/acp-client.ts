/** JSON-RPC 2.0 over a WebSocket, as ACP has it: each text frame is one message. */
import { fieldsOf, numberOf, textOf, type Fields } from './fields';
import { pageKey } from './server';

/** An id of a request, as JSON text. */
export type Id = string;

/** The other end has refused a request. */
export class RpcError extends Error {
  constructor(
    /** Of JSON-RPC. */
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** The connection has ended before there was an answer. */
export class LostError extends Error {}

export interface AcpEvents {
  told(method: string, params: Fields): void;
  /** A request, which `answer` or `refuse` ends. */
  asked(id: Id, method: string, params: Fields): void;
  /** A request is no longer to be answered. */
  withdrawn(id: Id): void;
  /** It has ended; `code` is that of the WebSocket. */
  closed(code: number, reason: string): void;
}

const methodNotFound = -32601;

type Waiting = Readonly<{ resolve: (result: Fields) => void; reject: (reason: Error) => void }>;

export class AcpClient {
  readonly #socket: WebSocket;
  readonly #calls = new Map<number, Waiting>();
  #lastId = 0;

  /** Begins to connect to the agent of that name; `events` are told from the first message on. */
  constructor(agent: string, events: AcpEvents) {
    const url = new URL(`acp?agent=${encodeURIComponent(agent)}`, location.href);
    url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    const key = pageKey();
    this.#socket = new WebSocket(url, key === '' ? [] : [`cai.page-key.${key}`]);
    this.#socket.addEventListener('message', ({ data }) => this.#receive(data, events));
    this.#socket.addEventListener('close', ({ code, reason }) => {
      for (const { reject } of this.#calls.values()) reject(new LostError('the connection was lost'));
      this.#calls.clear();
      events.closed(code, reason);
    });
  }

  /** Resolves when it is open; rejects with `LostError`. */
  async opened(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#socket.addEventListener('open', () => resolve());
      this.#socket.addEventListener('close', () => reject(new LostError('the server does not answer')));
    });
  }

  /** Rejects with `RpcError`, or with `LostError`. */
  async call(method: string, params: Fields): Promise<Fields> {
    if (this.#socket.readyState !== WebSocket.OPEN) throw new LostError('there is no connection');
    const id = ++this.#lastId;
    const answer = new Promise<Fields>((resolve, reject) => this.#calls.set(id, { resolve, reject }));
    this.#send({ id, method, params });
    return await answer;
  }

  tell(method: string, params: Fields): void {
    this.#send({ method, params });
  }

  answer(id: Id, result: Fields): void {
    this.#send({ id: JSON.parse(id) as unknown, result });
  }

  /** Answers a request that is not served here. */
  refuse(id: Id): void {
    const error = { code: methodNotFound, message: 'this page does not offer that' };
    this.#send({ id: JSON.parse(id) as unknown, error });
  }

  /** `isOver`: its sessions are not needed any more, else their turns go on for a while without it. */
  close(isOver: boolean): void {
    this.#socket.close(isOver ? 1000 : 3000);
  }

  #send(message: Fields): void {
    if (this.#socket.readyState === WebSocket.OPEN)
      this.#socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  #receive(data: unknown, events: AcpEvents): void {
    const { id, method, params, result, error } = fieldsOf(JSON.parse(String(data)));
    if (typeof method !== 'string') this.#settle(id, result, error);
    else if (id !== undefined) events.asked(JSON.stringify(id), method, fieldsOf(params));
    else if (method === '$/cancel_request') events.withdrawn(JSON.stringify(fieldsOf(params).requestId));
    else events.told(method, fieldsOf(params));
  }

  #settle(id: unknown, result: unknown, error: unknown): void {
    const call = this.#calls.get(id as number);
    this.#calls.delete(id as number);
    if (error === undefined) {
      call?.resolve(fieldsOf(result));
      return;
    }
    const { code, message } = fieldsOf(error);
    call?.reject(new RpcError(numberOf(code) ?? 0, textOf(message) ?? 'an error without words'));
  }
}
