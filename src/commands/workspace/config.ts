/** `cai config`: what is in effect for a workspace, and where it comes from. */
import { resolve } from 'node:path';
import type { Host } from '../../system/host';
import { loadWorkspaceConfig, type Origin } from '../../config/effective-config';
import { quoted } from '../../system/quoted';
import { findWorkspace } from '../../workspace/root';
import { common, declare } from '../support/command';
import { workspaceIfAny } from '../support/named-root';
import { table, tell, writeJson } from '../support/terminal';

interface Options {
  readonly workspace?: string;
  readonly json?: true;
}

/** Writes the keys to stdout, and to stderr what is ignored; resolves with 0. */
export const run = declare<Options>({
  name: 'config',
  description: 'Shows every key of the configuration, its value, and where the value comes from.',
  options: [common.workspace, common.json],
  action: show,
});

async function show({ workspace, json }: Options, host: Host): Promise<number> {
  // Where the current folder can be no workspace, the user's file alone counts.
  const found =
    workspace === undefined
      ? await workspaceIfAny('.', host)
      : await findWorkspace(resolve(workspace), { host });
  const loaded = loadWorkspaceConfig(host, found?.root);
  const { origins: originsInOrder, devcontainer, devcontainerNotices } = loaded;
  const notices = [...loaded.notices, ...devcontainerNotices, ...(devcontainer?.trusted?.ignored ?? [])];
  // What is of one agent, or of one mount, stands together.
  const tables = new Map<string, Origin[]>();
  for (const origin of originsInOrder()) {
    const name = origin.name.replace(/\.[^.]*$/, '');
    tables.set(name, [...(tables.get(name) ?? []), origin]);
  }
  const origins = [...tables.values()].flat();
  if (json === true) {
    const keys = origins.map(({ name, value, from }) => ({ name, value: masked(value) ?? null, from }));
    writeJson({ workspace: found?.root ?? null, keys, notices });
  } else {
    process.stdout.write(table([['KEY', 'VALUE', 'FROM'], ...origins.map(rowOf)]));
    notices.forEach(tell);
  }
  return 0;
}

function rowOf({ name, value, from }: Origin): string[] {
  return [name, value === undefined ? '-' : quoted(masked(value)), from.join(' and ')];
}

/** Addresses of proxies can hold a password. */
function masked(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/(?<=:\/\/)[^/]*@/, '***@') : value;
}
