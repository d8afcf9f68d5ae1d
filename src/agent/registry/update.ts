/** Fetches the ACP registry. */
import type { HostNetwork } from '../../config/config';
import { CaiError, messageOf } from '../../errors';
import { Requests } from '../../network';
import type { Host } from '../../system/host';
import { readDocument } from './document';
import { keepDocument, readRegistry, type DatedDocument } from './acp-registry';

/** Where the registry is served. Source: README.md of agentclientprotocol/registry. */
export const registryUrl = 'https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json';

/** What another document has changed, by ids. */
export interface RegistryUpdate extends Pick<DatedDocument, 'dropped' | 'takenAt'> {
  readonly count: number;
  readonly added: readonly string[];
  /** Those that are the same agent in another version, or another form of it. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/**
 * Fetches the document, and keeps it if there is an agent in it. Rejects with `CaiError('NO_SERVER')` where it cannot be
 * had, and with `CONFIG` where it cannot be kept.
 */
export async function updateRegistry(host: Host, network: HostNetwork): Promise<RegistryUpdate> {
  const before = new Map(readRegistry(host).entries.map((entry) => [entry.id, JSON.stringify(entry)]));
  const text = await fetchText(network);
  const { entries, dropped } = parsed(text);
  const takenAt = new Date().toISOString();
  keepDocument(host, text, takenAt);
  const ids = new Set(entries.map(({ id }) => id));
  return {
    count: entries.length,
    added: entries.filter(({ id }) => !before.has(id)).map(({ id }) => id),
    changed: entries
      .filter((entry) => before.has(entry.id) && before.get(entry.id) !== JSON.stringify(entry))
      .map(({ id }) => id),
    removed: [...before.keys()].filter((id) => !ids.has(id)),
    dropped,
    takenAt,
  };
}

async function fetchText(network: HostNetwork): Promise<string> {
  try {
    const { status, body } = await new Requests(network).ask(new URL(registryUrl), { headers: {} });
    if (status !== 200) throw new Error(`it answers with status ${status}`);
    return body.toString('utf8');
  } catch (reason) {
    if (reason instanceof CaiError) throw reason;
    const remedy = 'what is there stays in use; check the network, and [network] in your configuration';
    throw new CaiError(
      'NO_SERVER',
      `the registry of agents, ${registryUrl}, cannot be fetched: ${messageOf(reason)}: ${remedy}`,
    );
  }
}

function parsed(text: string) {
  try {
    const read = readDocument(text);
    if (read.entries.length === 0) throw new Error('there is no agent in it that can be used');
    return read;
  } catch (reason) {
    throw new CaiError(
      'NO_SERVER',
      `what ${registryUrl} answers is not the registry of agents: ${messageOf(reason)}: what is there stays in use`,
    );
  }
}
