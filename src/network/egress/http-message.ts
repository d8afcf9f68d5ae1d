/** What the proxy's ends of HTTP have in common: the headers that are passed on, the passing, and the refusal. */
import http, { type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline, type Duplex } from 'node:stream';
import { placeText, type Place } from '../../config/host-rules';
import { wholeOf } from '../../system/streams/at-most';
import { joinStreams } from '../../system/streams/tunnel-server';
import type { Keyable } from '../keys/swap';
import { messageOf } from '../../errors';
import { printableLine } from '../../system/quoted';
import { Refusal } from './policy';

const maxHeadBytes = 64 * 1024;
/** How long somebody who was refused may take to read why, in milliseconds. */
const lingerMs = 1_000;

/** A server that listens nowhere, for streams that it is given. */
export function headServer(): http.Server {
  const server = http.createServer({ maxHeaderSize: maxHeadBytes });
  // One that is left out, as there are many, may say how long the body is.
  server.maxHeadersCount = 0;
  return server;
}

/** How many requests may be open at a server at once: one connection can send many before it has an answer. */
const maxRequests = 512;

/**
 * Has `serve`, which settles when its answer is over, serve the requests to a server, and `upgrade` those for another
 * protocol; tells why where they reject.
 */
export function serveRequests(
  server: http.Server,
  serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  upgrade: (request: IncomingMessage, stream: Duplex, head: Buffer) => Promise<void>,
): void {
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    upgrade(request, stream, head).catch((reason: unknown) => refuse(stream, reason));
  });
  let open = 0;
  server.on('request', (request, response) => {
    // Each request has one.
    request.socket.setMaxListeners(0);
    if (open >= maxRequests) {
      answer(response, new Refusal(`more than ${maxRequests} requests are open: try again later`, 503));
      return;
    }
    open++;
    serve(request, response)
      .catch((reason: unknown) => answer(response, reason))
      .finally(() => open--);
  });
}

/** Passes the rest of a request on to where it is `sent`, and the answer back. Rejects with a `Refusal` before that. */
export function pass(
  request: IncomingMessage,
  response: ServerResponse,
  sent: ClientRequest,
  place: Place,
): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const fail = (reason: unknown) => reject(brokeOff(place, reason));
    // An answer that waits for another one is not told that their connection has ended.
    const giveUp = (): void => void sent.destroy();
    // A request that is answered before its end has come has no socket any more.
    const { socket } = request;
    socket.once('close', giveUp);
    sent.on('error', fail).on('close', () => {
      socket.off('close', giveUp);
      if (!response.headersSent) fail(new Error('there is no answer'));
    });
    sent.on('upgrade', (_got, far) => {
      far.destroy();
      fail(new Error('it changed to another protocol'));
    });
    sent.on('response', (got) => {
      try {
        response.writeHead(got.statusCode ?? 502, got.statusMessage, endToEnd(got).flat());
        pipeline(got, response, () => resolve());
      } catch (reason) {
        // What can be read is not always what may be written.
        got.destroy();
        fail(reason);
      }
    });
    response.on('close', giveUp);
    if (socket.destroyed) giveUp();
    else pipeline(request, sent, () => undefined);
  });
}

const maxWholeBytes = 256 * 1024;

/** A body as text. Rejects with a `Refusal` of that status for a longer one than is read whole. */
export async function wholeText(message: IncomingMessage, status: Refusal['status'] = 400): Promise<string> {
  const why = `the body has more than ${maxWholeBytes} bytes, which are too many here`;
  return (await wholeOf(message, maxWholeBytes, () => new Refusal(why, status))).toString();
}

/** Headers that ask for another protocol, which are passed on in such a request. */
export const forUpgrade = ['connection', 'upgrade'];

/**
 * Sends such a request, which came on `stream` with `head` after it, to `far`, and joins the two at once: unlike with
 * `joinUpgraded`, the request may have a body, and nobody needs to know what follows.
 */
export function passUpgrade(
  { method, path, headers }: Pick<Keyable, 'path' | 'headers'> & { readonly method: string | undefined },
  { stream, head, far }: { readonly stream: Duplex; readonly head: Buffer; readonly far: Duplex },
): void {
  far.write(headOf(`${method} ${path} HTTP/1.1`, headers), 'latin1');
  far.write(head);
  joinStreams(stream, far);
}

/**
 * Has `sent`, which asks for another protocol for whoever is at `stream`, answered there. The two are joined only once
 * the server has agreed: until then what comes next could be another request. Rejects with a `Refusal` before that.
 */
export function joinUpgraded(
  { stream, head, sent }: { readonly stream: Duplex; readonly head: Buffer; readonly sent: ClientRequest },
  place: Place,
): Promise<void> {
  const tell = ({ statusCode, statusMessage }: IncomingMessage, headers: Keyable['headers']) =>
    stream.write(headOf(`HTTP/1.1 ${statusCode} ${statusMessage}`, headers), 'latin1');
  return new Promise<void>((resolve, reject) => {
    const giveUp = (): void => void sent.destroy();
    // Nobody reads yet, and an end is only told to who does.
    const lookForEnd = (): void => void (stream.readableLength === 0 && stream.read());
    stream.on('close', giveUp).on('end', giveUp).on('readable', lookForEnd);
    const stopWaiting = (): void => void stream.off('end', giveUp).off('readable', lookForEnd);
    sent.on('error', (reason) => reject(brokeOff(place, reason)));
    sent.on('upgrade', (got, far: Duplex, rest: Buffer) => {
      stopWaiting();
      tell(got, endToEnd(got, forUpgrade));
      stream.write(rest);
      far.write(head);
      joinStreams(stream, far);
      resolve();
    });
    sent.on('response', (got) => {
      stopWaiting();
      tell(got, [...endToEnd(got), ['Connection', 'close']]);
      stream.resume();
      pipeline(got, stream, () => resolve());
    });
    if (stream.destroyed) sent.destroy();
    else sent.end();
  });
}

function headOf(line: string, headers: Keyable['headers']): string {
  return `${line}\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

function brokeOff(place: Place, reason: unknown): Refusal {
  return new Refusal(`${placeText(place)} broke off (${printableLine(messageOf(reason))})`, 502);
}

/** Headers for one connection alone. Source: RFC 9110 section 7.6.1. */
const forOneConnection = new Set(
  'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);

/** The headers of a message as they came, but for those that are for this connection, unless `kept`. */
function endToEnd(message: IncomingMessage, kept: readonly string[] = []): [string, string][] {
  const named = (message.headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  const { rawHeaders } = message;
  return rawHeaders
    .map((name, at): [string, string] => [name, rawHeaders[at + 1] ?? ''])
    .filter((_, at) => at % 2 === 0)
    .filter(([name]) => {
      const lower = name.toLowerCase();
      return kept.includes(lower) || !(forOneConnection.has(lower) || named.includes(lower));
    });
}

/**
 * What is passed on of a request. The `Host` is the place that was admitted, whatever the request says; and where the
 * body ends is told as we know it, or whoever reads on would take the body for a request.
 */
export function headersFor(
  request: IncomingMessage,
  place: Place,
  kept?: readonly string[],
): [string, string][] {
  const rest = endToEnd(request, kept).filter(([name]) => !/^(?:host|content-length)$/i.test(name));
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (coding !== undefined) rest.push(['Transfer-Encoding', 'chunked']);
  else if (length !== undefined) rest.push(['Content-Length', length]);
  const isUsual = place.port === 80 || place.port === 443;
  return [['Host', isUsual ? placeText(place).replace(/:\d+$/, '') : placeText(place)], ...rest];
}

/** Tells why there is no connection, and ends it. Tools show either the status line or the body. */
export function refuse(stream: Duplex, reason: unknown): void {
  if (!stream.writable) {
    stream.destroy();
    return;
  }
  const { status, text } = told(reason);
  const body = `${text}\n`;
  stream.end(
    `HTTP/1.1 ${status} ${text}\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
  // Whoever does not read it, and goes on sending, is not kept.
  stream.resume();
  setTimeout(() => stream.destroy(), lingerMs).unref();
}

/** The same for a request; one that is answered already is broken off. */
export function answer(response: ServerResponse, reason: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, text } = told(reason);
  response.writeHead(status, text, { 'Content-Type': 'text/plain', Connection: 'close' }).end(`${text}\n`);
}

/** In ASCII, on one line: a status line takes no more. */
function told(reason: unknown): { readonly status: number; readonly text: string } {
  const status = reason instanceof Refusal ? reason.status : 502;
  const text = printableLine(`cai: ${messageOf(reason)}`).replace(/[^ -~]/g, '?');
  return { status, text };
}
