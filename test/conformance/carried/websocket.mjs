/* `carry.mjs` over WebSocket: one frame a line. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { carry } from './carry.mjs';

const maxBufferedBytes = 1024 * 1024;

class WebSocketLink {
  #socket;

  constructor(address, headers, onLine, onLost) {
    const url = `${address.replace(/^http/, 'ws')}/acp`;
    this.#socket = new WebSocket(url, { headers, maxPayload: 0, perMessageDeflate: false });
    this.#socket.on('message', (line) => {
      const done = onLine(line);
      if (done === undefined) return;
      this.#socket.pause();
      void done.then(() => this.#socket.resume());
    });
    this.#socket.on('error', ({ message }) => onLost(message));
    this.#socket.on('close', (code, reason) => onLost(`${code} ${reason}`));
  }

  async open() {
    await once(this.#socket, 'open');
  }

  async send(line) {
    const sent = new Promise((resolve) => this.#socket.send(line, { binary: false }, resolve));
    if (this.#socket.bufferedAmount > maxBufferedBytes) await sent;
  }

  async end() {
    this.#socket.close(1000);
    await once(this.#socket, 'close');
  }
}

await carry(WebSocketLink);
