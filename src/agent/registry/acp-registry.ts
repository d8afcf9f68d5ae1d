/** The ACP registry's agents, read from the package's copy or from a newer copy in our state folder. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../errors';
import { readRegularFile } from '../../system/paths/read-regular-file';
import type { Host } from '../../system/host';
import { packageFile } from '../../system/files/package-file';
import { replaceFile } from '../../system/files/replace-file';
import { writeState } from '../../system/state-folder';
import { readDocument, type RegistryDocument } from './document';
import type { RegistryEntry } from './entry';
import { objectIn } from '../../system/unless';

/** A longer document is not read, in bytes; that of 40 agents has 60 KiB. */
export const maxDocumentBytes = 4 * 2 ** 20;

export interface DatedDocument extends RegistryDocument {
  /** ISO 8601. */
  readonly takenAt: string;
  /** Why a copy in the state folder is not used, a sentence. */
  readonly fault?: string;
}

/** The newer one of the two. A copy that cannot be read counts as missing. */
export function readRegistry(host: Host): DatedDocument {
  const shipped = dated(readFileSync(packageFile('src/agent/registry/snapshot.json'), 'utf8'));
  const file = copyIn(host);
  try {
    const copy = readRegularFile(file, maxDocumentBytes + 1_024)?.toString('utf8');
    const kept = copy === undefined ? undefined : dated(copy);
    return kept === undefined || kept.takenAt <= shipped.takenAt ? shipped : kept;
  } catch (reason) {
    return { ...shipped, fault: `${file} is not used: ${messageOf(reason)}: run "cai agents update"` };
  }
}

/** The agent with that id; `undefined`: the registry has no such agent. */
export function findEntry(host: Host, id: string): RegistryEntry | undefined {
  // Most names have nothing to do with the registry, and an editor waits.
  return /^[a-z][a-z\d-]*$/.test(id) ? readRegistry(host).entries.find((each) => each.id === id) : undefined;
}

/** Keeps a document as it was served, JSON text, in the place of an earlier one. Fails with `CaiError('CONFIG')`. */
export function keepDocument(host: Host, text: string, takenAt: string): void {
  const file = copyIn(host);
  const content = () => JSON.stringify({ takenAt, document: JSON.parse(text) as unknown });
  writeState(host.folders.state, file, () => replaceFile(file, content()));
}

function copyIn(host: Host): string {
  return join(host.folders.state, 'agents.json');
}

function dated(text: string): Pick<DatedDocument, 'takenAt' | 'entries' | 'dropped'> {
  const { takenAt, document } = objectIn(text) ?? {};
  if (typeof takenAt !== 'string' || Number.isNaN(Date.parse(takenAt))) throw new Error('it has no date');
  return { takenAt: new Date(takenAt).toISOString(), ...readDocument(JSON.stringify(document ?? null)) };
}
