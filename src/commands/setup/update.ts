/** `cai update`: the newest version, by the way in which this one was installed. */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { isSea } from 'node:sea';
import { name as packageName, version } from '../../../package.json';
import { packageFile } from '../../system/files/package-file';
import { safeProgram } from '../../system/paths/safe-program';
import { runInteractive } from '../acp/agent-on-terminal';
import { declare } from '../support/command';
import { isOfNpx } from '../support/editor-command';

/** Resolves with npm's exit status, or with 1 where there is something to do by hand. */
export const run = declare({
  name: 'update',
  description: `Installs the newest version by npm, if npm has installed this one, or says how to get it. Once a day, after a
    command in a terminal, cai asks npm's registry for the newest version; CAI_NO_UPDATE_CHECK=1 turns that off.`,
  action: async (_, host) => {
    const way = wayOf(packageFolder());
    const npm = safeProgram('npm', host);
    if ('advice' in way || npm === undefined) {
      const advice = 'advice' in way ? way.advice : 'npm has installed cai, but is not on your PATH any more';
      process.stderr.write(`cai: this is version ${version}: ${advice}\n`);
      return 1;
    }
    const command = [npm, 'install', '--global', '--prefix', way.prefix, `${packageName}@latest`] as const;
    return await runInteractive({ name: 'npm', command, remedy: 'install it again' }, host.envForOthers);
  },
});

/** Where the package lies; `undefined`: we are a single file. */
export function packageFolder(): string | undefined {
  return isSea() ? undefined : realpathSync(packageFile('.'));
}

/** How a package in that folder was installed; `undefined`: it is in the single file `program`. */
export function wayOf(
  folder: string | undefined,
  program = process.execPath,
): { readonly prefix: string } | { readonly advice: string } {
  if (folder === undefined) {
    const isOfDebian = program === '/usr/bin/cai';
    return {
      advice: isOfDebian
        ? 'install the Debian package of a newer version'
        : `put a newer single file in the place of ${program}`,
    };
  }
  if (folder.includes('/Cellar/')) return { advice: `run "brew upgrade ${packageName}"` };
  if (isOfNpx(folder)) return { advice: `npx runs the newest as ${packageName}@latest` };
  const [, prefix] = /^(.*)\/lib\/node_modules\/[^/]+$/.exec(folder) ?? [];
  if (prefix !== undefined) return { prefix };
  if (folder.includes('/node_modules/'))
    return { advice: `run "npm install ${packageName}@latest" in the project that has it in ${folder}` };
  if (existsSync(join(folder, 'src/main.ts')))
    return { advice: `run "git pull && npm ci" in ${folder}, and install it again as before` };
  return { advice: 'run the install.sh of a newer version' };
}
