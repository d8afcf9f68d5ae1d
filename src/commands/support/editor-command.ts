/** How an editor starts `cai`. An editor that no shell has started has another PATH than a terminal. */
import { realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isSea } from 'node:sea';
import { name as packageName, version } from '../../../package.json';
import type { Host } from '../../system/host';
import { AgentFolders } from '../../system/paths/agent-folders';
import { isOfNoAgent, isProgram, safeProgram } from '../../system/paths/safe-program';
import { searchFolders } from '../../system/paths/search-path';
import { packageFile } from '../../system/files/package-file';
import { unlessFails } from '../../system/unless';

/** Where programs are found that no shell has started. Source: login.defs(5), ENV_PATH; launchd on macOS. */
const desktopPath =
  process.platform === 'darwin' ? '/usr/bin:/bin:/usr/sbin:/sbin' : '/usr/local/bin:/usr/bin:/bin';

/** The program of the single file, which needs no Node beside it, or our script. */
const ownFile = (): string => realpathSync(isSea() ? process.execPath : packageFile('bin/cai'));

/** Whether npx has started what lies there: it removes that when it likes. */
export const isOfNpx = (path: string): boolean => path.includes('/_npx/');

/** Why an editor from the desktop does not find `cai`: version managers change the PATH of shells only. */
export function desktopProblem(): string | undefined {
  const find = (name: string) =>
    desktopPath
      .split(delimiter)
      .map((each) => join(each, name))
      .find(isProgram);
  const found = find('cai');
  const missing = (isSea() ? ['cai'] : ['node', 'cai']).filter((name) => find(name) === undefined);
  if (missing.length > 0)
    return `an editor started from the desktop may not find ${missing.join(' and ')} (its PATH is ${desktopPath})`;
  const isOurs = realpathSync(found!) === ownFile();
  return isOurs ? undefined : `an editor started from the desktop finds another cai: ${found!}`;
}

interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

/** The program and its arguments that start `cai` with these, whatever PATH the editor has. */
export function wholeCommand(args: readonly string[], host: Host): Command {
  if (isOfNpx(ownFile()))
    return {
      command: safeProgram('npx', host) ?? 'npx',
      args: ['--yes', `${packageName}@${version}`, ...args],
    };
  const node = lastingPath(isSea() ? 'cai' : 'node', process.execPath, host);
  const script = isSea() ? [] : [lastingPath('cai', ownFile(), host)];
  return { command: node, args: [...script, ...args] };
}

/** The same, but only `cai` where that is enough. */
export function editorCommand(args: readonly string[], host: Host): Command {
  return desktopProblem() === undefined ? { command: 'cai', args } : wholeCommand(args, host);
}

/** Where a program lies that no update moves, as far as PATH tells: package managers have a folder for each version, and one with links. */
function lastingPath(name: string, file: string, host: Host): string {
  const folders = new AgentFolders(host.folders.state);
  const real = realpathSync(file);
  const leads = (path: string): boolean =>
    unlessFails(() => realpathSync(path)) === real && isOfNoAgent(path, folders);
  // Those of fnm go with their shell.
  const lasting = searchFolders(host.env.PATH).filter((folder) => !folder.includes('/fnm_multishells/'));
  return lasting.map((folder) => join(folder, name)).find(leads) ?? file;
}

/** What becomes of such a command with time, in sentences; `undefined`: it lasts. */
export function transience({ command, args }: Command): string | undefined {
  if (isOfNpx(ownFile()))
    return `npx starts version ${version} each time, and needs node on the editor's PATH. To have cai installed instead, run "npm install --global ${packageName}", and "cai setup" again.`;
  const versions = [process.versions.node, version];
  const isOfOneVersion = [command, args[0] ?? ''].some((path) =>
    path.split('/').some((part) => versions.includes(part.replace(/^v/, ''))),
  );
  return isOfOneVersion
    ? 'The paths name a version of Node or cai: after an update of it, run this again.'
    : undefined;
}
