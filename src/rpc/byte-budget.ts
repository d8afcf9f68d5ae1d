/** What an item takes besides its content, in bytes. */
const itemBytes = 1_024;

/** Limits the memory that waiting items of one kind take together. */
export class ByteBudget<T> {
  #items = 0;
  #contentBytes = 0;

  /** `bytesOf`: the size of an item's content. */
  constructor(
    private readonly limitBytes: number,
    private readonly bytesOf: (item: T) => number,
  ) {}

  /** Counts one more item. False if there is no room for it; the first one with a content has room in any case. */
  take(item: T): boolean {
    const bytes = this.bytesOf(item);
    const isTooMuch = this.#contentBytes + bytes + (this.#items + 1) * itemBytes > this.limitBytes;
    if (isTooMuch && (bytes === 0 || this.#contentBytes > 0)) return false;
    this.#items++;
    this.#contentBytes += bytes;
    return true;
  }

  /** An item that was counted waits no more. */
  giveBack(item: T): void {
    this.#items--;
    this.#contentBytes -= this.bytesOf(item);
  }
}
