/** A client of ACP for one connection: it starts the command that editors start, and speaks to it on its stdio. */
import { spawn, type ChildProcess } from 'node:child_process';
import { rpcCode } from '../../errors';
import { rpcErrorOf } from '../../rpc/answer';
import { textOfError } from '../../rpc/protocol/agent-errors';
import type { Host } from '../../system/host';
import { quoted } from '../../system/quoted';
import { LineSplitter } from '../../system/streams/line-splitter';
import { objectIn, objectOf } from '../../system/unless';

/** An object of JSON, whose keys nobody has checked. */
export type Json = Readonly<Record<string, unknown>>;

export interface Listener {
  /** Resolves with the result of a request, or rejects with what is answered; `undefined`: there is no such method. */
  readonly onRequest: (method: string, params: Json) => Promise<Json> | undefined;
  readonly onNotification: (method: string, params: Json) => void;
}

/** The command has ended, so that no answer can come. */
export class Ended extends Error {}

/** An error that the other side has answered; `code` is JSON-RPC's or ACP's, or whatever an agent has said instead. */
export class AnsweredError extends Error {
  readonly code: unknown;

  constructor(error: unknown) {
    super(textOfError(error));
    this.code = objectOf(error).code;
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
    const lines = new LineSplitter();
    child.stdout
      .setEncoding('utf8')
      .on('data', (text: string) => lines.take(text).forEach((line) => this.#read(line)));
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

  #write(message: Json): void {
    this.#child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #read(line: string): void {
    const { id, method, params, result, error } = objectIn(line) ?? {};
    if (typeof method === 'string') {
      if (id === undefined) this.#listener.onNotification(method, objectOf(params));
      else void this.#answer(id, method, objectOf(params));
      return;
    }
    const open = this.#open.get(id as number);
    this.#open.delete(id as number);
    if (error === undefined) open?.resolve(objectOf(result));
    else open?.reject(new AnsweredError(error));
  }

  async #answer(id: unknown, method: string, params: Json): Promise<void> {
    const result = this.#listener.onRequest(method, params);
    const message = `cai try has no method ${quoted(method)}`;
    const missing = { code: rpcCode.methodNotFound, message };
    this.#write(
      result === undefined
        ? { id, error: missing }
        : await result.then(
            (given) => ({ id, result: given }),
            (reason: unknown) => ({ id, error: rpcErrorOf(reason) }),
          ),
    );
  }
}
