/** `cai config`: what is in effect for a workspace, and where it comes from. */
import { resolve } from 'node:path';
import type { Host } from '../../system/host';
import { CaiError } from '../../errors';
import { loadWorkspaceConfig, type Origin } from '../../config/effective-config';
import { quoted } from '../../system/quoted';
import { findWorkspace } from '../../workspace/root';
import { common, declare } from '../support/command';
import { table, tell, writeJson } from '../support/terminal';

interface Options {
  readonly workspace?: string;
  readonly json?: true;
}

/** Writes the keys to stdout, and to stderr what is ignored; resolves with 0. */
export const run = declare<Options>({
  name: 'config',
  description: 'Shows every key, its value, and where the value comes from.',
  options: [common.workspace, common.json],
  action: show,
});

async function show({ workspace, json }: Options, host: Host): Promise<number> {
  const root = await rootOf(workspace, host);
  const { origins: originsInOrder, notices } = loadWorkspaceConfig(host, root);
  const origins = byTable(originsInOrder());
  if (json === true) {
    const keys = origins.map(({ name, value, from }) => ({ name, value: masked(value) ?? null, from }));
    writeJson({ workspace: root ?? null, keys, notices });
  } else {
    process.stdout.write(table([['KEY', 'VALUE', 'FROM'], ...origins.map(rowOf)]));
    notices.forEach(tell);
  }
  return 0;
}

/** Without an option, a folder that cannot be a workspace is none: then the user's file alone counts. */
async function rootOf(folder: string | undefined, host: Host): Promise<string | undefined> {
  try {
    return (await findWorkspace(resolve(folder ?? '.'), { host })).root;
  } catch (reason) {
    if (folder !== undefined || !(reason instanceof CaiError) || reason.code !== 'WORKSPACE') throw reason;
    return undefined;
  }
}

/** What is of one agent, or of one mount, stands together. */
function byTable(origins: readonly Origin[]): Origin[] {
  const tableOf = ({ name }: Origin): string => name.replace(/\.[^.]*$/, '');
  const groups = new Map<string, Origin[]>();
  for (const origin of origins) {
    const table = tableOf(origin);
    groups.set(table, [...(groups.get(table) ?? []), origin]);
  }
  return [...groups.values()].flat();
}

function rowOf({ name, value, from }: Origin): string[] {
  return [name, value === undefined ? '-' : quoted(masked(value)), from.join(' and ')];
}

/** Addresses of proxies can hold a password. */
function masked(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/(?<=:\/\/)[^/]*@/, '***@') : value;
}
