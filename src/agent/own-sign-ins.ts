/** Whether each workspace has its own sign-ins: a quick look, because an editor waits for it. */
import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import type { Config } from '../config/config';
import { ownValue } from '../config/own-property';
import { readRegularFile } from '../system/paths/read-regular-file';
import { ancestry } from '../system/real-path';
import { catalog } from './catalog';
import { isInside } from '../system/paths/is-inside';

/** A repository's file that is longer cannot be used, in bytes. */
const maxBytes = 64 * 1024;

/** Whether a sign-in to the agent is in the workspace's own data, by the configuration of the workspace. */
export function hasOwnSignIns(agent: string, config: Pick<Config, 'agent' | 'network'>): boolean {
  return config.agent.data === 'workspace' && !isKeptOutside(agent, config);
}

/**
 * As `hasOwnSignIns`, for the workspace of `cwd` (a real path), by the user's configuration alone. False is certain; else
 * `loadWorkspaceConfig` knows.
 */
export function mayHaveOwnSignIns(
  agent: string,
  config: Pick<Config, 'agent' | 'network'>,
  cwd: string,
  home: string,
): boolean {
  if (isKeptOutside(agent, config)) return false;
  if (config.agent.data === 'workspace') return true;
  // The home folder and those above it are no workspaces.
  return ancestry(cwd).some((folder) => !isInside(home, folder) && mentionsData(folder));
}

function isKeptOutside(agent: string, { network }: Pick<Config, 'network'>): boolean {
  return network.egress !== 'open' && ownValue(catalog, agent)?.signIn.isKeptOutside === true;
}

/** Whether the repository's file, if there is one in the folder, may say something about data. */
function mentionsData(folder: string): boolean {
  const file = posix.join(folder, '.containai/config.toml');
  // Most agents have no such file, and a read that fails takes longer.
  if (!existsSync(file)) return false;
  try {
    return readRegularFile(file, maxBytes)?.includes('data') === true;
  } catch {
    return true;
  }
}
