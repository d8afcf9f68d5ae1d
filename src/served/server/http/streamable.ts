/**
 * Streamable HTTP: a client posts its messages, and reads those for it in streams of events, one for the connection and
 * one for each session. Source: ACP, "Streamable HTTP & WebSocket Transport", and where that is silent SDK 2.4.
 */
import { rpcCode } from '../../../errors';
import { errorLine } from '../../../rpc/answer';
import { wantedIn } from '../../../rpc/json';
import { onOneLine } from '../../../rpc/white-space';
import { scanCall, stringOf, type Message } from '../../../rpc/message';
import { joined } from '../../../rpc/splice';
import { type Outlet, receivedCount } from '../client-stream';
import type { ServedConnection } from '../served-connection';
import type { Connections } from '../connections';
import type { Request } from '../door/request-rules';
import type { Visitor } from '../door/visitor';
import { atMostFromClient, Bodies, isJson } from './body';
import { EventStream, type Response } from './event-stream';
import { HttpError } from './http-error';

const plan = wantedIn({ sessionId: 'session' });

export class StreamableHttp {
  readonly #bodies: Bodies;

  /** `maxBodyBytes`: longest message of a client. */
  constructor(
    private readonly connections: Connections,
    maxBodyBytes: number,
  ) {
    this.#bodies = new Bodies(maxBodyBytes, atMostFromClient);
  }

  /**
   * Answers a request of somebody who was let in; `agent`: the one that they name. Rejects with `HttpError` and
   * `CaiError` for what is refused, before anything is answered.
   */
  async serve(
    request: Request,
    response: Response,
    visitor: Visitor,
    agent: string | undefined,
  ): Promise<void> {
    const { method } = request;
    if (method === 'POST') await this.#post(request, response, visitor, agent);
    else if (method === 'GET') this.#get(request, response, visitor);
    else if (method === 'DELETE') {
      this.#connectionOf(request, visitor).end();
      response.writeHead(202).end();
    } else throw new HttpError(405, 'this address takes GET, POST and DELETE');
  }

  #get(request: Request, response: Response, visitor: Visitor): void {
    const { headers } = request;
    if (headers.accept?.toLowerCase().includes('text/event-stream') !== true)
      throw new HttpError(406, 'this address has a stream of events: accept text/event-stream, or upgrade');
    const connection = this.#connectionOf(request, visitor);
    const after = receivedCount(headers['last-event-id']);
    new EventStream(response, connection, headerOf(request, 'acp-session-id') ?? '', after);
  }

  async #post(
    request: Request,
    response: Response,
    visitor: Visitor,
    agent: string | undefined,
  ): Promise<void> {
    if (!isJson(request)) throw new HttpError(415, 'a message has the type application/json');
    const isFirst = headerOf(request, 'acp-connection-id') === undefined;
    // What nobody waits for is not read.
    if (!isFirst) this.#connectionOf(request, visitor);
    const line = onOneLine(await this.#bodies.read(request, visitor));
    const message = checked(scanCall(line, plan), request);
    if (isFirst) {
      if (message.kind !== 'request' || message.method !== 'initialize')
        throw refused(400, message, 'Acp-Connection-Id is missing: only initialize goes without it');
      await this.#initialize(line, response, this.connections.open(visitor, agent, true));
      return;
    }
    const connection = this.#connectionOf(request, visitor);
    if (!connection.receive(line)) {
      await new Promise<void>((resolve) => connection.whenRoom(resolve));
      // It may have ended instead, and then has not read the message.
      this.#connectionOf(request, visitor);
    }
    response.writeHead(202).end();
  }

  /** The first answer of the process is that of the request. */
  async #initialize(line: Buffer, response: Response, connection: ServedConnection): Promise<void> {
    const answer = await new Promise<Buffer | undefined>((resolve) => {
      const outlet: Outlet = {
        send(first) {
          connection.detach(outlet, false);
          resolve(first);
          return true;
        },
        close: () => resolve(undefined),
      };
      response.on('close', () => {
        if (!response.writableEnded) connection.end();
      });
      connection.attach(outlet);
      connection.receive(line);
    });
    if (answer === undefined)
      throw new HttpError(502, 'the process of the agent has ended before it answered');
    response.writeHead(200, { 'content-type': 'application/json', 'acp-connection-id': connection.id });
    response.end(answer);
  }

  #connectionOf(request: Request, visitor: Visitor): ServedConnection {
    const id = headerOf(request, 'acp-connection-id');
    if (id === undefined) throw new HttpError(400, 'Acp-Connection-Id is missing');
    return this.connections.find(id, visitor, true);
  }
}

/** A message may say in the header alone, or in both places alike, which session it is about. */
function checked(message: Message, request: Request): Message {
  const { defect } = message;
  if (defect === 'batch') throw refused(501, message, 'there are no batches in ACP: post each message alone');
  // Of the other defects the process says what is wrong, to whoever has the id.
  if (defect === 'json' || defect === 'envelope')
    throw refused(400, message, 'the body is no message of JSON-RPC 2.0');
  const named = defect === undefined ? stringOf(message, 'session') : undefined;
  const header = headerOf(request, 'acp-session-id');
  if (named !== undefined && header === undefined) throw refused(400, message, 'Acp-Session-Id is missing');
  if (named !== undefined && header !== named)
    throw refused(400, message, 'Acp-Session-Id is not the session of the message');
  return message;
}

/** Its sender gets the error that the process would answer with; notifications and responses have no answer. */
function refused(status: number, { kind, id, defect }: Message, reason: string): HttpError {
  const isNotification = kind === 'notification' || (defect === 'duplicate' && id === undefined);
  if (isNotification || kind === 'response') return new HttpError(status, reason);
  const code = defect === 'json' ? rpcCode.parseError : rpcCode.invalidRequest;
  const line = errorLine(id ?? 'null', { code, message: reason });
  return new HttpError(status, reason, { body: joined(line) });
}

function headerOf({ headers }: Request, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}
