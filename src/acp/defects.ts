/**
 * Lines that are not valid messages. The editor gets an error for its own lines; an agent's lines are never passed to
 * the editor. If such a line would have answered a request, that request gets an error, so that nobody waits for ever.
 */
import { hastyStop } from '../agent/process-end';
import { CaiError, rpcCode } from '../errors';
import { errorLine, type RpcError } from '../rpc/answer';
import { bodyOf, fieldOf, jsonOf, type Message } from '../rpc/message';
import { openBrace, skipSpace } from '../rpc/json';
import { type OverlongLine, Skim, tooLong } from '../rpc/long-line';
import { quoted } from '../system/quoted';
import type { Child } from './child/child';
import type { Core } from './relay/core';
import { tellInThread } from './relay/thread';
import type { Terminals } from './terminals';

const texts = {
  json: 'Parse error: the line is not JSON in UTF-8',
  batch: 'Invalid request: batches are not part of ACP',
  envelope: 'Invalid request: not a JSON-RPC 2.0 request, notification or response',
  long: 'Invalid request: an id is longer than 4 KiB, or there are more than 100,000 ids, paths and rows',
  duplicate: 'Invalid request: a key that the message is routed by stands twice',
} as const;

/** Control characters, and the operating system commands and control sequences that they begin. Source: ECMA-48. */
const controls = /\p{Cc}(?:\][^\p{Cc}]*\p{Cc}\\?|\[[0-?]*[ -/]*[@-~])?/gu;
/** How much may stand before a message and after it, in bytes. */
const maxAroundBytes = 4 * 1024;

/**
 * The message on a line that has more before or after it, as the end of a banner or a sequence for a terminal;
 * `undefined`: no message stands there, or words before it, as in a log, say that it is only quoted.
 */
export function messageWithin(line: Buffer): Buffer | undefined {
  const start = line.indexOf('{"');
  const end = line.lastIndexOf('}') + 1;
  if (start < 0 || start > maxAroundBytes || end <= start || line.length - end > maxAroundBytes)
    return undefined;
  const [before, after] = [line.subarray(0, start), line.subarray(end)].map((each) =>
    each.toString().replace(controls, ''),
  );
  const isQuoted = /[\p{L}\p{N}]/u.test(before!) && /[\s:=([,"'`]$/.test(before!);
  return isQuoted || after!.trim() !== '' ? undefined : line.subarray(start, end);
}

/** How long an answer that a line may only quote is waited for, in milliseconds. */
const quotedMs = 2_000;
/** How much of such a line is looked at, in bytes, and how many objects. */
const maxQuoted = 64 * 1024;
const maxObjects = 8;

/** So many bad lines of an agent are logged; of later ones every second, fourth and so on, with how many there were. */
const maxLogged = 10;

/** What an agent has written that is no message. */
interface Dropped {
  lines: number;
  /** The open requests whose answers were perhaps quoted, JSON texts: they are being waited for. */
  readonly quoted: Set<string>;
}

/** Answers for lines that cannot be passed on. */
export class Defects {
  readonly #dropped = new WeakMap<Child, Dropped>();

  constructor(
    private readonly core: Core,
    private readonly terminals: Pick<Terminals, 'hearNothing'>,
  ) {}

  /** Refuses a request of the editor; `id` is JSON text. Source: JSON-RPC 2.0, Invalid Request. */
  refuse(id: string, reason: string): void {
    const error = { code: rpcCode.invalidRequest, message: `Invalid request: ${reason}` };
    this.core.lane.queue(errorLine(id, error));
  }

  /** A line of the editor that is not a message. Source: ACP SDK: -32700 and -32600, `id` null if unknown. */
  fromEditor(message: Message): void {
    const defect = message.defect!;
    const { id } = message;
    if (message.method === '' && id !== undefined && this.#failAgentRequest(id)) return;
    const isNotification = defect === 'duplicate' && id === undefined;
    if (isNotification) return;
    const code = defect === 'json' ? rpcCode.parseError : rpcCode.invalidRequest;
    this.core.lane.queue(errorLine(id ?? 'null', { code, message: texts[defect] }));
  }

  /** A line of an agent that is not a message. It is logged without its content, which could be secret. */
  fromAgent(child: Child, { line, defect }: Message): void {
    const dropped = this.#dropped.get(child) ?? { lines: 0, quoted: new Set() };
    this.#dropped.set(child, dropped);
    const lines = ++dropped.lines;
    if (lines <= maxLogged || Number.isInteger(Math.log2(lines)))
      this.core.log.warn(
        { root: child.root, bytes: line.length, defect, lines },
        'a line of the agent was dropped',
      );
    const start = skipSpace(line, 0);
    const isMessage = line[start] === openBrace;
    const code = defect === 'json' ? rpcCode.parseError : rpcCode.invalidRequest;
    const beginning = quoted(line.toString('utf8', 0, 80));
    const error = { code, message: `${texts[defect!]}. It begins with ${beginning}` };
    for (const at of isMessage ? [start] : answersIn(line)) {
      const skim = new Skim();
      skim.push(isMessage ? line : line.subarray(at, at + maxQuoted));
      if (isMessage) this.#refuseFromAgent(child, skim, error);
      else failLater(child, skim, error, dropped.quoted);
    }
  }

  /** A line of the editor that is longer than the limit. */
  overlongFromEditor(line: OverlongLine): void {
    const { id, isMethod, isResponse, length: bytes } = line.skim;
    this.core.log.warn({ bytes }, 'an over-long line of the editor was refused');
    if (isResponse && id !== undefined && this.#failAgentRequest(id)) return;
    if (id !== undefined || !isMethod)
      this.refuse(id ?? 'null', `the line ${tooLong(line, 'acp.max_line_from_editor')}`);
  }

  /** A line of an agent that is longer than the limit. A notification is left out, and its user is told. */
  overlongFromAgent(child: Child, line: OverlongLine): void {
    const { core } = this;
    const { skim } = line;
    core.log.error({ root: child.root, bytes: skim.length }, 'an over-long line of the agent was refused');
    const why = tooLong(line, 'acp.max_line_to_editor');
    if (skim.isKnown) {
      const message = `Invalid request: the line ${why}`;
      this.#refuseFromAgent(child, skim, { code: rpcCode.invalidRequest, message });
    } else if (skim.sessionId !== undefined) {
      const session = core.sessions.of(child).byAgentId.get(skim.sessionId);
      const note = { title: 'A message of the agent was left out.', description: `Its line ${why}.` };
      if (session !== undefined) tellInThread(core, session, note);
    }
  }

  /** Fails the request that the line would have answered, or answers the request that it would have been. */
  #refuseFromAgent(child: Child, skim: Skim, error: RpcError): void {
    const failed = failAnswered(child, skim, error);
    const { id, isMethod } = skim;
    if (isMethod && id !== undefined && failed.length === 0) child.answer(errorLine(id, error));
  }

  /** A bug of ours in serving a line of an agent. What the agent now waits for is unknown, so it is ended. */
  unservedFromAgent(child: Child, reason: unknown): void {
    this.core.log.error({ root: child.root, err: reason }, 'internal error: the agent is ended');
    const text = 'what the agent has sent could not be served, and the agent was ended: try again';
    end(child, new CaiError('AGENT_ANSWER', text));
  }

  /** Fails the agent's request, or our own, that the editor knows by that id; false if no such request is open. */
  #failAgentRequest(editorId: string): boolean {
    if (this.core.requests.settleOwn(editorId)) return true;
    this.terminals.hearNothing(editorId);
    const request = this.core.requests.ofAgents.take(editorId);
    if (request === undefined) return false;
    request.onOver?.(false);
    const error: RpcError = {
      code: rpcCode.internalError,
      message: "the client's answer could not be passed on",
    };
    request.child.answer(errorLine(request.childId, error));
    return true;
  }
}

/** Fails the requests that the line would have answered; returns their ids. */
function failAnswered(child: Child, skim: Skim, error: RpcError): readonly string[] {
  return answeredBy(skim).filter((id) => child.requests.fail(id, refused(error)));
}

/** A log line may quote an answer that comes at once. Else this was it; `waiting`: for which that is waited already. */
function failLater(child: Child, skim: Skim, error: RpcError, waiting: Set<string>): void {
  for (const each of answeredBy(skim)) {
    const id = child.requests.find(each)?.childId;
    if (id === undefined || waiting.has(id)) continue;
    waiting.add(id);
    const fail = (): void => {
      waiting.delete(id);
      child.requests.fail(id, refused(error));
    };
    setTimeout(fail, quotedMs).unref();
  }
}

function answeredBy({ ids, isMethod, isResponse }: Skim): readonly string[] {
  return isResponse || !isMethod ? ids : [];
}

function refused({ message }: RpcError): CaiError {
  return new CaiError('AGENT_ANSWER', `the agent's answer was refused: ${message}`);
}

/**
 * Where answers may begin on a line with words: the first few objects, if one has what only ACP's results have. An agent
 * may write the messages of its MCP servers to its log, whose ids are those of our requests.
 */
function answersIn(line: Buffer): number[] {
  const places: number[] = [];
  if (!/"(stopReason|sessionId)"|"result"\s*:\s*(null|$)/.test(line.toString('latin1', 0, maxQuoted)))
    return places;
  for (let at = line.indexOf('{"'); at >= 0 && places.length < maxObjects; at = line.indexOf('{"', at + 1))
    places.push(at);
  return places;
}

/** Source: ACP v1, `ErrorCode` is an int32. */
const maxCode = 2 ** 31 - 1;

/**
 * The line of an agent's error answer, with an error that JSON-RPC allows: strict editors ignore an answer with
 * another, and their request would stay open. Without a line end; undefined if the error is allowed as it is.
 */
export function repairedError(answer: Message): Buffer | undefined {
  const code = fieldOf(answer, 'errorCode');
  const hasCode = code !== undefined && isCode(Number(jsonOf(answer, code)));
  if (hasCode && /^-?\d+$/.test(jsonOf(answer, code)) && fieldOf(answer, 'errorMessage')?.isString === true)
    return undefined;
  const error = errorOf(answer);
  return errorLine(answer.id!, {
    code: isCode(error.code) ? error.code : rpcCode.internalError,
    message: typeof error.message === 'string' ? error.message : 'no reason given',
    data: error.data,
  }).subarray(0, -1);
}

function isCode(value: unknown): value is number {
  return Number.isInteger(value) && Math.abs(value as number) <= maxCode;
}

function errorOf(answer: Message): { code?: unknown; message?: unknown; data?: unknown } {
  try {
    const error = bodyOf(answer);
    return typeof error === 'object' && error !== null ? error : { message: error };
  } catch {
    // It is nested too deeply for the parser.
    return {};
  }
}

/** Ends an agent that is of no use any more. One that is being ended already would only get more time. */
function end(child: Child, reason: CaiError): void {
  if (child.isUsable) child.abandon(reason, hastyStop);
}
