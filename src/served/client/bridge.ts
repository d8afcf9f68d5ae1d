/**
 * Between an editor and the connection to a server: every line passes as it is, but for what `guard.ts` says. Where one
 * connection has to take the place of another, the editor notices no more of it than the errors of what was under way.
 */
import { isUtf8 } from 'node:buffer';
import { ownValue } from '../../config/own-property';
import { rpcCode, type CaiError } from '../../errors';
import { editorMethods } from '../../rpc/protocol/methods';
import { cancelLine, errorLine, newOwnId, requestLine, rpcErrorOf, type RpcError } from '../../rpc/answer';
import { onOneLine } from '../../rpc/white-space';
import { tooLong, type OverlongLine } from '../../rpc/long-line';
import { bodyTextOf, fieldOf, jsonOf, stringOf, type Message } from '../../rpc/message';
import { OpenRequests } from '../../rpc/open-requests';
import { Repeats } from '../../rpc/repeated-requests';
import { Scanner } from '../../rpc/scanner';
import { joined, splice } from '../../rpc/splice';
import type { Lane } from '../../rpc/writer';
import type { Log } from '../../system/log';
import { plans, type Guard } from './guard';
import { KeptSessions, type OpenCall } from './kept-sessions';
import { Remote, type RemoteOptions } from './remote';
import { ServerRequests } from './server-requests';

export interface BridgeOptions extends Pick<
  RemoteOptions,
  'address' | 'access' | 'maxLineBytes' | 'maxUnprovenBytes'
> {
  /** Gets no contents of messages. */
  readonly log: Log;
  /** Keeps the server from the editor's machine; undefined: it may do there what the editor does for it. */
  readonly guard: Guard | undefined;
  readonly lane: Lane;
  /** `canTake` may be true again. */
  readonly onRoom: () => void;
  /** Nothing can be connected to: from now on all requests are answered with this. */
  readonly onGivenUp: (reason: CaiError) => void;
}

export class Bridge {
  readonly remote: Remote;
  readonly #calls = new OpenRequests<OpenCall>();
  readonly #asked = new ServerRequests();
  readonly #sessions: KeptSessions;
  readonly #fromEditor = new Scanner(plans);
  readonly #fromServer = new Scanner(plans);
  /** Our own requests, by id. */
  readonly #own = new OpenRequests<(answer: Message) => void>();
  /** The editor's own, and whether it has been answered. */
  #initialize: { readonly request: Message; isAnswered: boolean } | undefined;
  /** For the next connection: another process of an agent may refuse sessions without these. */
  readonly #repeats = new Repeats();
  /** The connection has what it needs before the editor's messages. */
  #isReady = false;
  /** Sessions in which a turn was open when the connection was lost. */
  #busy = new Set<string>();
  #failure: RpcError | undefined;
  #onIdle: () => void = () => undefined;

  constructor(private readonly options: BridgeOptions) {
    this.remote = new Remote({
      ...options,
      onBegin: () => this.#begin(),
      onLine: (line) => this.#takeFromServer(line),
      onRoom: () => {
        if (this.canTake) options.onRoom();
      },
      onLost: () => this.#lose(),
      onGivenUp: (reason) => {
        this.fail(rpcErrorOf(reason));
        options.onGivenUp(reason);
      },
    });
    this.#sessions = new KeptSessions({
      ask: (method, params, onAnswer) => this.#ask(method, params, onAnswer),
      deliver: (message) => this.#deliver(message),
      tell: (line) => this.#tell(line),
      log: options.log,
    });
  }

  /** The editor's next line may be given. */
  get canTake(): boolean {
    if (this.#failure !== undefined) return true;
    const isCrowded = this.#sessions.heldBytes > this.options.maxUnprovenBytes;
    return this.#isReady && this.remote.hasRoom && !isCrowded;
  }

  /** Resolves when no request of the editor is open. */
  async whenIdle(): Promise<void> {
    while (this.#calls.size > 0 || this.#sessions.heldBytes > 0)
      await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  /** Answers all requests of the editor, also those to come, with an error. */
  fail(error: RpcError): void {
    this.#failure ??= error;
    for (const { id } of this.#calls.takeAll()) this.#tell(errorLine(id, error));
    for (const { kind, id } of this.#sessions.takeHeld())
      if (kind === 'request') this.#tell(errorLine(id!, error));
    this.#onIdle();
  }

  /** A line of the editor, without its line end, while `canTake`. */
  fromEditor(line: Buffer | OverlongLine): void {
    if (!Buffer.isBuffer(line)) {
      this.#refuseOverlong(line);
      return;
    }
    const message = this.#fromEditor.scan(line);
    if (this.#failure !== undefined) {
      if (message.kind === 'request') this.#tell(errorLine(message.id!, this.#failure));
    } else if (message.kind === 'response') {
      const answer = this.#asked.toServer(message);
      if (answer !== undefined) this.remote.send(answer);
    } else if (message.defect === 'json' && !isUtf8(line)) {
      // No text frame can carry it; of all else the server says what is wrong with it.
      const error = { code: rpcCode.parseError, message: 'Parse error: the line is not JSON in UTF-8' };
      this.#tell(errorLine('null', error));
    } else {
      this.#route(message);
    }
  }

  /** To the server now, or once the session that it is about is open again. */
  #route(message: Message): void {
    const { method } = message;
    const route = ownValue(editorMethods, method)?.route;
    const sessionId = stringOf(message, 'session');
    // These open a session, or need it not to be open. While we open it, its updates tell the past, which the editor knows.
    const isAboutAny = route === 'delete' || (route === 'open' && !this.#sessions.isLoading(sessionId));
    const cancelled = method === '$/cancel_request' ? fieldOf(message, 'requestId') : undefined;
    if (cancelled !== undefined && this.#sessions.holdBehind(jsonOf(message, cancelled), message)) return;
    if (!isAboutAny && this.#sessions.hold(sessionId, message)) return;
    this.#deliver(message);
  }

  #deliver(given: Message): void {
    const { guard } = this.options;
    const isGuarded = guard !== undefined && given.method === 'initialize';
    const message = isGuarded ? this.#fromEditor.scan(guard.initialize(given)) : given;
    const { kind, id, method } = message;
    if (kind === 'request') {
      if (method === 'initialize') this.#initialize = { request: message, isAnswered: false };
      const row = ownValue(editorMethods, method);
      const isKept = ['new', 'open', 'fork'].includes(row?.route ?? '') || row?.repeat !== undefined;
      const sessionId = stringOf(message, 'session');
      this.#calls.add(id!, { id: id!, method, sessionId, kept: isKept ? message : undefined });
    }
    this.remote.send(message.line);
  }

  #takeFromServer(frame: Buffer): void {
    const line = onOneLine(frame);
    const message = this.#fromServer.scan(line);
    if (message.defect === 'json') {
      this.options.log.warn({ bytes: line.length }, 'a message of the server was dropped: it is not JSON');
    } else if (message.kind === 'response') {
      this.#answerEditor(message);
    } else if (this.#refuse(message)) {
      // The server has its answer.
    } else if (message.kind === 'request') {
      const line = this.#asked.toEditor(message);
      if (line !== undefined) this.#pass(line);
      else
        this.#refuseServer(message.id!, {
          code: rpcCode.internalError,
          message: 'too many requests are open',
        });
    } else if (message.method === '$/cancel_request') {
      this.#pass(this.#asked.cancelToEditor(message));
    } else {
      const isPast =
        message.method === 'session/update' && this.#sessions.isLoading(stringOf(message, 'session'));
      if (!isPast) this.#pass(line);
    }
  }

  /** Whether the editor may not have what the server asks or tells. Where that is an answer, too, the editor is told. */
  #refuse(message: Message): boolean {
    const { guard, log } = this.options;
    const error = guard?.refusalOf(message);
    if (error === undefined) return false;
    const { id, method } = message;
    log.info({ method }, 'refused to the server: it may not use this machine (--trust-server)');
    if (id === undefined) return true;
    const told = { code: rpcCode.internalError, message: `the server's answer: ${error.message}` };
    if (method !== '') this.#refuseServer(id, error);
    else if (this.#calls.take(id) !== undefined) this.#tell(errorLine(id, told));
    return true;
  }

  /** Nothing for a server that asks more and more, and takes no answers. */
  #refuseServer(id: string, error: RpcError): void {
    if (!this.remote.isCrowded) this.remote.send(joined(errorLine(id, error)));
  }

  #answerEditor(answer: Message): void {
    const own = this.#own.take(answer.id!);
    if (own !== undefined) {
      own(answer);
      this.#onIdle();
      this.options.onRoom();
      return;
    }
    const call = this.#calls.take(answer.id!);
    this.#pass(this.options.guard?.answer(answer) ?? answer.line);
    if (call !== undefined && !answer.isError) this.#learn(call, answer);
    else if (call?.method === 'initialize') this.#initialize = undefined;
    this.#onIdle();
  }

  /** What the answer to a request of the editor means for another connection. */
  #learn({ method, sessionId, kept: request }: OpenCall, answer: Message): void {
    const { route, repeat } = ownValue(editorMethods, method) ?? {};
    if (route === 'initialize') {
      if (this.#initialize !== undefined) this.#initialize.isAnswered = true;
      this.#sessions.learn(answer);
    } else if (route === 'new' || route === 'fork' || route === 'open') {
      const id = route === 'open' ? sessionId : stringOf(answer, 'session');
      if (id !== undefined) this.#sessions.keep(id, request!);
    } else if (route === 'close' || route === 'delete' || route === 'end') {
      if (sessionId !== undefined) this.#sessions.forget(sessionId);
    }
    if (repeat === 'clear') this.#repeats.forgetAll();
    if (repeat === 'keep') this.#repeats.remember({ method, params: bodyTextOf(request!) });
  }

  /** A connection that knows nothing: it gets what an earlier one was told. */
  #begin(): void {
    const known = this.#initialize;
    if (known?.isAnswered !== true) {
      if (known !== undefined) this.#deliver(known.request);
      this.#setReady();
      return;
    }
    this.#ask('initialize', bodyTextOf(known.request), (answer) => {
      if (answer.isError) this.options.log.error('the server has refused to initialize another connection');
      else this.#sessions.learn(answer);
      for (const repeat of this.#repeats.all()) this.#ask(repeat.method, repeat.params, () => undefined);
      this.#setReady();
    });
  }

  #setReady(): void {
    this.#isReady = true;
    const busy = this.#busy;
    this.#busy = new Set();
    this.#sessions.reopen(busy);
    this.options.onRoom();
  }

  /** The connection is over: what was under way fails. */
  #lose(): void {
    this.#isReady = false;
    this.#own.takeAll();
    for (const call of this.#calls.takeAll()) {
      const { id, method, sessionId } = call;
      // It is sent again, as the first of another connection.
      if (method === 'initialize') this.#calls.add(id, call);
      else this.#tell(errorLine(id, this.#sessions.lostCall(call)));
      if (sessionId !== undefined) this.#busy.add(sessionId);
    }
    for (const id of this.#asked.withdrawAll()) this.#tell(cancelLine(id));
    this.#sessions.loseAll();
    this.#onIdle();
  }

  #ask(method: string, params: string | undefined, onAnswer: (answer: Message) => void): void {
    const id = newOwnId();
    this.#own.add(id, onAnswer);
    this.remote.send(joined(requestLine(id, method, params)));
  }

  #refuseOverlong(line: OverlongLine): void {
    const { id, isMethod, isResponse, length: bytes } = line.skim;
    this.options.log.warn({ bytes }, 'an over-long line of the editor was refused');
    if (isResponse && id !== undefined) {
      const error = { code: rpcCode.internalError, message: "the client's answer could not be passed on" };
      this.fromEditor(joined(errorLine(id, error)));
    } else if (id !== undefined || !isMethod) {
      const message = `Invalid request: the line ${tooLong(line, 'acp.max_line_from_editor')}`;
      this.#tell(errorLine(id ?? 'null', { code: rpcCode.invalidRequest, message }));
    }
  }

  /** A line without its line end. */
  #pass(line: Buffer): void {
    this.#tell(splice(line, []));
  }

  #tell(line: Parameters<Lane['queue']>[0]): void {
    this.options.lane.queue(line);
    if (this.options.lane.stopIfFull()) this.remote.setPaused(true);
  }
}
