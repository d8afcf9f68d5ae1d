/** The sessions whose turns are open at one agent: those with a prompt that it has not answered. */
export class OpenTurns {
  /** How many prompts are open, by session: an agent can have thousands of requests open, and each answer looks. */
  readonly #prompts = new Map<object, number>();
  /** Who waits for the end of a session's last prompt. */
  readonly #waits = new Map<object, (() => void)[]>();

  has(session: object): boolean {
    return this.#prompts.has(session);
  }

  /** A request about a session was sent (1), or is over (-1). */
  count(method: string, session: object | undefined, more: 1 | -1): void {
    if (session === undefined || method !== 'session/prompt') return;
    const count = (this.#prompts.get(session) ?? 0) + more;
    if (count > 0) this.#prompts.set(session, count);
    else this.#prompts.delete(session);
  }

  /** Calls back when no prompt of the session is open, which may be at once. */
  whenQuiet(session: object, resolve: () => void): void {
    this.#waits.set(session, [...(this.#waits.get(session) ?? []), resolve]);
    this.wake(session);
  }

  /** A request of the session is over, and who has asked for it was told. */
  wake(session: object | undefined): void {
    const waits = session && this.#waits.get(session);
    if (waits === undefined || this.has(session!)) return;
    this.#waits.delete(session!);
    for (const resolve of waits) resolve();
  }

  /** Forgets all prompts without calling anybody. */
  clear(): void {
    this.#prompts.clear();
  }
}
