/**
 * Where a fault gets hold of what passes between the proxy and its two sides, as if the proxy itself had done
 * it. There is one only in a run of `test/conformance/run.mjs --faults`; else nothing is looked at.
 */
import type { Json } from './inbox';

/** A way that lines go: into the proxy and out of it, at each side. */
export type Way = 'fromEditor' | 'toAgent' | 'fromAgent' | 'toEditor';

/** Sends a line, without its end, past everything else that way; the agent's is the one that was last there. */
type Put = (way: Way, line: string) => void;

/** What goes on instead of a line, byte for byte in Latin-1. The message is empty where the line is none. */
type Change = (line: string, message: Json, put: Put) => string | readonly string[];

/** A fault, as one world has it. */
interface Fault extends Partial<Record<Way, Change>> {
  /** What the proxy says on stderr instead. */
  readonly stderr?: (text: string) => string;
  /** The proxy's exit status instead. */
  readonly exit?: (status: number | null) => number | null;
  /** The user's configuration instead. */
  readonly config?: (toml: string) => string;
  /** The end of an agent's stdin is not told. */
  readonly noEof?: boolean;
}

/** The lines of one world, and its fault if there is one. */
export class Passage {
  /** The fault. */
  readonly fault = (globalThis as { caiFault?: { make(): Fault } }).caiFault?.make() ?? {};
  readonly #sinks = new Map<Way, (line: string) => void>();

  /** What takes the bytes of a way for `sink`. */
  way(way: Way, sink: (bytes: Buffer) => void): (bytes: Buffer) => void {
    const put = (line: string): void => sink(Buffer.from(`${line}\n`, 'latin1'));
    this.#sinks.set(way, put);
    const change = this.fault[way];
    if (change === undefined) return sink;
    let rest = '';
    return (bytes) => {
      this.#sinks.set(way, put);
      const lines = (rest + bytes.toString('latin1')).split('\n');
      rest = lines.pop()!;
      const past: Put = (other, line) => this.#sinks.get(other)!(line);
      for (const line of lines) for (const each of [change(line, messageIn(line), past)].flat()) put(each);
    };
  }
}

function messageIn(line: string): Json {
  try {
    return (JSON.parse(line) ?? {}) as Json;
  } catch {
    return {};
  }
}
