/** Requests that wait for their answers, by their ids: JSON text. */

/** The requests of one side, in the order in which they were sent. */
export class OpenRequests<T> {
  readonly #requests = new Map<string, T>();

  get size(): number {
    return this.#requests.size;
  }

  /** A copy of the list, the oldest first. */
  get all(): T[] {
    return [...this.#requests.values()];
  }

  /** The open request with that very text as its id. */
  get(id: string): T | undefined {
    return this.#requests.get(id);
  }

  /** Adds a request under an id that is not open. */
  add(id: string, request: T): void {
    this.#requests.set(id, request);
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
    return request;
  }

  /** Ends all requests, and returns them, the oldest first. */
  takeAll(): T[] {
    const { all } = this;
    this.#requests.clear();
    return all;
  }

  /** The id of an open request that `id` means, without being the same text. */
  #ownId(id: string): string {
    for (const known of this.#requests.keys()) if (isSameId(known, id)) return known;
    return id;
  }
}

/**
 * Whether two ids are the same, also if a peer has parsed one and writes it otherwise: `5.0` for `5`, a large integer
 * rounded.
 */
export function isSameId(a: string, b: string): boolean {
  return a === b || (isScalar(a) && isScalar(b) && Object.is(JSON.parse(a), JSON.parse(b)));
}

/** Other values could be nested too deeply for the parser. */
function isScalar(text: string): boolean {
  return !text.startsWith('{') && !text.startsWith('[');
}
