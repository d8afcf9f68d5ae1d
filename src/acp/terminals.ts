/** `terminal/*` of agents: the editor shows terminals whose commands run in a container, each for one session alone. */
import { posix } from 'node:path';
import { isPassable, isVariableName } from '../agent/argument-text';
import { dropToken, hostCommand, writeToken, type TerminalOrder } from '../agent/editor-token';
import { ownIdentity } from '../system/process-identity';
import { CaiError, messageOf } from '../errors';
import { requestLine, rpcErrorOf } from '../rpc/answer';
import { bodyOf, fieldOf, stringOf, type Message } from '../rpc/message';
import { OpenRequests } from '../rpc/open-requests';
import { replacing, type Edit } from '../rpc/splice';
import { RateLimit } from '../system/time-limit';
import { objectOf } from '../system/unless';
import type { Child } from './child/child';
import type { SessionObserver } from './sessions/observer';
import type { AgentSession } from './sessions/session';
import type { ProxyOptions } from './proxy-options';
import type { AgentCall } from './relay/agent-call';
import type { Core } from './relay/core';
import { methodNotFound } from '../rpc/protocol/refusals';

/** Passes a call on to the editor; returns the id that it has there, undefined if it could not be passed. */
type PassOn = (edits: readonly Edit[]) => string | undefined;

/** How many terminals one agent may have that it has not released. */
const maxTerminals = 64;
/** How many it may create at once, and in the long run: each costs processes on both sides. */
const burst = 2 * maxTerminals;
const perSecond = 16;

/** A terminal that the editor has, or is about to have. */
interface Terminal {
  readonly child: Child;
  /** The session's id on the editor's side. */
  readonly sessionId: string;
  readonly token: string;
  /** The session or its agent has ended. */
  isOver: boolean;
}

export class Terminals implements SessionObserver {
  /** By the id that the editor gave. */
  readonly #terminals = new Map<string, Terminal>();
  /** Terminals that the editor was asked for and has not answered, by the id of the request. */
  readonly #opening = new OpenRequests<Terminal>();
  readonly #rates = new WeakMap<Child, RateLimit>();

  constructor(
    private readonly core: Core,
    private readonly options: Pick<ProxyOptions, 'host' | 'terminals'> & {
      readonly agent: { readonly name: string };
    },
  ) {}

  /** The terminals of a session end with it. */
  onClose({ child, editorId }: AgentSession): void {
    this.#end((each) => each.child === child && each.sessionId === editorId);
  }

  /** Passes a call on if the session may use the terminal, else refuses it. */
  serve(call: Omit<AgentCall, 'row'>, passOn: PassOn): void {
    const { child, message, session } = call;
    if (this.options.terminals === 'off') {
      this.core.refuse(child, message, methodNotFound(message.method));
      return;
    }
    // A notification is never answered, so nobody would learn of the terminal.
    if (message.kind !== 'request') return;
    try {
      if (session === undefined)
        throw new CaiError('INVALID_PARAMS', `${message.method}: an open session is needed`);
      if (message.method === 'terminal/create') this.#create(session, message, passOn);
      else this.#use(session, message, passOn);
    } catch (error) {
      this.core.log.info({ method: message.method, reason: messageOf(error) }, 'refused to an agent');
      this.core.refuse(child, message, rpcErrorOf(error));
    }
  }

  /** Takes each answer of the editor to an agent's request, also if the agent has ended. */
  hear(answer: Message): void {
    const terminal = this.#opening.take(answer.id!);
    if (terminal === undefined) return;
    const id = answer.isError ? undefined : terminalIdOf(answer);
    if (id === undefined) dropToken(this.options.host, terminal.token);
    else if (terminal.isOver) this.#release(id, terminal);
    else this.#terminals.set(id, terminal);
  }

  /** The editor's answer to that request cannot be read: nobody knows the id of what it may have opened. */
  hearNothing(editorId: string): void {
    const terminal = this.#opening.take(editorId);
    if (terminal !== undefined) dropToken(this.options.host, terminal.token);
  }

  /** The child has ended: has the editor kill and release its terminals. */
  forget(child: Child): void {
    this.#end((each) => each.child === child);
  }

  #create(session: AgentSession, message: Message, passOn: PassOn): void {
    const { child, map, editorId, roots } = session;
    const { agent, host } = this.options;
    const { cwd, ...wish } = wishOf(message);
    const folder = roots[0]?.spelled ?? '/';
    if (this.#countOf(child) >= maxTerminals)
      throw new CaiError('TOO_MANY_TERMINALS', `${maxTerminals} terminals are open: release some`);
    this.#limitRate(child);
    const token = writeToken(host, {
      kind: 'command',
      agent: agent.name,
      workspace: child.root,
      ...wish,
      cwd: map.toAgent(cwd ?? folder),
      wantedBy: ownIdentity(),
    });
    const requestId = passOn(editsOfCreate(message, hostCommand(token), folder));
    if (requestId === undefined) dropToken(host, token);
    else this.#opening.add(requestId, { child, sessionId: editorId, token, isOver: false });
  }

  /** Refuses the id of another session's terminal. */
  #use({ child, editorId }: AgentSession, message: Message, passOn: PassOn): void {
    const id = stringOf(message, 'terminal');
    if (id === undefined)
      throw new CaiError('INVALID_PARAMS', `${message.method}: "terminalId" must be a string`);
    const terminal = this.#terminals.get(id);
    if (terminal?.child !== child || terminal.sessionId !== editorId)
      throw new CaiError('TERMINAL_UNKNOWN', 'Terminal not found: this session has none of that id');
    if (passOn([]) === undefined || message.method !== 'terminal/release') return;
    this.#terminals.delete(id);
    dropToken(this.options.host, terminal.token);
  }

  #limitRate(child: Child): void {
    const rate = this.#rates.get(child) ?? new RateLimit(burst, perSecond);
    this.#rates.set(child, rate);
    const waitMs = rate.take();
    if (waitMs === 0) return;
    throw new CaiError('TOO_MANY_TERMINALS', `terminals are created too fast: try again in ${waitMs} ms`);
  }

  #countOf(child: Child): number {
    const all = [...this.#terminals.values(), ...this.#opening.all];
    return all.filter((each) => each.child === child).length;
  }

  #end(isOver: (terminal: Terminal) => boolean): void {
    for (const [id, terminal] of this.#terminals) if (isOver(terminal)) this.#release(id, terminal);
    for (const terminal of this.#opening.all) {
      if (!isOver(terminal)) continue;
      terminal.isOver = true;
      dropToken(this.options.host, terminal.token);
    }
  }

  #release(id: string, terminal: Terminal): void {
    this.#terminals.delete(id);
    dropToken(this.options.host, terminal.token);
    if (this.core.isEditorGone) return;
    const params = JSON.stringify({ sessionId: terminal.sessionId, terminalId: id });
    for (const method of ['terminal/kill', 'terminal/release'])
      terminal.child.deliver(requestLine(this.core.requests.newEditorId(), method, params));
  }
}

/** The id that the editor gave a terminal. Parsed here, because answers that nobody waits for have no fields. */
function terminalIdOf(answer: Message): string | undefined {
  const { terminalId } = objectOf(bodyOf(answer));
  return typeof terminalId === 'string' ? terminalId : undefined;
}

/** The command that an agent asks for; its folder as the agent names it, undefined: that of its session. */
type TerminalWish = Pick<TerminalOrder, 'argv' | 'env' | 'shell'> & { readonly cwd: string | undefined };

/**
 * Reads the params. Fails with `INVALID_PARAMS`, which names no value, for what cannot be run. Keys that other readers
 * could take for ours were refused with the line. Source: ACP v1, terminals; without arguments a command is a line for
 * a shell.
 */
export function wishOf(message: Message): TerminalWish {
  const params = objectOf(bodyOf(message));
  const { command, outputByteLimit } = params;
  const args = params.args ?? [];
  const cwd = params.cwd ?? undefined;
  if (!isPassable(command) || command === '') throw invalid('"command" must be a string that is not empty');
  if (!Array.isArray(args) || !args.every(isPassable)) throw invalid('"args" must be an array of strings');
  if (!(cwd === undefined || (isPassable(cwd) && posix.isAbsolute(cwd))))
    throw invalid('"cwd" must be an absolute path');
  if (!Number.isInteger(outputByteLimit ?? 0) || Number(outputByteLimit) < 0)
    throw invalid('"outputByteLimit" must be a number of bytes');
  return { argv: [command, ...args], env: variablesOf(params.env ?? []), cwd, shell: args.length === 0 };
}

/** Edits that have the editor run `host` in `cwd`: it gets no command, argument, variable or folder of the agent. */
export function editsOfCreate(message: Message, host: ReturnType<typeof hostCommand>, cwd: string): Edit[] {
  const env = fieldOf(message, 'terminalEnv');
  const edits = env === undefined ? [] : [replacing(env, '[]')];
  let text = JSON.stringify(host.command);
  const give = (kind: string, key: string, value: unknown): void => {
    const field = fieldOf(message, kind);
    if (field === undefined) text += `,"${key}":${JSON.stringify(value)}`;
    else edits.push(replacing(field, JSON.stringify(value)));
  };
  give('terminalArgs', 'args', host.args);
  give('terminalCwd', 'cwd', cwd);
  return [...edits, replacing(fieldOf(message, 'terminalCommand')!, text)];
}

function variablesOf(env: unknown): [string, string][] {
  const pairs = (Array.isArray(env) ? env : [undefined]).map((variable: unknown) => {
    const { name, value } = objectOf(variable);
    return isVariableName(name) && isPassable(value) ? ([name, value] satisfies [string, string]) : undefined;
  });
  if (pairs.every((pair) => pair !== undefined)) return pairs;
  throw invalid('"env" must be an array of names and values');
}

function invalid(what: string): CaiError {
  return new CaiError('INVALID_PARAMS', `terminal/create: ${what}`);
}
