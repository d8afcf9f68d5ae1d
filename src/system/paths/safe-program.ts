/** The programs of this machine that we run ourselves, such as `git`. */
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../host';
import { AgentFolders } from './agent-folders';
import { searchFolders } from './search-path';
import { unlessFails } from '../unless';

/** The file that PATH means by `name`, as if none were there that an agent could put there or change. */
export function safeProgram(name: string, host: Host): string | undefined {
  const files = searchFolders(host.env.PATH).map((folder) => join(folder, name));
  const folders = new AgentFolders(host.folders.state);
  return files.find((file) => isProgram(file) && isOfNoAgent(file, folders));
}

/** PATH without the folders in which agents can put programs, for one that starts others by their names. */
export function safePath(host: Host): string {
  const folders = new AgentFolders(host.folders.state);
  return searchFolders(host.env.PATH)
    .filter((folder) => isOfNoAgent(folder, folders))
    .join(':');
}

/** Whether there is a program of that path. */
export function isProgram(file: string): boolean {
  const isExecutable = (): boolean => {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  };
  return unlessFails(isExecutable) === true;
}

/** Whether no agent decides what the path leads to; not where that cannot be known. */
export function isOfNoAgent(path: string, folders: AgentFolders): boolean {
  return unlessFails(() => folders.onWayTo(path) === undefined) === true;
}
