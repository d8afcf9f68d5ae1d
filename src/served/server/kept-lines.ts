/** Lines, numbered from 1, of which the latest are kept: as many as a budget for several such lists allows. */

/** How much the lists of one `Keeper` keep together. */
export interface KeepLimits {
  /** Of lines without their line ends. */
  readonly bytes: number;
  readonly lines: number;
}

/** The lists that have one budget. */
export class Keeper {
  #bytes = 0;
  #lines = 0;
  readonly #lists = new Set<KeptLines>();

  constructor(private readonly limits: KeepLimits) {}

  /**
   * Called by a list that has got a line. The oldest lines of the largest list go until all are within the limits; that
   * line itself stays, as it may have to be sent.
   */
  added(list: KeptLines, line: Buffer): void {
    this.#lists.add(list);
    this.#count(line, 1);
    while (this.#bytes > this.limits.bytes || this.#lines > this.limits.lines) {
      const droppable = [...this.#lists].filter((each) => each.count > (each === list ? 1 : 0));
      if (droppable.length === 0) return;
      const largest = droppable.reduce((most, each) => (each.bytes > most.bytes ? each : most));
      this.#count(largest.dropOldest(), -1);
    }
  }

  /** Called by a list that is needed no more. */
  forget(list: KeptLines): void {
    if (!this.#lists.delete(list)) return;
    for (const line of list.lines) this.#count(line, -1);
  }

  #count({ length }: Buffer, sign: 1 | -1): void {
    this.#bytes += sign * length;
    this.#lines += sign;
  }
}

export class KeptLines {
  #lines: Buffer[] = [];
  /** Where in `#lines` the oldest that is kept stands; what is before it is dropped now and then. */
  #head = 0;
  #oldest = 1;
  bytes = 0;

  /** `keeper` may be shared with others. */
  constructor(private readonly keeper: Keeper) {}

  get count(): number {
    return this.#lines.length - this.#head;
  }

  get lines(): readonly Buffer[] {
    return this.#lines.slice(this.#head);
  }

  /** The number of the oldest that is kept. */
  get oldest(): number {
    return this.#oldest;
  }

  /** The number of the latest line; 0: there was none. */
  get newest(): number {
    return this.#oldest + this.count - 1;
  }

  /** No line was dropped. */
  get isWhole(): boolean {
    return this.#oldest === 1;
  }

  /** Adds a line, which must not be changed afterwards. */
  push(line: Buffer): void {
    this.#lines.push(line);
    this.bytes += line.length;
    this.keeper.added(this, line);
  }

  /** The line of that number, `oldest` or later; undefined: it has not come yet. */
  at(number: number): Buffer | undefined {
    return this.#lines[this.#head + number - this.#oldest];
  }

  forget(): void {
    this.keeper.forget(this);
  }

  /** Called by the keeper. */
  dropOldest(): Buffer {
    const line = this.at(this.#oldest)!;
    this.#head++;
    this.#oldest++;
    this.bytes -= line.length;
    if (this.#head * 2 > this.#lines.length) {
      this.#lines = this.#lines.slice(this.#head);
      this.#head = 0;
    }
    return line;
  }
}
