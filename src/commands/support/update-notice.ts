/** A look for a newer version, once a day, while a person works in a terminal. */
import { spawn } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { version } from '../../../package.json';
import { ownProgram } from '../../agent/cai-program';
import type { Host } from '../../system/host';
import { makeFolder } from '../../system/files/make-folder';
import { unlessFails } from '../../system/unless';
import { tell } from './terminal';

const dayMs = 24 * 60 * 60 * 1000;
/** Commands that programs start, or whose business it is. */
const silentCommands = [
  'bridge',
  'terminal',
  'complete',
  'completion',
  'connect',
  'replay',
  'serve',
  'uninstall',
  'update',
];
const silentOptions = ['--help', '-h', '--quiet', '-q', '--json'];

/** What the last look has found: a version, or nothing. Its time is that of the look. */
export const newestFile = (host: Host): string => join(host.folders.state, 'newest-version');

/** Whether somebody who reads stderr wants to hear of it after this command. */
export function wantsNotice(command: string, args: readonly string[], { env }: Host): boolean {
  const isOff = env.CAI_NO_UPDATE_CHECK === '1' || !['', undefined, 'false'].includes(env.CI);
  const isSilent = silentCommands.includes(command) || args.some((each) => silentOptions.includes(each));
  return process.stderr.isTTY && !isOff && !isSilent;
}

/** Says on stderr, once, if the last look has found a newer version; else starts the next one if it is due. Never fails. */
export function noticeUpdate(host: Host): void {
  unlessFails(() => {
    const file = newestFile(host);
    const newest = unlessFails(() => readFileSync(file, 'utf8').trim()) ?? '';
    if (/^\d+\.\d+\.\d+$/.test(newest) && newest.localeCompare(version, 'en', { numeric: true }) > 0) {
      tell(`version ${newest} is out, this is ${version}: run "cai update"`);
      writeFileSync(file, '');
    }
    const lookedMs = unlessFails(() => statSync(file).mtimeMs) ?? 0;
    if (Date.now() - lookedMs > dayMs) look(file, host);
  });
}

/** Another process of ours asks, `setup/newest-version.ts`. Nothing waits for it. */
function look(file: string, host: Host): void {
  makeFolder(dirname(file));
  writeFileSync(file, '', { mode: 0o600 });
  const [program, ...args] = ownProgram(['newest-version']);
  // Not in the current folder, which may be removed meanwhile.
  spawn(program, args, { cwd: '/', env: host.envForOthers, detached: true, stdio: 'ignore' })
    .on('error', () => undefined)
    .unref();
}
