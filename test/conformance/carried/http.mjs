/*
 * `carry.mjs` over Streamable HTTP: a POST for each line, one after the other, and a stream of events for the connection
 * and for each session, which is opened when an answer names the session, or before a message for it.
 */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { carry } from './carry.mjs';
import { Lines } from './lines.mjs';

const dataPrefix = 'data: ';

class HttpLink {
  #url;
  #headers;
  #onLine;
  #onLost;
  #agent = new Agent({ keepAlive: true });
  /** Resolve when the stream of that session is open; '' for the connection's. */
  #streams = new Map();
  /** The sessions of the server's requests, by their ids as JSON text. */
  #asked = new Map();

  constructor(address, headers, onLine, onLost) {
    this.#url = `${address}/acp`;
    this.#headers = headers;
    this.#onLine = onLine;
    this.#onLost = onLost;
  }

  open() {}

  async send(line) {
    if (/^\s*$/.test(line.toString('latin1', 0, 100))) return;
    const message = messageIn(line);
    const session = this.#sessionOf(message);
    if (session !== undefined) await this.#openStream(session);
    const headers = { 'content-type': 'application/json', 'content-length': line.length };
    const response = await this.#ask('POST', headers, session, line);
    const body = await buffer(response);
    if (response.headers['content-type'] === 'application/json') await this.#onLine(body);
    else if (response.statusCode !== 202) process.stderr.write(`${response.statusCode}: ${body}`);
    if (response.statusCode !== 200) return;
    this.#headers['acp-connection-id'] = response.headers['acp-connection-id'];
    await this.#openStream('');
  }

  async end() {
    if (this.#headers['acp-connection-id'] !== undefined) (await this.#ask('DELETE', {})).resume();
    this.#agent.destroy();
  }

  #sessionOf({ id, method, params }) {
    const named = method === undefined ? this.#asked.get(JSON.stringify(id)) : params?.sessionId;
    return typeof named === 'string' ? named : undefined;
  }

  /** What the server has written before it answers this has arrived here when the answer has. */
  async #letOthersCome() {
    await buffer(await this.#ask('HEAD', {}, undefined));
    for (let turn = 0; turn < 10; turn++) await setImmediate();
  }

  async #ask(method, headers, session, body) {
    const all = { ...this.#headers, ...headers, ...(session && { 'acp-session-id': encoded(session) }) };
    const sent = request(this.#url, { method, headers: all, agent: this.#agent });
    sent.end(body);
    const [response] = await once(sent, 'response');
    return response;
  }

  async #openStream(session) {
    if (!this.#streams.has(session)) this.#streams.set(session, this.#follow(session));
    await this.#streams.get(session);
  }

  async #follow(session) {
    const response = await this.#ask('GET', { accept: 'text/event-stream' }, session);
    if (response.statusCode !== 200) {
      process.stderr.write(`${response.statusCode}: ${await buffer(response)}`);
      return;
    }
    void this.#read(response, session).then(
      () => this.#onLost(`the stream "${session}" is over`),
      ({ message }) => this.#onLost(message),
    );
  }

  async #read(response, session) {
    const lines = new Lines();
    for await (const chunk of response)
      for (const line of lines.push(chunk))
        if (line.toString('latin1', 0, dataPrefix.length) === dataPrefix)
          await this.#received(line.subarray(dataPrefix.length), session);
  }

  async #received(line, session) {
    const { id, method, result } = messageIn(line);
    if (method !== undefined && id !== undefined && session !== '')
      this.#asked.set(JSON.stringify(id), session);
    // What the server has said before in sessions is read first: that order is usual, if not promised.
    if (session === '') await this.#letOthersCome();
    await this.#onLine(line);
    const opened = method === undefined ? result?.sessionId : undefined;
    // What the server has said in the session is here before what it says after that in the connection.
    if (typeof opened === 'string') await this.#openStream(opened);
  }
}

/** Headers hold Latin-1: those of other text are sent as the bytes of its UTF-8. */
function encoded(text) {
  return Buffer.from(text).toString('latin1');
}

function messageIn(line) {
  try {
    return JSON.parse(line) ?? {};
  } catch {
    return {};
  }
}

await carry(HttpLink);
