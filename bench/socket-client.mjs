/* A client of `cai serve` by WebSocket: of `Client` what the measure of it needs. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { requestLine } from './messages.mjs';

/** One connection. */
export class SocketClient {
  /** Messages that have come. */
  received = 0;
  #socket;
  #lastId = 0;
  #isGone = false;
  /** By the beginnings of their answers. */
  #waiting = new Map();

  /** Resolves when it is open. */
  static async open(url, token) {
    const client = new SocketClient();
    client.#socket = new WebSocket(url, {
      headers: { authorization: `Bearer ${token}` },
      perMessageDeflate: false,
    });
    client.#socket.on('message', (data) => client.#take(data));
    await once(client.#socket, 'open');
    client.#socket.on('close', (code) =>
      client.#end(new Error(`the server has closed a socket with ${code}`)),
    );
    client.#socket.on('error', (error) => client.#end(error));
    return client;
  }

  /** A new id for a request. */
  nextId() {
    return ++this.#lastId;
  }

  /** Sends a request; resolves with its result. */
  async call(method, params) {
    const id = this.nextId();
    return (await this.ask(id, requestLine(id, method, params))).result;
  }

  /** Sends the line of a request with that id; resolves with its answer. */
  async ask(id, line) {
    const answered = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#socket.send(line.trimEnd());
    return await answered;
  }

  /** Reads nothing more. */
  stopReading() {
    this.#socket.pause();
  }

  /** Ends it at once. */
  kill() {
    this.#isGone = true;
    this.#socket.terminate();
  }

  #take(data) {
    this.received++;
    // All but answers begin with the name of their method.
    if (data[17] === 0x6d) return;
    const answer = JSON.parse(data);
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ('result' in answer) waiting?.resolve(answer);
    else waiting?.reject(new Error(`the server has answered ${JSON.stringify(answer.error)}`));
  }

  #end(reason) {
    if (this.#isGone) return;
    for (const { reject } of this.#waiting.values()) reject(reason);
  }
}
