/** How an editor starts `cai`. An editor that no shell has started has another PATH than a terminal. */
import { realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isSea } from 'node:sea';
import { isProgram } from '../../system/paths/safe-program';
import { packageFile } from '../../system/files/package-file';

/** Where programs are found that no shell has started. Source: login.defs(5), ENV_PATH; launchd on macOS. */
const desktopPath =
  process.platform === 'darwin' ? '/usr/bin:/bin:/usr/sbin:/sbin' : '/usr/local/bin:/usr/bin:/bin';

/** The program of the single file, which needs no Node beside it, or our script. */
const ownFile = (): string => realpathSync(isSea() ? process.execPath : packageFile('bin/cai'));

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

/** The program and its arguments that start `cai` with these, whatever PATH the editor has. */
export function wholeCommand(args: readonly string[]): { command: string; args: readonly string[] } {
  const script = isSea() ? [] : [ownFile()];
  return { command: process.execPath, args: [...script, ...args] };
}

/** The same, but only `cai` where that is enough. */
export function editorCommand(args: readonly string[]): { command: string; args: readonly string[] } {
  return desktopProblem() === undefined ? { command: 'cai', args } : wholeCommand(args);
}
