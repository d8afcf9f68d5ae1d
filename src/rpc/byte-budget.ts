/** Limits in bytes, and what is said where one is passed. */

/** What an item takes besides its content, in bytes. */
const itemBytes = 1_024;

/**
 * How many bytes are too many, as a part of a sentence. `bytes`: within the limit, where nobody knows how many they are.
 * `setting`: the key of the configuration for the limit, if it has one.
 */
export function overLimit(bytes: number, limitBytes: number, setting?: string): string {
  const [unit, name] = limitBytes < 2 ** 20 ? [2 ** 10, 'KiB'] : [2 ** 20, 'MiB'];
  const [size, limit] = [bytes, limitBytes].map((each) => `${Math.ceil((10 * each) / unit) / 10} ${name}`);
  const excess = `more than the ${limit} ${setting === undefined ? 'that are taken' : `of ${setting}`}`;
  return bytes <= limitBytes ? excess : `${size}, ${excess}`;
}

/** Limits the memory that waiting items of one kind take together. */
export class ByteBudget<T> {
  #items = 0;
  #contentBytes = 0;

  /** `setting`: the key of the configuration for the limit; `bytesOf`: the size of an item's content. */
  constructor(
    private readonly limitBytes: number,
    private readonly setting: string,
    private readonly bytesOf: (item: T) => number,
  ) {}

  /** Counts one more item. False if there is no room for it; the first one with a content has room in any case. */
  take(item: T): boolean {
    const bytes = this.bytesOf(item);
    const isTooMuch = this.#bytesWith(item) > this.limitBytes;
    if (isTooMuch && (bytes === 0 || this.#contentBytes > 0)) return false;
    this.#items++;
    this.#contentBytes += bytes;
    return true;
  }

  /** Why there was no room for an item, as a part of a sentence. */
  excessWith(item: T): string {
    return `with this it would be ${overLimit(this.#bytesWith(item), this.limitBytes, this.setting)}`;
  }

  /** An item that was counted waits no more. */
  giveBack(item: T): void {
    this.#items--;
    this.#contentBytes -= this.bytesOf(item);
  }

  #bytesWith(item: T): number {
    return this.#contentBytes + this.bytesOf(item) + (this.#items + 1) * itemBytes;
  }
}
