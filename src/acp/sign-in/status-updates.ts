import { bodyTextOf, type Message } from '../../rpc/message';

/** What agents say about signing in, by `auth/status_update` or `_auth/status_update`: some agents use both. */
export class StatusUpdates {
  /** The params of the last update that was new, by method. */
  readonly #last = new Map<string, string>();

  isNew(update: Message): boolean {
    const status = bodyTextOf(update) ?? '';
    const isNew = status !== this.#last.get(update.method);
    this.#last.set(update.method, status);
    return isNew;
  }
}
