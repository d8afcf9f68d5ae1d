/** Who sits at the terminal: what they type, line by line. */
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { ownValue } from '../../config/own-property';

/** Says `interrupt` for each Ctrl+C; with no listener, that is the end of the input. */
export class Person extends EventEmitter<{ interrupt: []; line: [string | undefined] }> {
  readonly #terminal = createInterface({ input: process.stdin, output: process.stdout });
  /** What was typed while nobody waited for it. */
  readonly #ahead: string[] = [];
  #isGone = false;

  constructor() {
    super();
    this.#terminal.on('line', (line) => {
      if (!this.emit('line', line)) this.#ahead.push(line);
    });
    this.#terminal.on('SIGINT', () => {
      if (!this.emit('interrupt')) this.leave();
    });
    this.#terminal.on('close', () => {
      this.#isGone = true;
      this.emit('line', undefined);
    });
  }

  /** Resolves with the next line, also one that was typed before; `undefined` at the end of the input. */
  async line(prompt: string): Promise<string | undefined> {
    return this.#ahead.shift() ?? (await this.#next(prompt));
  }

  /**
   * Resolves with one of these words, typed after the call; `undefined` if the person leaves, or once the question is
   * `withdrawn`. `short`: what else is understood, and as which of them. One question at a time.
   */
  async answer(
    words: readonly string[],
    short: Readonly<Record<string, string>>,
    withdrawn: AbortSignal,
  ): Promise<string | undefined> {
    for (;;) {
      const given = (await this.#next(`  ${words.join(', ')}? `, withdrawn))?.trim().toLowerCase();
      if (given === undefined) return undefined;
      const word = ownValue(short, given) ?? given;
      if (words.includes(word)) return word;
      const meant = Object.entries(short).map(([each, its]) => `; ${each} is ${its}`);
      process.stdout.write(`  Type a number${meant.join('')}. Ctrl+C stops the turn.\n`);
    }
  }

  leave(): void {
    this.#terminal.close();
  }

  async #next(prompt: string, signal?: AbortSignal): Promise<string | undefined> {
    if (this.#isGone) return undefined;
    this.#terminal.setPrompt(prompt);
    this.#terminal.prompt();
    const lines = (await once(this, 'line', { signal }).catch(() => [])) as (string | undefined)[];
    return lines[0];
  }
}
