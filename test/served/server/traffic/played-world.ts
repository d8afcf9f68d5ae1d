/**
 * Connections of one visitor whose clients and processes a test plays, and what must hold after each step. Requests and
 * updates have numbers, so that it is known who has got them. Its methods throw where a rule is broken.
 */
import type { Line } from '../../../../src/rpc/splice';
import { Keeper, type KeepLimits, type KeptLines } from '../../../../src/served/server/kept-lines';
import type { LiveSession } from '../../../../src/served/server/traffic/live-session';
import { Traffic } from '../../../../src/served/server/traffic/traffic';

type Id = string | number;

/** A JSON-RPC message, as far as it matters here. */
export interface Json {
  readonly id?: Id;
  readonly method?: string;
  readonly params?: Params;
  readonly result?: unknown;
  readonly error?: unknown;
}

interface Params {
  readonly sessionId?: string;
  readonly requestId?: Id;
  readonly update?: { readonly sessionUpdate?: string; readonly content?: { readonly text: string } };
  readonly _meta?: { readonly n: number };
  readonly [key: string]: unknown;
}

/** A request of a client. */
interface Request {
  readonly n: number;
  readonly method: string;
  readonly sessionId: string | undefined;
  readonly from: Connection;
  /** Which has got it. */
  process?: Connection;
  /** The client has left the session since. */
  isVoid: boolean;
}

/** As a process has it. */
export interface Call extends Request {
  /** Under that id. */
  readonly id: Id;
  /** The session that `session/new` and `session/fork` open. */
  readonly opens: string;
  /** The process had the session before. */
  hadIt: boolean;
  /** A prompt is open while the past is told, so all hear it. */
  isMixed: boolean;
}

class CountingKeeper extends Keeper {
  readonly kept = new Set<KeptLines>();

  override added(lines: KeptLines, line: Buffer): void {
    this.kept.add(lines);
    super.added(lines, line);
  }

  override forget(lines: KeptLines): void {
    this.kept.delete(lines);
    super.forget(lines);
  }
}

/** One client and its process. */
export class Connection {
  readonly traffic: Traffic;
  readonly keeper: CountingKeeper;
  readonly toClient: Json[] = [];
  readonly toProcess: Json[] = [];
  /** Requests of the client that are not answered. */
  readonly open = new Map<Id, Request>();
  /** The sessions that the client has, and where they are. */
  readonly homes = new Map<string, Connection>();
  /** Requests that the client has to answer. */
  readonly questions = new Set<Id>();
  /** Those that it need not answer any more, and still may. */
  readonly void = new Set<Id>();
  /** Numbers of what the client has been told. */
  readonly told: { readonly n: number; readonly sessionId: string | undefined }[] = [];
  /** Requests that the process has not answered. */
  readonly calls: Call[] = [];
  /** How often each request of the process was answered. */
  readonly answers = new Map<Id, number>();
  /** The sessions of the process, with the numbers of the updates since their past was told. */
  readonly has = new Map<string, number[]>();
  isClientGone = false;
  hasEnded = false;

  constructor(
    readonly name: string,
    sessions: Map<string, LiveSession>,
    limits: KeepLimits,
  ) {
    this.keeper = new CountingKeeper(limits);
    const ports = {
      deliver: (line: Buffer) => !this.isClientGone && this.toClient.push(parsed(line)),
      toAgent: (line: Line) =>
        !this.isStopping && this.toProcess.push(parsed(Buffer.isBuffer(line) ? line : Buffer.concat(line))),
      lastGuestLeft: () => (this.traffic.isStopping ||= this.isClientGone),
      answered: () => undefined,
    };
    this.traffic = new Traffic(ports, sessions, { take: () => () => undefined }, this.keeper);
  }

  get isStopping(): boolean {
    return this.traffic.isStopping;
  }
}

const joiningMethods = ['session/load', 'session/resume'];
const openingMethods = ['session/new', 'session/fork', ...joiningMethods];
const endingMethods = ['session/close', 'session/delete'];

/** A call that opens or ends a session that has an id, which a process does in the order of the calls. */
function isTransition({ method }: { readonly method: string }): boolean {
  return [...joiningMethods, ...endingMethods].includes(method);
}

/** All connections. */
export class World {
  readonly sessions = new Map<string, LiveSession>();
  readonly all: Connection[] = [];
  /** One in each place. */
  readonly present: Connection[] = [];
  /** Sessions that were ever heard of; two are on disk from the start. */
  readonly ids = ['x', 'y'];
  readonly #requests = new Map<number, Request>();
  readonly #updates = new Set<number>();
  readonly #withdrawn = new Set<Id>();
  readonly #checks: (() => void)[] = [];
  /** The request that a client makes now. */
  #calling = 0;
  #count = 0;

  constructor(private readonly limits: KeepLimits) {
    for (let place = 0; place < 3; place++) this.connect(place);
  }

  connect(place: number): void {
    this.present[place] = new Connection(`${place}.${this.all.length}`, this.sessions, this.limits);
    this.all.push(this.present[place]);
  }

  /** A client calls. */
  request(from: Connection, method: string, params: Params): void {
    const n = ++this.#count;
    const { sessionId } = params;
    const request: Request = { n, method, sessionId, from, isVoid: false };
    this.#requests.set(n, request);
    from.open.set(n, request);
    const prompt = method === 'session/prompt' && { prompt: [{ type: 'text', text: `#${n}` }] };
    this.#calling = n;
    this.fromClient(from, { id: n, method, params: { ...params, ...prompt, _meta: { n } } });
    this.#calling = 0;
  }

  fromClient(client: Connection, message: Json): void {
    client.traffic.fromClient(bytes(message));
    this.#settle();
  }

  fromProcess(process: Connection, message: Json): void {
    process.traffic.fromAgent(bytes(message));
    this.#settle();
  }

  /** A process tells of a session. */
  update(process: Connection, sessionId: string): void {
    const n = ++this.#count;
    const content = process.has.get(sessionId);
    if (content !== undefined) this.#updates.add(n);
    content?.push(n);
    const hearers = content === undefined ? new Set([process]) : this.#hearers(process, sessionId);
    const update = { sessionUpdate: 'agent_message_chunk', content: { text: `#${n}` } };
    this.fromProcess(process, { method: 'session/update', params: { sessionId, update } });
    this.#expectHeard(n, hearers);
  }

  /** A process asks about a session. */
  ask(process: Connection, sessionId: string, method: string): void {
    const id = `q${++this.#count}`;
    process.answers.set(id, 0);
    const isForAll = method === 'session/request_permission';
    const hearers = isForAll ? this.#followers(process, sessionId) : new Set([process]);
    const before = this.all.map(({ questions }) => questions.size);
    this.fromProcess(process, { id, method, params: { sessionId } });
    for (const [place, each] of this.all.entries()) {
      const expected = hearers.has(each) && !each.isClientGone ? 1 : 0;
      if (each.questions.size - before[place]! !== expected)
        throw new Error(`${each.name} was asked ${id} not ${expected} times`);
    }
  }

  /** A process needs no answer any more. */
  withdraw(process: Connection, id: Id): void {
    this.#withdrawn.add(id);
    this.fromProcess(process, { method: '$/cancel_request', params: { requestId: id } });
  }

  /** A process answers; what comes earlier and opens or ends the same session is answered before. */
  answer(process: Connection, chosen: Call, outcome: 'error' | { readonly result: unknown }): void {
    const next = () =>
      process.calls.find((each) => isTransition(each) && each.sessionId === chosen.sessionId);
    const call = isTransition(chosen) ? next()! : chosen;
    process.calls.splice(process.calls.indexOf(call), 1);
    this.#answer(process, call, outcome);
    const begun = next();
    if (isTransition(call) && begun !== undefined) this.#begin(process, begun);
  }

  #answer(process: Connection, call: Call, outcome: 'error' | { readonly result: unknown }): void {
    const { id, method, opens, hadIt } = call;
    const sessionId = call.sessionId ?? '';
    if (outcome === 'error') {
      if (!hadIt && joiningMethods.includes(method)) process.has.delete(sessionId);
      process.has.delete(opens);
      this.fromProcess(process, { id, error: { code: -32_603, message: 'no' } });
      return;
    }
    const isNew = opens !== '' && openingMethods.includes(method);
    const isOpened = (outcome.result as { sessionId?: unknown } | null)?.sessionId === opens;
    if (isNew && isOpened) this.ids.push(opens);
    if (isNew && !isOpened) process.has.delete(opens);
    if (endingMethods.includes(method)) {
      process.has.delete(sessionId);
      for (const each of this.all) if (each.homes.get(sessionId) === process) each.homes.delete(sessionId);
    }
    this.fromProcess(process, { id, result: outcome.result });
  }

  /** As `ServedConnection.end`. */
  leave(client: Connection): void {
    client.isClientGone = true;
    if (client.traffic.own.some(({ isShared }) => isShared)) client.traffic.clientGone();
    else client.traffic.isStopping = true;
    this.#settle();
  }

  /** A process ends, and its connection. */
  end(process: Connection): void {
    process.hasEnded = true;
    process.traffic.isStopping = true;
    process.isClientGone = true;
    process.calls.length = 0;
    process.traffic.end();
    this.#settle();
    for (const each of this.all)
      for (const [id, home] of each.homes) if (home === process) each.homes.delete(id);
  }

  /** All answer what they have been asked, and go. */
  finish(): void {
    for (let isBusy = true; isBusy;) {
      isBusy = false;
      for (const each of this.all.filter(({ hasEnded }) => !hasEnded)) {
        isBusy ||= each.isStopping;
        if (each.isStopping) this.end(each);
        for (const call of [...each.calls]) {
          isBusy = true;
          if (each.calls.includes(call)) this.answer(each, call, { result: { sessionId: call.opens } });
        }
        for (const id of each.isClientGone ? [] : [...each.questions]) {
          isBusy = true;
          each.questions.delete(id);
          this.fromClient(each, { id, result: {} });
        }
      }
    }
    for (const each of this.all.filter(({ isClientGone }) => !isClientGone)) this.#expectAnswered(each);
    for (const each of this.all.filter(({ isClientGone }) => !isClientGone)) this.leave(each);
    for (let one: Connection | undefined; (one = this.all.find((each) => each.isStopping && !each.hasEnded));)
      this.end(one);
    const left = this.all.find(({ hasEnded }) => !hasEnded);
    if (left !== undefined)
      throw new Error(`the process of ${left.name} is not stopped though nobody needs it`);
    if (this.sessions.size > 0) throw new Error(`sessions are left: ${[...this.sessions.keys()].join()}`);
    for (const { name, keeper, traffic } of this.all) {
      if (keeper.kept.size > 0) throw new Error(`histories of ${name} are left`);
      if (traffic.isWorking) throw new Error(`requests of ${name} are left`);
    }
  }

  #expectAnswered({ name, open, answers }: Connection): void {
    if (open.size > 0) throw new Error(`${name} was not answered ${[...open.keys()].join()}`);
    for (const [id, times] of answers)
      if (times === 0 && !this.#withdrawn.has(id))
        throw new Error(`the process of ${name} was not answered ${id}`);
  }

  #expectHeard(n: number, hearers: ReadonlySet<Connection>, unclear: readonly Connection[] = []): void {
    for (const each of this.all.filter((one) => !unclear.includes(one))) {
      const expected = hearers.has(each) && !each.isClientGone ? 1 : 0;
      const times = each.told.filter((told) => told.n === n).length;
      if (times !== expected) throw new Error(`${each.name} has got ${n} ${times} times, not ${expected}`);
    }
  }

  #homeOf(sessionId: string): Connection | undefined {
    const home = this.sessions.get(sessionId)?.home;
    return this.all.find(({ traffic }) => traffic === home);
  }

  /** Who has that session of that process, or is about to. */
  #followers(process: Connection, sessionId: string): Set<Connection> {
    const askers = process.calls
      .filter((call) => call.method === 'session/load' && call.sessionId === sessionId)
      .filter(({ n }) => this.#requests.get(n)?.isVoid === false);
    const guests = this.all.filter(({ homes }) => homes.get(sessionId) === process);
    return new Set([process, ...guests, ...askers.map(({ from }) => from)]);
  }

  #hearers(process: Connection, sessionId: string): Set<Connection> {
    const followers = this.#followers(process, sessionId);
    const [load] = process.calls.filter((call) => isTransition(call) && call.sessionId === sessionId);
    if (load?.method !== 'session/load' || load.isMixed) return followers;
    return new Set([load.from].filter((each) => each === process || !this.#requests.get(load.n)!.isVoid));
  }

  #leaveSession(guest: Connection, { n, sessionId = '' }: Request): void {
    guest.homes.delete(sessionId);
    for (const request of guest.open.values())
      if (request.n < n && request.sessionId === sessionId && ![guest, undefined].includes(request.process))
        request.isVoid = true;
  }

  /** Each takes what has come for it. */
  #settle(): void {
    for (const each of this.all) for (const line of each.toProcess.splice(0)) this.#atProcess(each, line);
    for (const each of this.all) for (const line of each.toClient.splice(0)) this.#atClient(each, line);
    for (const check of this.#checks.splice(0)) check();
  }

  /** A prompt has reached a process: whoever follows its session is told, and nobody else. */
  #expectPromptHeard({ n, from, sessionId = '' }: Request, process: Connection): void {
    const hearers = this.#followers(process, sessionId);
    hearers.delete(from);
    // Others who have waited as well join and leave at the same moment.
    const hasWaited = ({ open }: Connection) =>
      [...open.values()].some((each) => isTransition(each) && each.sessionId === sessionId);
    const unclear = n === this.#calling ? [] : this.all.filter(hasWaited);
    this.#checks.push(() => this.#expectHeard(n, hearers, unclear));
  }

  #atProcess(process: Connection, { id, method, params }: Json): void {
    if (method === undefined) {
      const times = process.answers.get(id!);
      // What comes late goes to the client's own process, which knows nothing of it.
      if (times === undefined) return;
      if (times > 0) throw new Error(`${process.name} has got two answers to ${id}`);
      process.answers.set(id!, 1);
    } else if (id !== undefined) this.#call(process, id, this.#requests.get(params!._meta!.n)!);
  }

  #call(process: Connection, id: Id, request: Request): void {
    const { method, sessionId = '' } = request;
    if (request.process !== undefined) throw new Error(`${id} has come twice`);
    request.process = process;
    const others = process.calls.filter((each) => each.sessionId === sessionId);
    if (method === 'session/prompt') {
      this.#expectPromptHeard(request, process);
      for (const each of others) each.isMixed = true;
    }
    const isMixed = others.some((each) => each.method === 'session/prompt');
    const opens = ['session/new', 'session/fork'].includes(method) ? `n${++this.#count}` : '';
    const call = { ...request, id, opens, hadIt: false, isMixed };
    process.calls.push(call);
    if (opens !== '') process.has.set(opens, []);
    if (isTransition(call) && !others.some(isTransition)) this.#begin(process, call);
  }

  /** The process turns to a call that opens or ends a session. */
  #begin(process: Connection, call: Call): void {
    const { method, sessionId = '' } = call;
    call.hadIt = process.has.has(sessionId);
    if (method === 'session/load' || (method === 'session/resume' && !call.hadIt))
      process.has.set(sessionId, []);
  }

  #atClient(client: Connection, line: Json): void {
    const { id, method, params = {} } = line;
    if (method === undefined) this.#answered(client, line);
    else if (id !== undefined) {
      if (client.questions.has(id)) throw new Error(`${client.name} was asked ${id} twice`);
      client.questions.add(id);
    } else if (method === '$/cancel_request') {
      if (client.questions.delete(params.requestId!)) client.void.add(params.requestId!);
    } else this.#told(client, params, method);
  }

  #told(client: Connection, { sessionId = '', update }: Params, method: string): void {
    const text = update?.content?.text ?? '';
    if (text.startsWith('#')) client.told.push({ n: Number(text.slice(1)), sessionId });
    else if (text !== '') client.told.push({ n: NaN, sessionId });
    const isOpen = [...client.open.values()].some((request) => request.sessionId === sessionId);
    if (isOpen || text !== '' || client.homes.has(sessionId) || client.has.has(sessionId)) return;
    throw new Error(
      `${client.name} has got ${method} of ${sessionId}, which it does not have: ${JSON.stringify(update)}`,
    );
  }

  #answered(client: Connection, { id, result, error }: Json): void {
    const request = client.open.get(id!);
    if (request === undefined)
      throw new Error(`${client.name} has got an answer to ${id}, which is not open`);
    client.open.delete(id!);
    const { method, isVoid } = request;
    if (method === 'session/close' && request.process === undefined) this.#leaveSession(client, request);
    if (error !== undefined || isVoid || !openingMethods.includes(method)) return;
    const isNew = request.sessionId === undefined || method === 'session/fork';
    const sessionId = isNew ? (result as { sessionId?: string } | null)?.sessionId : request.sessionId;
    if (sessionId === undefined || !this.ids.includes(sessionId)) return;
    const home = request.process ?? this.#homeOf(sessionId)!;
    client.homes.set(sessionId, home);
    if (method === 'session/load') this.#expectPast(client, sessionId, home.has.get(sessionId)!);
  }

  /** All that the process has told of the session stands at the end of what the client has got, or it knows of a gap. */
  #expectPast(client: Connection, sessionId: string, past: readonly number[]): void {
    const told = client.told.filter((each) => each.sessionId === sessionId);
    const gap = told.findLastIndex(({ n }) => Number.isNaN(n));
    const got = told.map(({ n }) => n).filter((n) => this.#updates.has(n));
    if (gap < 0 && got.slice(got.length - past.length).join() !== past.join())
      throw new Error(`${client.name} has got ${got.join()} of ${sessionId}, not ${past.join()}`);
  }
}

function bytes(message: Json): Buffer {
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
}

function parsed(line: Buffer): Json {
  return JSON.parse(line.toString()) as Json;
}
