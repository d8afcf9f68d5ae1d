/** What a person sees of a session's updates, in a terminal or a file. */
import type { Writable } from 'node:stream';
import { printable, printableLine } from '../../system/quoted';
import type { Json } from './client';

/** As ACP's updates of a session, as far as they are shown here. */
interface Update {
  readonly sessionUpdate?: string;
  readonly content?: unknown;
  readonly toolCallId?: string;
  readonly title?: string | null;
  readonly status?: string | null;
  readonly entries?: readonly { readonly content?: string; readonly status?: string }[];
}

/** How the states of tool calls and of a plan's entries are marked. */
const marks: Readonly<Record<string, string>> = { completed: '✓', failed: '✗', in_progress: '…' };

/** Blocks that are no text are named by their kind. */
function textOf(content: unknown): string {
  const { type, text, uri, name } = (content ?? {}) as Record<string, unknown>;
  if (type === 'text') return String(text);
  const what = [name, uri].find((each) => typeof each === 'string');
  return `[${String(type)}${what === undefined ? '' : ` ${what}`}]`;
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

  update({ update = {} }: { readonly update?: Update }): void {
    const { sessionUpdate, content, toolCallId = '', title, status, entries = [] } = update;
    switch (sessionUpdate) {
      case 'agent_message_chunk':
        this.#text('message', textOf(content));
        break;
      case 'agent_thought_chunk':
        this.#text('thought', textOf(content));
        break;
      case 'tool_call':
      case 'tool_call_update':
        this.#toolCall(toolCallId, title ?? undefined, status ?? undefined);
        break;
      case 'plan':
        for (const entry of entries)
          this.line(`  ${marks[entry.status ?? ''] ?? '·'} ${printableLine(entry.content ?? '')}`);
    }
  }

  line(text: string): void {
    this.endLine();
    this.output.write(`${text}\n`);
  }

  /** Ends the line that an agent has begun. */
  endLine(): void {
    if (this.#begun !== undefined) this.output.write('\n');
    this.#begun = undefined;
  }

  #text(kind: 'message' | 'thought', text: string): void {
    if (this.#begun !== kind) this.endLine();
    this.#begun = kind;
    this.output.write(kind === 'thought' ? this.dim(printable(text)) : printable(text));
  }

  dim(text: string): string {
    return this.isPlain ? text : `\u001b[2m${text}\u001b[22m`;
  }

  #toolCall(id: string, title: string | undefined, status: string | undefined): void {
    const isNew = !this.#titles.has(id);
    if (title !== undefined || isNew) this.#titles.set(id, printableLine(title ?? id));
    const isOver = status === 'completed' || status === 'failed';
    const mark = isOver ? marks[status]! : '•';
    if (isNew || isOver) this.line(this.dim(`  ${mark} ${this.#titles.get(id)!}`));
  }

  /** A permission as a question, with its options, which are numbered from 1. The call may have been told before. */
  questionOf(params: Json): { readonly text: string; readonly options: readonly PermissionOption[] } {
    const { toolCall, options = [] } = params as {
      readonly toolCall?: { readonly toolCallId?: string; readonly title?: string | null };
      readonly options?: readonly PermissionOption[];
    };
    const title = toolCall?.title ?? this.#titles.get(toolCall?.toolCallId ?? '');
    const rows = options.map(({ name }, index) => `  ${index + 1}  ${printableLine(name)}`);
    return {
      text: [`? ${printableLine(title ?? 'The agent asks for a permission')}`, ...rows].join('\n'),
      options,
    };
  }
}
