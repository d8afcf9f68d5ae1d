/** What a person sees of a session's updates, in a terminal or a file. */
import type { Writable } from 'node:stream';
import { ownValue } from '../../config/own-property';
import { CaiError } from '../../errors';
import { printable, printableLine } from '../../system/quoted';
import { isObject, objectOf } from '../../system/unless';
import type { Json } from './client';

/** How the states of tool calls and of a plan's entries are marked. */
const marks: Readonly<Record<string, string>> = { completed: '✓', failed: '✗', in_progress: '…' };

/** Blocks that are no text are named by their kind; `undefined` for what is no block. */
function textOf(content: unknown): string | undefined {
  const { type, text, uri, name } = objectOf(content);
  if (type === 'text') return textIn(text);
  const what = textIn(name) ?? textIn(uri);
  return typeof type === 'string' ? `[${type}${what === undefined ? '' : ` ${what}`}]` : undefined;
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function listIn(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** What an agent may be allowed or refused. */
interface PermissionOption {
  readonly optionId: string;
  readonly name: string;
  readonly kind: string;
}

export class View {
  /** Of tool calls: later updates do not repeat it. */
  readonly #titles = new Map<string, string>();
  /** Which kind of text the line that is not over has. */
  #begun: 'message' | 'thought' | undefined;

  constructor(
    private readonly output: Writable,
    private readonly isPlain: boolean,
  ) {}

  /** Leaves out what cannot be read. */
  update(params: Json): void {
    const { sessionUpdate, content, toolCallId, title, status, entries } = objectOf(params.update);
    switch (sessionUpdate) {
      case 'agent_message_chunk':
        this.#text('message', textOf(content));
        break;
      case 'agent_thought_chunk':
        this.#text('thought', textOf(content));
        break;
      case 'tool_call':
      case 'tool_call_update':
        this.#toolCall(textIn(toolCallId), textIn(title), textIn(status));
        break;
      case 'plan':
        for (const entry of listIn(entries)) this.#entry(textIn(entry.content), textIn(entry.status));
    }
  }

  line(text: string): void {
    this.endLine();
    this.output.write(`${text}\n`);
  }

  endLine(): void {
    if (this.#begun !== undefined) this.output.write('\n');
    this.#begun = undefined;
  }

  #text(kind: 'message' | 'thought', text: string | undefined): void {
    if (text === undefined) return;
    if (this.#begun !== kind) this.endLine();
    this.#begun = kind;
    this.output.write(kind === 'thought' ? this.dim(printable(text)) : printable(text));
  }

  dim(text: string): string {
    return this.isPlain ? text : `\u001b[2m${text}\u001b[22m`;
  }

  #entry(content: string | undefined, status = ''): void {
    if (content !== undefined) this.line(`  ${ownValue(marks, status) ?? '·'} ${printableLine(content)}`);
  }

  #toolCall(id: string | undefined, title: string | undefined, status: string | undefined): void {
    if (id === undefined) return;
    const isNew = !this.#titles.has(id);
    if (title !== undefined || isNew) this.#titles.set(id, printableLine(title ?? id));
    const isOver = status === 'completed' || status === 'failed';
    const mark = isOver ? marks[status]! : '•';
    if (isNew || isOver) this.line(this.dim(`  ${mark} ${this.#titles.get(id)!}`));
  }

  /**
   * A permission as a question, with its options, which are numbered from 1. The call may have been told before. Throws
   * `CaiError('INVALID_PARAMS')` for options that cannot be read.
   */
  questionOf({ toolCall, options }: Json): {
    readonly text: string;
    readonly options: readonly PermissionOption[];
  } {
    if (!areOptions(options))
      throw new CaiError(
        'INVALID_PARAMS',
        'the permission cannot be asked for: its "options" must be a list of objects, each with an optionId, a name and a kind',
      );
    const { toolCallId, title } = objectOf(toolCall);
    const told = textIn(title) ?? this.#titles.get(textIn(toolCallId) ?? '');
    const rows = options.map(({ name }, index) => `  ${index + 1}  ${printableLine(name)}`);
    return {
      text: [`? ${printableLine(told ?? 'The agent asks for a permission')}`, ...rows].join('\n'),
      options,
    };
  }
}

function areOptions(value: unknown): value is readonly PermissionOption[] {
  const keys = ['optionId', 'name', 'kind'];
  const isOption = (each: unknown): boolean => keys.every((key) => typeof objectOf(each)[key] === 'string');
  return Array.isArray(value) && value.length > 0 && value.every(isOption);
}
