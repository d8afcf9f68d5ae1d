/** Our own request ids: a prefix that nobody can guess, so that they meet none of the editor's. */
const ownPrefix = `cai-${Math.random().toString(36).slice(2)}-`;
let lastOwnId = 0;

/** An id for a request of our own, JSON text, never given before. */
export function newOwnId(): string {
  return `"${ownPrefix}${++lastOwnId}"`;
}
