/** Text that comes in pieces, as lines. */
export class LineSplitter {
  #begun: string[] = [];

  /** Takes the next piece; returns the lines that it ends, without their ends. */
  take(piece: string): string[] {
    const [first = '', ...more] = piece.split('\n');
    this.#begun.push(first);
    const next = more.pop();
    if (next === undefined) return [];
    const lines = [this.#begun.join(''), ...more];
    this.#begun = [next];
    return lines;
  }

  /** What follows the last line end. */
  get rest(): string {
    return this.#begun.join('');
  }
}
