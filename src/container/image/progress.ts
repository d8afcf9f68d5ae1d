/** What people see while an image is built or pulled: one live line in a terminal, plain lines elsewhere. */
import { stripVTControlCharacters } from 'node:util';
import { printableCharacters } from '../../system/quoted';
import type { BuildEvent } from '../engine/image-store';

/** Takes what goes on. None of these ever fails or waits. */
export interface Progress {
  /** What goes on from now: `building IMAGE`. */
  begin(what: string): void;
  report(event: BuildEvent): void;
  say(sentence: string): void;
  /** Nothing goes on any more; the live line is removed. */
  end(): void;
}

type ProgressStream = Pick<NodeJS.WriteStream, 'write'> & { isTTY?: boolean; columns?: number };

const prefix = 'cai: ';
const plainColumns = 120;
/** Of a terminal that does not say how wide it is. */
const usualColumns = 80;
/** The live line is not drawn more often, in milliseconds. */
const redrawMs = 100;
const clearLine = '\r\x1b[K';

/** Shows progress on `stream`, or nowhere at all. */
export function openProgress(stream: ProgressStream, isQuiet: boolean): Progress {
  return new ShownProgress(isQuiet ? { write: () => true } : stream);
}

class ShownProgress implements Progress {
  /** `undefined`: nothing goes on. */
  #what: string | undefined;
  #beganAt = 0;
  #drawnAt = 0;
  #timer: NodeJS.Timeout | undefined;
  /** `step 2 of 9`, or `1 of 3 layers`; empty while nothing is known. */
  #place = '';
  /** What the step does, or what it printed last. */
  #detail = '';
  /** Whether a layer is complete, by its id. */
  #layers = new Map<string, boolean>();

  constructor(private readonly stream: ProgressStream) {}

  begin(what: string): void {
    // The same that is said again goes on.
    if (this.#what !== plain(what)) this.#beganAt = Date.now();
    this.#what = plain(what);
    this.#place = this.#detail = '';
    this.#layers = new Map();
    if (!this.#isLive) {
      this.say(what);
      return;
    }
    // Steps that print nothing for minutes must not look as if all stood still.
    this.#timer ??= setInterval(() => this.#draw(), 1_000).unref();
    this.#draw();
  }

  report(event: BuildEvent): void {
    const isNews = event.kind === 'pull' ? this.#takeLayer(event) : this.#takeLine(event);
    if (this.#isLive) {
      if (isNews || Date.now() - this.#drawnAt >= redrawMs) this.#draw();
    } else if (isNews) {
      const detail = event.kind === 'step' ? this.#detail : '';
      this.stream.write(`${lineOf([this.#what, this.#place, detail], plainColumns)}\n`);
    }
  }

  say(sentence: string): void {
    this.stream.write(`${this.#isLive ? clearLine : ''}${prefix}${plain(sentence)}\n`);
    this.#draw();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = this.#what = undefined;
    if (this.#isLive) this.stream.write(clearLine);
  }

  get #isLive(): boolean {
    return this.stream.isTTY === true;
  }

  #takeLine(event: BuildEvent & { kind: 'step' | 'log' }): boolean {
    if (event.kind === 'step') this.#place = `step ${event.step} of ${event.total}`;
    // The builder's own remarks tell nothing to those who wait.
    if (!/^ *--->|^Removing intermediate/.test(event.text)) this.#detail = plain(event.text);
    return event.kind === 'step';
  }

  #takeLayer({ id, text }: BuildEvent & { kind: 'pull' }): boolean {
    // The first event names the tag in place of a layer.
    if (!/^[0-9a-f]{12}$/.test(id)) return false;
    const wasDone = this.#layers.get(id) === true;
    const isDone =
      wasDone || /^(Pull complete|Already exists|Pushed|Layer already exists|Mounted from)/.test(text);
    this.#layers.set(id, isDone);
    this.#place = `${[...this.#layers.values()].filter(Boolean).length} of ${this.#layers.size} layers`;
    this.#detail = plain(text);
    return isDone && !wasDone;
  }

  #draw(): void {
    if (!this.#isLive || this.#what === undefined) return;
    this.#drawnAt = Date.now();
    const seconds = `${Math.round((this.#drawnAt - this.#beganAt) / 1_000)} s`;
    const place = this.#place === '' ? seconds : `${this.#place}, ${seconds}`;
    // A terminal that nobody has told its size says 0.
    const { columns: told = 0 } = this.stream;
    const columns = told > 0 ? told : usualColumns;
    this.stream.write(clearLine + lineOf([this.#what, place, this.#detail], columns - 1));
  }
}

function lineOf(parts: readonly (string | undefined)[], columns: number): string {
  const text = prefix + parts.filter(Boolean).join(': ');
  return text.length <= columns ? text : `${text.slice(0, Math.max(columns - 3, 0))}...`;
}

/** On one line, without what would move the cursor or colour the screen: the text comes from programs and servers. */
function plain(text: string): string {
  return printableCharacters(stripVTControlCharacters(text))
    .replace(/[\ufffd\s]+/g, ' ')
    .trim();
}

/** What the longer steps of our Dockerfiles do. */
const stepNames: readonly (readonly [instruction: RegExp, name: string])[] = [
  [/^FROM \S+ AS build$/, 'taking the image below'],
  [/^FROM \$/, 'taking the image below'],
  [/^COPY --from=build /, 'putting the image together'],
  [/^COPY /, 'copying the settings of the network'],
  [/^RUN .*apt-get .*install/, 'installing Debian packages'],
  [/^RUN .*pip install/, 'installing Python packages'],
  [/^RUN .*registry-agent/, 'setting up an agent of the registry, if it is one'],
  [/^RUN /, 'setting up'],
];

/** A step of one of our Dockerfiles as people read it, in a build with these npm packages. */
export function withStepName(event: BuildEvent, packages: readonly string[]): BuildEvent {
  if (event.kind !== 'step') return event;
  const list = packages.join(' ') || 'no npm packages';
  const name = /^RUN .*npm[ -]install/.test(event.text)
    ? `installing ${list}`
    : stepNames.find(([instruction]) => instruction.test(event.text))?.[1];
  return { ...event, text: name ?? event.text };
}
