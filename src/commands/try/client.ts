/** A client of ACP for one connection: it starts the command that editors start, and speaks to it on its stdio. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { rpcCode } from '../../errors';
import type { Host } from '../../system/host';
import { quoted } from '../../system/quoted';

/** An object of JSON, whose keys nobody has checked. */
export type Json = Readonly<Record<string, unknown>>;

export interface Listener {
  /** Resolves with the result of a request; `undefined`: there is no such method. */
  readonly onRequest: (method: string, params: Json) => Promise<Json> | undefined;
  readonly onNotification: (method: string, params: Json) => void;
}

interface Message {
  readonly id?: number | string | null;
  readonly method?: string;
  readonly params?: Json;
  readonly result?: Json;
  readonly error?: { readonly code: number; readonly message: string };
}

/** The command has ended, so that no answer can come. */
export class Ended extends Error {}

/** An error that the other side has answered; `code` is JSON-RPC's or ACP's. */
export class AnsweredError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export class Client {
  readonly #child: ChildProcess;
  readonly #open = new Map<number, { resolve: (result: Json) => void; reject: (error: Error) => void }>();
  readonly #listener: Listener;
  #lastId = 0;
  /** Resolves with the exit status, 1 for a signal. */
  readonly ended: Promise<number>;

  constructor(
    [program, ...args]: readonly [string, ...string[]],
    { cwd, env }: Pick<Host, 'cwd' | 'env'>,
    listener: Listener,
  ) {
    this.#listener = listener;
    // In a group of its own: Ctrl+C on the terminal cancels the turn, and is not for the agent.
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child = child;
    createInterface({ input: child.stdout }).on('line', (line) => this.#read(line));
    // What is lost is told by its end.
    child.stdin.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      child.on('error', () => resolve(1));
      child.on('close', (code) => resolve(code ?? 1));
    }).then((status) => {
      for (const { reject } of this.#open.values()) reject(new Ended());
      this.#open.clear();
      return status as number;
    });
  }

  /** Resolves with the result; rejects with an `AnsweredError` or with `Ended`. */
  async request(method: string, params: Json): Promise<Json> {
    const id = ++this.#lastId;
    return await new Promise((resolve, reject) => {
      this.#open.set(id, { resolve, reject });
      this.#write({ id, method, params });
    });
  }

  notify(method: string, params: Json): void {
    this.#write({ method, params });
  }

  /** Ends the connection as an editor does that is closed. Resolves with the exit status. */
  async close(): Promise<number> {
    this.#child.stdin!.end();
    return await this.ended;
  }

  #write(message: Message): void {
    this.#child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #read(line: string): void {
    const message = JSON.parse(line) as Message;
    const { id, method, params = {}, result = {}, error } = message;
    if (method !== undefined) {
      if (id === undefined) this.#listener.onNotification(method, params);
      else void this.#answer(id, method, params);
      return;
    }
    const open = this.#open.get(id as number);
    this.#open.delete(id as number);
    if (error === undefined) open?.resolve(result);
    else open?.reject(new AnsweredError(error.code, error.message));
  }

  async #answer(id: number | string | null, method: string, params: Json): Promise<void> {
    const result = this.#listener.onRequest(method, params);
    const message = `cai try has no method ${quoted(method)}`;
    const error = { code: rpcCode.methodNotFound, message };
    this.#write(result === undefined ? { id, error } : { id, result: await result });
  }
}
