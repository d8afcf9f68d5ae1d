/*
 * The client of the benchmark, the same before every contender. While a measure runs it only counts bytes, or
 * looks for those of one answer: it must see how fast a pipe is, and not be what limits it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { promptAnswer, requestLine } from './messages.mjs';

/** How long a single wait may last, in milliseconds; none should take a tenth of it. */
const patienceMs = 120_000;
/** How long a contender may take to end by itself, in milliseconds. */
const endMs = 5_000;
const stderrTailLength = 2_000;

/** A started contender. */
export class Client {
  /** All bytes that have come. */
  receivedBytes = 0;
  /** When the last wait was over, as `performance.now` counts. */
  reachedAt = 0;
  #goalBytes = Infinity;
  #needle;
  /** End of what was searched, where a needle may have begun. */
  #tail = Buffer.alloc(0);
  #kept;
  #lastId = 0;
  #stderr = '';
  #resolve = () => undefined;
  #reject = () => undefined;
  #isStopping = false;
  #isGone = false;

  /** `title` is for errors; `command` is the program and its arguments. */
  constructor(title, command, options) {
    this.title = title;
    const [program, ...args] = command;
    // A group of its own, so that nothing is left of it.
    this.child = spawn(program, args, { ...options, stdio: 'pipe', detached: true });
    this.closed = once(this.child, 'close');
    this.child.stdin.on('error', () => undefined);
    this.child.stdout.on('data', (chunk) => this.#onData(chunk));
    this.child.stderr.setEncoding('utf8').on('data', (text) => {
      this.#stderr = (this.#stderr + text).slice(-stderrTailLength);
    });
    this.child.on('error', (error) => this.#reject(error));
    this.child.on('close', (status, signal) => {
      if (!this.#isStopping) this.#reject(this.#failure(`ended with ${signal ?? status}`));
    });
  }

  /** Process id of the contender. */
  get pid() {
    return this.child.pid;
  }

  /** A new id for a request. */
  nextId() {
    return ++this.#lastId;
  }

  #onData(chunk) {
    this.receivedBytes += chunk.length;
    if (this.#kept !== undefined) this.#keep(chunk);
    else if (this.#needle !== undefined) this.#search(chunk);
    else if (this.receivedBytes >= this.#goalBytes) this.#reach();
  }

  #reach() {
    this.reachedAt = performance.now();
    const surplus = this.receivedBytes - this.#goalBytes;
    this.#goalBytes = Infinity;
    if (surplus > 0) this.#reject(this.#failure(`sent ${surplus} bytes more than the agent`));
    else this.#resolve();
  }

  #search(chunk) {
    const overlap = this.#needle.length - 1;
    const isFound =
      chunk.includes(this.#needle) ||
      Buffer.concat([this.#tail, chunk.subarray(0, overlap)]).includes(this.#needle);
    this.#tail =
      chunk.length >= overlap ? chunk.subarray(chunk.length - overlap) : Buffer.concat([this.#tail, chunk]);
    if (!isFound) return;
    this.reachedAt = performance.now();
    this.#resolve();
  }

  /** Sends a request; resolves with its result. For what is not timed. */
  async call(method, params) {
    const id = this.nextId();
    const answered = this.#wait(`an answer to ${method}`);
    this.#kept = { id, text: '' };
    this.child.stdin.write(requestLine(id, method, params));
    return await answered;
  }

  #keep(chunk) {
    this.#kept.text += chunk.latin1Slice();
    const lines = this.#kept.text.split('\n');
    this.#kept.text = lines.pop();
    const answer = lines.map((line) => JSON.parse(line)).find(({ id }) => id === this.#kept.id);
    if (answer === undefined) return;
    this.#kept = undefined;
    this.reachedAt = performance.now();
    if ('result' in answer) this.#resolve(answer.result);
    else this.#reject(this.#failure(`answered ${JSON.stringify(answer.error)}`));
  }

  /** Resolves when exactly that many bytes more have come. Call it before what brings them. */
  awaitBytes(bytes) {
    this.#goalBytes = this.receivedBytes + bytes;
    return this.#wait(`${bytes} bytes`);
  }

  /** Resolves when these bytes come, whatever comes with them, which costs a search of all. */
  awaitText(text) {
    this.#needle = Buffer.from(text);
    this.#tail = this.#tail.subarray(this.#tail.length);
    return this.#wait(text.trim()).finally(() => (this.#needle = undefined));
  }

  /** Sends the line of a prompt with that id; resolves when it is answered. */
  async ask(id, line) {
    const answered = this.awaitText(promptAnswer(id));
    this.child.stdin.write(line);
    await answered;
  }

  /** Searches all that comes for what never does, so that it costs what `awaitText` does elsewhere. */
  searchOn() {
    this.#needle = Buffer.from('"id":-1,"result":{"stopReason":"never"}');
  }

  /** Writes the pieces one by one, no faster than they are taken. */
  async send(pieces) {
    for (const piece of pieces) {
      if (!this.child.stdin.write(piece)) await once(this.child.stdin, 'drain');
    }
  }

  /** Ends it and all that it started. */
  async stop() {
    this.#isStopping = true;
    this.child.stdout.resume();
    this.child.stdin.end();
    const timer = setTimeout(() => this.#kill(), endMs);
    await this.closed;
    clearTimeout(timer);
    this.#kill();
  }

  /** Ends it at once; what it started then finds nobody that reads. */
  async kill() {
    this.#isStopping = true;
    this.#kill();
    await this.closed;
  }

  #kill() {
    if (this.#isGone) return;
    try {
      process.kill(-this.child.pid, 'SIGKILL');
      // Its number may be another's once it is over.
      this.#isGone = this.child.exitCode !== null || this.child.signalCode !== null;
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
      this.#isGone = true;
    }
  }

  #wait(what) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#reject(this.#failure(`never brought ${what}`)), patienceMs);
      const settle = (how) => (value) => {
        clearTimeout(timer);
        how(value);
      };
      this.#resolve = settle(resolve);
      this.#reject = settle(reject);
    });
  }

  #failure(happened) {
    return new Error(`${this.title} ${happened}${this.#stderr === '' ? '' : `; it said: ${this.#stderr}`}`);
  }
}
