/** What a command of ours and the program that started it say to each other on descriptor 3: a JSON object a line. */
import type { Duplex } from 'node:stream';
import { LineSplitter } from '../system/streams/line-splitter';
import type { OpenPipes } from '../system/streams/pipe-streams';
import { objectIn } from '../system/unless';

/** What the command tells unasked. */
export type AgentStatus =
  /** The agent runs; in a container, with the id and name of its image. */
  | {
      readonly kind: 'started';
      readonly image?: string;
      readonly imageName?: string;
      /** The container was started for it. */
      readonly isNew?: boolean;
      /** The command's descriptors of the pipes that are the agent's stdin and stdout. Whoever takes them answers with `Take`. */
      readonly pipes?: OpenPipes | undefined;
    }
  /** The command has let go of these pipes. It has itself passed on that much of the agent's output before. */
  | { readonly kind: 'released'; readonly writtenBytes: number }
  /** The agent does not run, or no longer: a `FailureCode`. The message is on the command's stderr. */
  | { readonly kind: 'failed'; readonly code: string }
  /** The connection to the agent is lost. At most the first `takenBytes` of its input have reached it. */
  | { readonly kind: 'lost'; readonly takenBytes: number }
  /** The agent is stopped, as by SIGSTOP, and will do nothing unless somebody continues it. */
  | { readonly kind: 'stopped' }
  /** Whether the agent is stopped cannot be known any more: what watches it in the container has ended. */
  | { readonly kind: 'unwatchable' }
  /** Of `cai --acp`, to `cai serve`: one of its agents has ended without being asked to. */
  | { readonly kind: 'agent-ended' }
  /** Likewise: one runs, whose container was started for it if `isNew`. */
  | { readonly kind: 'agent-started'; readonly isNew: boolean }
  /** Likewise: one could not be started, and this is not tried again; a `FailureCode`. */
  | { readonly kind: 'agent-refused'; readonly code: string }
  /** Something that the user should know. */
  | { readonly kind: 'notice'; readonly text: string }
  /** Something that the user is to be told in the sessions of the agent. */
  | { readonly kind: 'warning'; readonly title: string; readonly description: string }
  /** Something that can take minutes has begun, as building an image: nobody is to wait for the agent meanwhile. */
  | { readonly kind: 'delay'; readonly text: string }
  /** What `delay` told of is over. */
  | { readonly kind: 'resumed' };

/** Asks the command whether it works. It answers at once, whatever else it does. */
type AliveQuestion = Readonly<{ ask: 'alive'; id: number }>;

/** The command's answer to the question with that `id`. */
type Answer = Readonly<{ kind: 'answer'; id: number }>;

/** The command's own question: may it connect to `place`, a host and a port? A `Verdict` with that `id` answers it. */
type PlaceQuestion = Readonly<{ kind: 'asks'; id: number; place: string }>;

/** Without `isAllowed` nobody could be asked, or nobody has answered in time. */
type Verdict = Readonly<{ verdict: number; isAllowed?: boolean | undefined }>;

/** Whoever has started the command uses the agent's pipes now. */
type Take = Readonly<{ taken: true }>;

/** Places that the command was allowed to connect to, and is no longer. */
type EndedGrants = Readonly<{ ended: readonly string[] }>;

type Said = AgentStatus | Answer | PlaceQuestion;

/** What one of the two says. */
type Saying = Said | Verdict | EndedGrants | AliveQuestion | Take;

/** What is said as a line, with its newline. */
export function statusLine(said: Saying): string {
  return `${JSON.stringify(said)}\n`;
}

/** Says something to the other end, unless that is gone. */
function say(stream: Duplex, said: Saying): void {
  if (stream.writable) stream.write(statusLine(said));
}

/** Gives `take` each line of a stream. An error of the stream only says that the other end is gone. */
function onLines(stream: Duplex, take: (line: string) => void): void {
  const lines = new LineSplitter();
  stream.on('error', () => undefined);
  stream.setEncoding('utf8').on('data', (text: string) => lines.take(text).forEach(take));
}

/** The questions of one end that the other has not answered. */
class OpenQuestions<T> {
  readonly #open = new Map<number, (answer: T | undefined) => void>();
  #lastId = 0;

  constructor(private readonly stream: Duplex) {
    stream.on('close', () => {
      for (const settle of this.#open.values()) settle(undefined);
    });
  }

  /** Writes a question; `undefined` if no answer comes in `limitMs`. */
  ask(lineOf: (id: number) => string, limitMs: number): Promise<T | undefined> {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      const settle = (answer: T | undefined): void => {
        clearTimeout(limit);
        this.#open.delete(id);
        resolve(answer);
      };
      const limit = setTimeout(() => settle(undefined), limitMs).unref();
      this.#open.set(id, settle);
      if (this.stream.writable) this.stream.write(lineOf(id));
      else settle(undefined);
    });
  }

  /** An answer has come, perhaps to nothing that is open. */
  settle(id: number, answer: T): void {
    this.#open.get(id)?.(answer);
  }
}

/** The end of the program that has started the command. */
export class StatusLink {
  readonly #questions: OpenQuestions<Answer>;

  /**
   * `onStatus` gets what the command tells unasked. `onAsks` answers whether it may connect to a place, with
   * `undefined` if nobody can be asked; it never rejects.
   */
  constructor(
    private readonly stream: Duplex,
    onStatus: (status: AgentStatus) => void,
    onAsks: (place: string) => Promise<boolean | undefined>,
  ) {
    this.#questions = new OpenQuestions(stream);
    onLines(stream, (line) => {
      const value = objectIn(line);
      // It may be of a kind that a later version has.
      const said = typeof value?.kind === 'string' ? (value as unknown as Said) : undefined;
      if (said?.kind === 'answer') this.#questions.settle(said.id, said);
      else if (said?.kind === 'asks')
        void onAsks(said.place).then((isAllowed) => say(stream, { verdict: said.id, isAllowed }));
      else if (said !== undefined) onStatus(said);
    });
  }

  /** Tells the command that what was answered about these places, which was true, counts no more. */
  endGrants(places: readonly string[]): void {
    say(this.stream, { ended: places });
  }

  /** Tells the command that its agent's pipes are ours now. */
  take(): void {
    say(this.stream, { taken: true });
  }

  /** Whether the command answers in `limitMs`; false also for one that has ended, or that takes no questions. */
  async isAlive(limitMs: number): Promise<boolean> {
    const answer = await this.#questions.ask((id) => statusLine({ ask: 'alive', id }), limitMs);
    return answer !== undefined;
  }
}

/** The command's end, which answers by itself whether the command works. */
export class CommandLink {
  /** Resolves when the program that has started the command has taken the agent's pipes, to use them without us. */
  readonly taken: Promise<void>;
  /** Is told of places for which an earlier answer counts no more. */
  onEnded: (places: readonly string[]) => void = () => undefined;
  readonly #questions: OpenQuestions<boolean | undefined>;

  constructor(private readonly stream: Duplex) {
    this.#questions = new OpenQuestions(stream);
    this.taken = new Promise((resolve) => {
      onLines(stream, (line) => {
        const { ask, id, verdict, isAllowed, ended, taken } = objectIn(line) ?? {};
        if (ask === 'alive' && typeof id === 'number') say(stream, { kind: 'answer', id });
        if (typeof verdict === 'number')
          this.#questions.settle(verdict, typeof isAllowed === 'boolean' ? isAllowed : undefined);
        // An answer that came with it is heard first.
        if (Array.isArray(ended))
          setImmediate(() => this.onEnded(ended.filter((each) => typeof each === 'string')));
        if (taken === true) resolve();
      });
    });
  }

  /** Whether a place may be connected to; `undefined` if no answer comes in `limitMs`, or nobody could be asked. */
  async ask(place: string, limitMs: number): Promise<boolean | undefined> {
    return await this.#questions.ask((id) => statusLine({ kind: 'asks', id, place }), limitMs);
  }

  /** We have let go of the pipes, and have passed on that much of the command's output before. */
  released(writtenBytes: number): void {
    say(this.stream, { kind: 'released', writtenBytes });
  }
}

/** Who may take a command's pipes. */
export type Taker = Pick<CommandLink, 'taken' | 'released'>;
