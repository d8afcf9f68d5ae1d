/** Requests that wait for their answers, by their ids: JSON text. */

/** The requests of one side, in the order in which they were sent. */
export class OpenRequests<T> {
  readonly #requests = new Map<string, T>();
  /** Ids that are open and written in another way than the usual one, by their usual texts. */
  readonly #unusual = new Map<string, Set<string>>();

  get size(): number {
    return this.#requests.size;
  }

  /** A copy of the list, the oldest first. */
  get all(): T[] {
    return [...this.#requests.values()];
  }

  /** Whether one of them is so. No list is made for that: there can be thousands. */
  some(isSo: (request: T) => boolean): boolean {
    for (const each of this.#requests.values()) if (isSo(each)) return true;
    return false;
  }

  /** The open request with that very text as its id. */
  get(id: string): T | undefined {
    return this.#requests.get(id);
  }

  /** Adds a request under an id that is not open. */
  add(id: string, request: T): void {
    this.#requests.set(id, request);
    const usual = usualText(id);
    if (usual !== id) this.#unusual.set(usual, (this.#unusual.get(usual) ?? new Set()).add(id));
  }

  /** The open request that `id` names, however it is written. */
  find(id: string): T | undefined {
    return this.#requests.get(id) ?? this.#requests.get(this.#ownId(id));
  }

  /** Ends the request that `id` names, and returns it. */
  take(id: string): T | undefined {
    const ownId = this.#requests.has(id) ? id : this.#ownId(id);
    const request = this.#requests.get(ownId);
    this.#requests.delete(ownId);
    if (this.#unusual.size > 0) this.#forget(ownId);
    return request;
  }

  /** Ends all requests, and returns them, the oldest first. */
  takeAll(): T[] {
    const { all } = this;
    this.#requests.clear();
    this.#unusual.clear();
    return all;
  }

  /** The id of an open request that `id` means, without being the same text. A peer may name many that are not open. */
  #ownId(id: string): string {
    const usual = usualText(id);
    if (this.#requests.has(usual)) return usual;
    const [unusual = id] = this.#unusual.get(usual) ?? [];
    return unusual;
  }

  #forget(id: string): void {
    const usual = usualText(id);
    const same = this.#unusual.get(usual);
    if (same?.delete(id) === true && same.size === 0) this.#unusual.delete(usual);
  }
}

/**
 * Whether two ids are the same, also if a peer has parsed one and writes it otherwise: `5.0` for `5`, a large integer
 * rounded.
 */
export function isSameId(a: string, b: string): boolean {
  return a === b || usualText(a) === usualText(b);
}

/** As JSON is written by JavaScript, but for a number that it cannot write. */
function usualText(id: string): string {
  // Our own, and those of most peers. Other values could be nested too deeply for the parser.
  if (/^(?:[1-9]\d{0,14}$|[{[])/.test(id)) return id;
  const value: unknown = JSON.parse(id);
  return value === Infinity || value === -Infinity ? String(value) : JSON.stringify(value);
}
