/**
 * What a command and the program that started it say to each other beside its streams, on descriptor 3: a JSON
 * object a line. The command tells of itself, most of it before the agent runs; the program may ask it something at any
 * time.
 */

/** One line of the command, but for its answers. */
export type AgentStatus =
  /** The agent runs. Id and name of the image that it runs in, where they are told. */
  | { readonly kind: 'started'; readonly image?: string; readonly imageName?: string }
  /** The agent does not run, or no longer; the code of the failure. Why is said on stderr. */
  | { readonly kind: 'failed'; readonly code: string }
  /** The connection to the agent is lost. It may have got that many bytes of our input, and has got no more. */
  | { readonly kind: 'lost'; readonly takenBytes: number }
  /** The agent is stopped, as by SIGSTOP, and will do nothing unless somebody continues it. */
  | { readonly kind: 'stopped' }
  /** Whether the agent is stopped cannot be known any more: whoever looks is ended in its container. */
  | { readonly kind: 'unwatchable' }
  /** Something that the user should know. */
  | { readonly kind: 'notice'; readonly text: string }
  /** Something that the user is to be told in the sessions of the agent. */
  | { readonly kind: 'warning'; readonly title: string; readonly description: string }
  /** Something that can take minutes, as building an image: the agent is not to be waited for meanwhile. */
  | { readonly kind: 'delay'; readonly text: string }
  /** That is over. */
  | { readonly kind: 'resumed' };

/** What a command may be asked. Each question is answered once; a program that knows none stays silent. */
export type Question =
  /** Whether it works. It answers at once, whatever else it does. */
  | 'alive'
  /** To keep everything from running that could change the agent's files, until `thaw` or its own end. */
  | 'freeze'
  /** To let all that run again. */
  | 'thaw';

/** One line to the command. */
export interface Asked {
  /** What is asked. */
  readonly ask: Question;
  /** Names the question in its answer. */
  readonly id: number;
}

/** The command's answer. */
export interface Answer {
  /** Tells it from the rest of what the command says. */
  readonly kind: 'answer';
  /** Of the question. */
  readonly id: number;
  /** Why what was asked for is not done; absent: it is. */
  readonly error?: string;
}

/** A line for it, with its newline. */
export function statusLine(said: AgentStatus | Asked | Answer): string {
  return `${JSON.stringify(said)}\n`;
}

/** `undefined` for a line that is none. */
export function parseStatus(line: string): AgentStatus | Answer | undefined {
  const value = objectIn(line);
  if (value?.kind === 'started') return { kind: 'started', ...textsOf(value, 'image', 'imageName') };
  if (value?.kind === 'failed' && typeof value.code === 'string') return { kind: 'failed', code: value.code };
  if (value?.kind === 'lost' && typeof value.takenBytes === 'number')
    return { kind: 'lost', takenBytes: value.takenBytes };
  if (value?.kind === 'stopped' || value?.kind === 'unwatchable' || value?.kind === 'resumed')
    return { kind: value.kind };
  if (value?.kind === 'answer' && typeof value.id === 'number')
    return { kind: 'answer', id: value.id, ...textsOf(value, 'error') };
  if (value?.kind === 'warning' && typeof value.title === 'string' && typeof value.description === 'string')
    return { kind: 'warning', title: value.title, description: value.description };
  const isTold = (value?.kind === 'notice' || value?.kind === 'delay') && typeof value.text === 'string';
  return isTold ? (value as unknown as AgentStatus) : undefined;
}

/** `undefined` for a line that asks nothing. A question of a later version has another word for `ask`. */
export function parseQuestion(line: string): { readonly ask: string; readonly id: number } | undefined {
  const { ask, id } = objectIn(line) ?? {};
  return typeof ask === 'string' && typeof id === 'number' ? { ask, id } : undefined;
}

type Fields = Readonly<Partial<Record<string, unknown>>>;

function objectIn(line: string): Fields | undefined {
  try {
    return (JSON.parse(line) as Fields | null) ?? undefined;
  } catch {
    return undefined;
  }
}

function textsOf(value: Fields, ...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (typeof value[name] === 'string' ? [[name, value[name]] as const] : [])),
  );
}
