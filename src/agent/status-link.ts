/** The two ends of descriptor 3: who has started a command and asks it, and the command that answers. */
import type { Duplex } from 'node:stream';
import { messageOf } from '../errors';
import { parseQuestion, parseStatus, statusLine } from './status';
import type { AgentStatus, Answer, Question } from './status';

/** Errors of the stream only say that the other end is gone, with something unread. */
function onLines(stream: Duplex, take: (line: string) => void): void {
  let rest = '';
  stream.on('error', () => undefined);
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    lines.forEach(take);
  });
}

/** The end of the program that has started a command. */
export class StatusLink {
  readonly #open = new Map<number, (answer: Answer | undefined) => void>();
  #lastId = 0;

  /** `onStatus` gets what the command tells unasked. */
  constructor(
    private readonly stream: Duplex,
    onStatus: (status: AgentStatus) => void,
  ) {
    stream.on('close', () => {
      for (const settle of this.#open.values()) settle(undefined);
    });
    onLines(stream, (line) => {
      const said = parseStatus(line);
      if (said?.kind === 'answer') this.#open.get(said.id)?.(said);
      else if (said !== undefined) onStatus(said);
    });
  }

  /**
   * Asks the command. Resolves with its answer; with `undefined` if none comes in `limitMs` milliseconds, or the
   * command has ended, or is a program that knows no questions. An answer that comes later counts for nothing.
   */
  ask(question: Question, limitMs: number): Promise<Answer | undefined> {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      const settle = (answer: Answer | undefined): void => {
        clearTimeout(limit);
        this.#open.delete(id);
        resolve(answer);
      };
      const limit = setTimeout(() => settle(undefined), limitMs).unref();
      this.#open.set(id, settle);
      if (this.stream.writable) this.stream.write(statusLine({ ask: question, id }));
      else settle(undefined);
    });
  }
}

/**
 * The command's end: answers what is asked on `stream`. `serve` does what is asked for, and rejects if it cannot;
 * it is not called for `alive`.
 */
export function answerQuestions(
  stream: Duplex,
  serve: (question: Exclude<Question, 'alive'>) => Promise<void>,
): void {
  onLines(stream, (line) => {
    const asked = parseQuestion(line);
    if (asked === undefined) return;
    const { ask, id } = asked;
    const answer = (error?: string): void => {
      if (stream.writable)
        stream.write(statusLine({ kind: 'answer', id, ...(error !== undefined && { error }) }));
    };
    if (ask === 'alive') answer();
    else if (ask !== 'freeze' && ask !== 'thaw') answer(`"${ask}" is no question that is known here`);
    else
      serve(ask).then(
        () => answer(),
        (reason: unknown) => answer(messageOf(reason)),
      );
  });
}
