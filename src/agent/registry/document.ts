/** The ACP registry as one JSON document: what `cai agents update` fetches, and what this package brings along. */
import { messageOf } from '../../errors';
import { readEntry, type RegistryEntry } from './entry';
import { objectIn } from '../../system/unless';

export interface RegistryDocument {
  /** In its order, no id twice. */
  readonly entries: readonly RegistryEntry[];
  /** Agents that cannot be used, by id or place, and why. */
  readonly dropped: readonly { readonly id: string; readonly reason: string }[];
}

/** Reads it: an agent that is malformed is dropped, and the others stay. Throws an `Error` for what is no such document. */
export function readDocument(text: string): RegistryDocument {
  const agents = objectIn(text)?.agents;
  if (!Array.isArray(agents)) throw new Error('it is no JSON document with a list of agents');
  const entries = new Map<string, RegistryEntry>();
  const dropped: { id: string; reason: string }[] = [];
  for (const [index, value] of (agents as unknown[]).entries()) {
    try {
      const entry = readEntry(value);
      if (entries.has(entry.id)) throw new Error('another one before it has the same id');
      entries.set(entry.id, entry);
    } catch (reason) {
      const id = (value as { readonly id?: unknown } | null)?.id;
      dropped.push({ id: typeof id === 'string' ? id : `number ${index + 1}`, reason: messageOf(reason) });
    }
  }
  return { entries: [...entries.values()], dropped };
}
