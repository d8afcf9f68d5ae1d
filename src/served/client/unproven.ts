/** Messages of one connection that the other end may not have: they are sent again where the connection goes on. */

/** The messages, numbered from 1 in the order in which they were added. */
export class UnprovenLines {
  readonly #lines: Buffer[] = [];
  /** How many the other end is known to have. */
  proven = 0;
  bytes = 0;

  /** How many were ever added: the number of the last. */
  get last(): number {
    return this.proven + this.#lines.length;
  }

  /** Keeps one more, which must not be changed afterwards. */
  add(line: Buffer): void {
    this.#lines.push(line);
    this.bytes += line.length;
  }

  /** The message with that number; undefined if it was not added yet, or is not kept any more. */
  at(number: number): Buffer | undefined {
    return this.#lines[number - this.proven - 1];
  }

  /** The other end has the first `count`, which are forgotten. False if it cannot be so: nothing is changed then. */
  prove(count: number): boolean {
    if (!Number.isSafeInteger(count) || count < this.proven || count > this.last) return false;
    for (const line of this.#lines.splice(0, count - this.proven)) this.bytes -= line.length;
    this.proven = count;
    return true;
  }
}
