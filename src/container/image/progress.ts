/** What people see while an image is built or pulled: one live line in a terminal, plain lines elsewhere. */
import { stripVTControlCharacters } from 'node:util';
import { printableCharacters } from '../../system/quoted';
import type { BuildEvent } from '../engine/build-stream';

/** Takes what goes on. Nothing of it is an answer to anything; it never fails and never waits. */
export interface Progress {
  /** What goes on from now: `building IMAGE`. */
  begin(what: string): void;
  /** What the engine tells of it. */
  report(event: BuildEvent): void;
  /** A sentence that stays to be read. */
  say(sentence: string): void;
  /** Nothing goes on any more; the live line is removed. */
  end(): void;
}

/** Where it is shown. */
export type ProgressStream = Pick<NodeJS.WriteStream, 'write'> & { isTTY?: boolean; columns?: number };

/** Shown on `stream`, or nowhere at all. */
export function openProgress(stream: ProgressStream, isQuiet: boolean): Progress {
  if (isQuiet) return { begin: nothing, report: nothing, say: nothing, end: nothing };
  return stream.isTTY === true ? new LiveProgress(stream) : new PlainProgress(stream);
}

function nothing(): void {
  // Nobody wants to see it.
}

const prefix = 'cai: ';
const barWidth = 20;
const plainColumns = 120;
/** The live line is not drawn more often, in milliseconds. */
const redrawMs = 100;

/** How far a build or a pull is. */
class State {
  step = 0;
  stepCount = 0;
  /** What the step does, or what it printed last. */
  detail = '';
  /** Bytes by layer. */
  readonly #layers = new Map<string, { current: number; total: number; isDone: boolean }>();

  constructor(readonly what: string) {}

  /** Whether it began a step or finished a layer. */
  take(event: BuildEvent): boolean {
    switch (event.kind) {
      case 'step':
        this.step = event.step;
        this.stepCount = event.total;
        this.detail = plain(event.text);
        return true;
      case 'log':
        // The builder's own remarks tell nothing to those who wait.
        if (!/^ *--->|^Removing intermediate/.test(event.text)) this.detail = plain(event.text);
        return false;
      case 'pull':
        return this.#takeLayer(event);
    }
  }

  #takeLayer({ id, status, current, total }: BuildEvent & { kind: 'pull' }): boolean {
    // The first event names the tag in place of a layer.
    if (!/^[0-9a-f]{12}$/.test(id)) return false;
    const layer = this.#layers.get(id) ?? { current: 0, total: 0, isDone: false };
    this.#layers.set(id, layer);
    const wasDone = layer.isDone;
    layer.isDone ||= /^(Pull complete|Already exists)$/.test(status);
    // What is downloaded is extracted next, which counts from the beginning again.
    if (status === 'Downloading') {
      layer.current = current ?? layer.current;
      layer.total = total ?? layer.total;
    }
    if (status === 'Download complete' || layer.isDone) layer.current = layer.total;
    return layer.isDone && !wasDone;
  }

  /** `step 2 of 9`, or `layer 1 of 3`; empty while nothing is known. */
  get place(): string {
    if (this.stepCount > 0) return `step ${this.step} of ${this.stepCount}`;
    if (this.#layers.size === 0) return '';
    return `${[...this.#layers.values()].filter(({ isDone }) => isDone).length} of ${this.#layers.size} layers`;
  }

  /** From 0 to 1. */
  get share(): number {
    // A step that is at work is not done.
    if (this.stepCount > 0) return (this.step - 1) / this.stepCount;
    const layers = [...this.#layers.values()];
    const sum = (key: 'current' | 'total') => layers.reduce((bytes, layer) => bytes + layer[key], 0);
    const total = sum('total');
    return total === 0 ? 0 : Math.min(sum('current') / total, 1);
  }
}

/** A line for each step and each layer. */
class PlainProgress implements Progress {
  #state = new State('');

  constructor(private readonly stream: ProgressStream) {}

  begin(what: string): void {
    this.#state = new State(what);
    this.say(what);
  }

  report(event: BuildEvent): void {
    if (!this.#state.take(event)) return;
    const { what, place, detail } = this.#state;
    this.#line(`${what}: ${place}${detail === '' ? '' : `: ${detail}`}`, plainColumns);
  }

  say(sentence: string): void {
    this.#line(sentence, Infinity);
  }

  end(): void {
    // Every line is whole.
  }

  #line(text: string, columns: number): void {
    this.stream.write(`${cut(prefix + plain(text), columns)}\n`);
  }
}

/** One line that is drawn again and again: a bar, the time, and what the step printed last. */
class LiveProgress implements Progress {
  #state: State | undefined;
  #timer: NodeJS.Timeout | undefined;
  #beganAt = 0;
  #drawnAt = 0;

  constructor(private readonly stream: ProgressStream) {}

  begin(what: string): void {
    this.#state = new State(what);
    this.#beganAt = Date.now();
    // Steps that print nothing for minutes must not look as if all stood still.
    this.#timer ??= setInterval(() => this.#draw(), 1_000).unref();
    this.#draw();
  }

  report(event: BuildEvent): void {
    const isNews = this.#state?.take(event) === true;
    if (isNews || Date.now() - this.#drawnAt >= redrawMs) this.#draw();
  }

  say(sentence: string): void {
    this.stream.write(`${clearLine}${prefix}${plain(sentence)}\n`);
    this.#draw();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#state = undefined;
    this.stream.write(clearLine);
  }

  #draw(): void {
    if (this.#state === undefined) return;
    this.#drawnAt = Date.now();
    const { what, place, share, detail } = this.#state;
    const done = Math.round(share * barWidth);
    const bar = `[${'#'.repeat(done)}${'-'.repeat(barWidth - done)}]`;
    const seconds = `${Math.round((this.#drawnAt - this.#beganAt) / 1_000)} s`;
    const text = [prefix + what, bar, [place, seconds].filter(Boolean).join(', '), detail].join(' ');
    // A terminal that nobody has told its size says 0.
    const { columns = 0 } = this.stream;
    this.stream.write(clearLine + cut(text, (columns > 0 ? columns : 80) - 1));
  }
}

const clearLine = '\r\x1b[K';

/** On one line, without what would move the cursor or colour the screen: the text comes from programs and servers. */
function plain(text: string): string {
  return printableCharacters(stripVTControlCharacters(text))
    .replace(/[\ufffd\s]+/g, ' ')
    .trim();
}

function cut(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(columns - 3, 0))}...`;
}
