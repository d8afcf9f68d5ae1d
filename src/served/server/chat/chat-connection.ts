/** A connection as a chat panel's client of ACP: requests with their answers, and what the agent says and asks. */
import { errorLine, notificationLine, requestLine, resultLine } from '../../../rpc/answer';
import { scan, type Message, type Plans } from '../../../rpc/message';
import { joined } from '../../../rpc/splice';
import { openBrace, openBracket, type JsonObject } from '../../../rpc/json';
import { rpcCode } from '../../../errors';
import { isObject } from '../../../system/unless';
import { textOfError } from '../../../rpc/protocol/agent-errors';
import type { Outlet } from '../client-stream';
import type { ServedConnection } from '../served-connection';

/** What an agent, or the process before it, has answered instead of a result. */
export class AgentError extends Error {
  constructor(
    message: string,
    /** Source: ACP v1, `ErrorCode`; an agent may have others. */
    readonly code: unknown,
  ) {
    super(message);
  }
}

/** Hears the agent. `sessionId` and what is in `params` can be anything. */
export interface ChatListener {
  /** `bytes`: of the whole message. */
  updated(sessionId: unknown, update: JsonObject, bytes: number): void;
  /** A permission is asked for; `id`: JSON text, for `ChatConnection.answer`. */
  asked(sessionId: unknown, id: string, params: JsonObject): void;
  /** A permission is needed no more: another client has answered, or the agent waits no longer. */
  withdrawn(id: string): void;
}

/** With more brackets, to parse a line would stop the server for seconds. */
const maxBrackets = 500_000;
const noPlans: Plans = { params: () => undefined, result: () => undefined, error: undefined };

type Waiting = Readonly<{ resolve(result: JsonObject): void; reject(reason: Error): void }>;

/** Made of a connection that nobody else uses. */
export class ChatConnection implements Outlet {
  /** Why the connection has ended; undefined: it has not. */
  #ended: string | undefined;
  readonly #requests = new Map<number, Waiting>();
  #lastId = 0;

  constructor(
    private readonly connection: ServedConnection,
    private readonly listener: ChatListener,
  ) {
    connection.attach(this);
  }

  get isOver(): boolean {
    return this.#ended !== undefined;
  }

  /** Rejects with `AgentError`, or with why the connection has ended. */
  async request(method: string, params: JsonObject): Promise<JsonObject> {
    if (this.#ended !== undefined) throw new Error(this.#ended);
    const id = ++this.#lastId;
    return await new Promise((resolve, reject) => {
      this.#requests.set(id, { resolve, reject });
      this.#send(requestLine(String(id), method, JSON.stringify(params)));
    });
  }

  notify(method: string, params: JsonObject): void {
    this.#send(notificationLine(method, JSON.stringify(params)));
  }

  answer(id: string, result: JsonObject): void {
    this.#send(resultLine(id, JSON.stringify(result)));
  }

  send(line: Buffer): boolean {
    if (hasTooMuch(line)) {
      this.#leaveOut(scan(line, noPlans));
      return true;
    }
    const { id, method, params, result, error } = JSON.parse(line.toString()) as {
      readonly id?: number | string;
      readonly method?: string;
    } & Readonly<Partial<Record<'params' | 'result' | 'error', JsonObject | null>>>;
    if (method === undefined) this.#answered(Number(id), result, error);
    else if (id === undefined) this.#told(method, params ?? {}, line.length);
    else if (method === 'session/request_permission')
      this.listener.asked(params?.sessionId, JSON.stringify(id), params ?? {});
    else {
      const message = `a chat panel does not serve ${method}`;
      this.#send(errorLine(JSON.stringify(id), { code: rpcCode.methodNotFound, message }));
    }
    return true;
  }

  close(_why: string, reason: string): void {
    this.#ended = reason;
    for (const { reject } of this.#requests.values()) reject(new Error(reason));
    this.#requests.clear();
  }

  #leaveOut({ kind, id }: Message): void {
    const error = { code: rpcCode.invalidRequest, message: 'the message has more parts than are read here' };
    if (kind === 'response') this.#answered(Number(id), undefined, error);
    else if (id !== undefined) this.#send(errorLine(id, error));
  }

  #answered(id: number, result: JsonObject | null | undefined, error: JsonObject | null | undefined): void {
    const waiting = this.#requests.get(id);
    this.#requests.delete(id);
    if (error === undefined) waiting?.resolve(result ?? {});
    else waiting?.reject(new AgentError(textOfError(error), error?.code));
  }

  #told(method: string, { sessionId, update, requestId }: JsonObject, bytes: number): void {
    if (method === '$/cancel_request') this.listener.withdrawn(JSON.stringify(requestId));
    else if (method === 'session/update' && isObject(update)) this.listener.updated(sessionId, update, bytes);
  }

  #send(line: Buffer): void {
    this.connection.receive(joined(line));
  }
}

function hasTooMuch(line: Buffer): boolean {
  if (line.length <= maxBrackets) return false;
  let brackets = 0;
  for (const c of line) if (c === openBracket || c === openBrace) brackets++;
  return brackets > maxBrackets;
}
