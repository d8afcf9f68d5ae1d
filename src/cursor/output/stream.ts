/** What `cursor-agent -p --output-format stream-json` writes, line by line, as updates of ACP. */
import { randomUUID } from 'node:crypto';
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import { firstNumber, firstText, lineIn, shapeOf, textIn, type Shape } from './shapes';
import { type Todos } from './todos';
import { faceOf, outcomeOf, toolReportOf, type ToolFace, type ToolReport } from './tools';

/** A call that has begun, and what it began with. */
interface OpenCall {
  readonly name: string;
  readonly face: ToolFace;
  readonly atMs: number;
}

/** Tokens of a turn, in the words of ACP. */
export interface Tokens {
  /** Not counting what came from a cache. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedReadTokens: number;
  readonly cachedWriteTokens: number;
  /** Input and output. */
  readonly totalTokens: number;
}

/** The end of a turn as Cursor tells it. */
export interface Result {
  readonly isError: boolean;
  /** The answer, or what went wrong. */
  readonly text: string;
  /** How long it took, in milliseconds. */
  readonly durationMs: number | undefined;
  /** Undefined for versions that do not count. */
  readonly tokens: Tokens | undefined;
}

/** Reads the lines of one run, which may have any form. */
export class Stream {
  /** Cursor's id of the chat, with which a later run goes on. */
  chatId: string | undefined;
  /** The last line of a turn that has come to its end. */
  result: Result | undefined;
  /** Something of the model has come: it is not to be asked again. */
  hasOutput = false;
  toolCalls = 0;
  /** What was no JSON, or an error: it may say why there is no result. */
  words = '';
  readonly #open = new Map<string, OpenCall>();
  readonly #unknown = new Set<string>();
  readonly #over = new Set<string>();
  /** The text since the last tool call, and that of the whole turn. */
  #run = '';
  #turn = '';

  /** `cwd`: the folder of the session. `todos`: what the session has to do. */
  constructor(
    private readonly cwd: string,
    private readonly todos: Todos,
    private readonly now = (): number => Date.now(),
  ) {}

  /** Takes a line, and returns what the editor is told. It never throws. */
  take(text: string): SessionUpdate[] {
    const line = lineIn(text);
    if (line === undefined) {
      if (text.trim() !== '') this.words = `${this.words}\n${text}`.slice(-4_000).trim();
      return [];
    }
    if (line.type === 'error') {
      this.words = firstText(line.message, shapeOf(line.error).message, line.error) ?? this.words;
      return [];
    }
    this.chatId = firstText(line.session_id) ?? this.chatId;
    // These two come before the model is asked.
    if (line.type === 'system' || line.type === 'user') return [];
    if (line.type === 'result') return this.#end(line);
    this.hasOutput = true;
    switch (line.type) {
      case 'thinking':
        return chunk('agent_thought_chunk', firstText(line.text) ?? '');
      case 'assistant':
        return chunk('agent_message_chunk', this.#newText(line));
      case 'tool_call':
        this.#run = '';
        return this.#tool(line);
      default:
        this.#unknown.add(String(line.type));
        return [];
    }
  }

  get unknownTypes(): readonly string[] {
    return [...this.#unknown];
  }

  /** The end of the run: calls whose end never came have failed. */
  close(): SessionUpdate[] {
    const open = [...this.#open];
    this.#open.clear();
    return open.map(([toolCallId, { atMs }]) => ({
      ...{ sessionUpdate: 'tool_call_update', toolCallId, status: 'failed' },
      _meta: { cursor: times(atMs, this.now()) },
    }));
  }

  /**
   * Text that has not come yet. A piece has `timestamp_ms` and no `model_call_id`. Everything else repeats the whole
   * text of the pieces before it, or is all there is of it. Source: Cursor's page on its output format.
   */
  #newText(line: Shape): string {
    const text = textIn(shapeOf(line.message).content ?? line.text);
    const isPiece = line.timestamp_ms !== undefined && line.model_call_id === undefined;
    const told = isPiece
      ? undefined
      : [this.#turn, this.#run].find((each) => each !== '' && text.startsWith(each));
    const rest = text.slice(told?.length ?? 0);
    this.#turn += rest;
    this.#run = isPiece ? this.#run + rest : '';
    return rest;
  }

  #tool(line: Shape): SessionUpdate[] {
    const report = toolReportOf(line);
    const toolCallId = this.#idOf(report);
    const known = this.#open.get(toolCallId);
    const wasOver = this.#over.has(toolCallId);
    if (known === undefined && !wasOver) this.toolCalls += 1;
    // What comes twice, or too late, changes nothing.
    if (!report.isOver) return known === undefined && !wasOver ? this.#begin(toolCallId, report) : [];
    this.#open.delete(toolCallId);
    this.#over.add(toolCallId);
    const { args, result, name } = report;
    const face = faceOf(report, this.cwd);
    const { status, content, facts } = outcomeOf(report, this.cwd);
    const endMs = report.completedAtMs ?? report.atMs ?? this.now();
    const locations = known === undefined ? face.locations : placesOf(known.face, face);
    const end = {
      ...{ toolCallId, status, content, locations },
      ...(result !== undefined && { rawOutput: result }),
      _meta: { cursor: { ...facts, ...times(report.startedAtMs ?? known?.atMs, endMs, report.durationMs) } },
    };
    const plan = /^(updateTodos|todo)/i.test(name) ? this.#plan(args, result) : [];
    return known === undefined && !wasOver
      ? [{ sessionUpdate: 'tool_call', ...face, rawInput: args, name, ...end }, ...plan]
      : [{ sessionUpdate: 'tool_call_update', ...end }, ...plan];
  }

  #begin(toolCallId: string, report: ToolReport): SessionUpdate[] {
    const { name, args: rawInput } = report;
    const face = faceOf(report, this.cwd);
    const atMs = report.startedAtMs ?? report.atMs ?? this.now();
    this.#open.set(toolCallId, { name, face, atMs });
    const _meta = { cursor: { startTime: atMs } };
    return [
      { sessionUpdate: 'tool_call', toolCallId, ...face, rawInput, name, status: 'pending', _meta },
      { sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress' },
    ];
  }

  /** Cursor's id; of a call without one the end belongs to the oldest open call of that tool. */
  #idOf({ id, name, isOver }: ToolReport): string {
    if (id !== undefined) return id;
    const open = [...this.#open].find(([key, call]) => key.startsWith('unnamed ') && call.name === name);
    return isOver && open !== undefined ? open[0] : `unnamed ${randomUUID()}`;
  }

  #plan(args: Shape, result: unknown): SessionUpdate[] {
    const after = shapeOf(shapeOf(result).success);
    const isWhole = Array.isArray(after.todos) && after.wasMerge !== true;
    const entries = isWhole
      ? this.todos.update(after.todos, false)
      : this.todos.update(args.todos, args.merge === true);
    return [{ sessionUpdate: 'plan', entries }];
  }

  #end(line: Shape): SessionUpdate[] {
    const isError = line.is_error === true || (line.subtype !== undefined && line.subtype !== 'success');
    const text = firstText(line.result, line.error, shapeOf(line.error).message) ?? '';
    this.result = { isError, text, durationMs: firstNumber(line.duration_ms), tokens: tokensIn(line.usage) };
    // A version that writes no `assistant` lines says all of it here.
    return isError || this.#turn !== '' ? [] : chunk('agent_message_chunk', text);
  }
}

function chunk(sessionUpdate: 'agent_thought_chunk' | 'agent_message_chunk', text: string): SessionUpdate[] {
  return text === '' ? [] : [{ sessionUpdate, content: { type: 'text', text } }];
}

function tokensIn(value: unknown): Tokens | undefined {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = shapeOf(value);
  const [input, output] = [firstNumber(inputTokens), firstNumber(outputTokens)];
  if (input === undefined && output === undefined) return undefined;
  return {
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    cachedReadTokens: firstNumber(cacheReadTokens) ?? 0,
    cachedWriteTokens: firstNumber(cacheWriteTokens) ?? 0,
    totalTokens: (input ?? 0) + (output ?? 0),
  };
}

/** For `_meta`: milliseconds, the first two since 1970. */
function times(startTime: number | undefined, endTime: number, toldMs?: number): Shape {
  const durationMs = toldMs ?? (startTime && Math.max(0, endTime - startTime));
  return {
    ...(startTime !== undefined && { startTime }),
    endTime,
    ...(durationMs !== undefined && { durationMs }),
  };
}

/** The files that a call named when it began, then the files that only its end names. */
function placesOf({ locations }: ToolFace, { locations: added }: ToolFace): ToolFace['locations'] {
  return [...locations, ...added.filter(({ path }) => !locations.some((known) => known.path === path))];
}
