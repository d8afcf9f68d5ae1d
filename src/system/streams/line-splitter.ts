/** Text that comes in pieces, as lines. */
export class LineSplitter {
  #begun: string[] = [];
  #length = 0;

  /** `maxLength`: of a longer line, in characters, only the note stays that it was left out. */
  constructor(private readonly maxLength = Infinity) {}

  /** Takes the next piece; returns the lines that it ends, without their ends. */
  take(piece: string): string[] {
    const [first = '', ...more] = piece.split('\n');
    this.#add(first);
    const next = more.pop();
    if (next === undefined) return [];
    const lines = [this.rest, ...more];
    this.#begun = [];
    this.#length = 0;
    this.#add(next);
    return lines;
  }

  /** What follows the last line end. */
  get rest(): string {
    if (this.#length <= this.maxLength) return this.#begun.join('');
    return `(a line of more than ${this.maxLength / 2 ** 20} MiB was left out)`;
  }

  #add(text: string): void {
    this.#length += text.length;
    if (this.#length > this.maxLength) this.#begun = [];
    else this.#begun.push(text);
  }
}
