/** How the system's `ssh` is started for an engine, as Docker's own client does it, but for what makes it quick. */
import { platform, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Host } from '../../../../system/host';
import { replaceFile } from '../../../../system/files/replace-file';
import { unlessFails } from '../../../../system/unless';
import { makeFolder } from '../../../../system/files/make-folder';

export interface SshTarget {
  /** As the user writes it: the name of an address, or of a `Host` in the user's configuration of ssh. */
  readonly host: string;
  /** Whom to be there; undefined: as ssh has it. */
  readonly user?: string;
  readonly port?: string;
  /** The engine's socket there; undefined: as the program there has it. */
  readonly socket?: string;
}

/** What joins its streams to the engine's socket there; the second is tried where the first is missing. */
export const programs = ['docker', 'podman'] as const;

/** The target of `ssh://[USER@]HOST[:PORT][/SOCKET]`; `undefined`: it is no target, or holds a password. */
export function sshTargetOf(endpoint: string): SshTarget | undefined {
  const form = /^ssh:\/\/(?:([^@:/]+)@)?(?:\[([^\]]+)\]|([^@:/]+))(?::(\d+))?(?:\/|(\/[^?#'\s]+))?$/;
  const [, user, bracketed, plain, port, socket] = form.exec(endpoint) ?? [];
  const host = bracketed ?? plain;
  // Neither may be taken for an option, here or there.
  if (host === undefined || [host, user].some((each) => each?.startsWith('-'))) return undefined;
  return { host, ...(user && { user }), ...(port && { port }), ...(socket && { socket }) };
}

/** The arguments of `ssh` for a connection to the engine. Nothing is asked, because nobody might answer. */
export function sshArguments(target: SshTarget, program: string, configFile: string): string[] {
  const { host, user, port, socket } = target;
  return [
    ...['-F', configFile, '-T', '-o', 'BatchMode=yes'],
    ...(user === undefined ? [] : ['-l', user]),
    ...(port === undefined ? [] : ['-p', port]),
    ...['--', host, program],
    ...(socket === undefined ? [] : [program === 'podman' ? '--url' : '--host', `unix://${socket}`]),
    ...['system', 'dial-stdio'],
  ];
}

/** What ssh makes of a path of a control socket: 40 digits, and 17 characters while it makes it. */
const addedBytes = 57;
/** Source: unix(7), and the same of macOS; the last byte is a NUL. */
const maxSocketBytes = platform() === 'linux' ? 107 : 103;

/**
 * Writes the configuration with which ssh is started, and returns where it is. All that the user and the system say of ssh
 * comes before what we add, so it counts. What we add: one connection for all that is asked within a minute, because to
 * log in takes much longer than to ask; and the end of one that has fallen silent.
 */
export function sshConfig(host: Pick<Host, 'folders' | 'home'>): string {
  const folder = join(host.folders.state, 'via');
  const file = join(folder, 'config');
  makeFolder(folder);
  const isShared = Buffer.byteLength(`${folder}/`) + addedBytes <= maxSocketBytes && !/["\n\\]/.test(folder);
  const shared = [
    'ControlMaster auto',
    `ControlPath "${folder.replaceAll('%', '%%')}/%C"`,
    'ControlPersist 60',
  ];
  // Not $HOME, to which ssh does not look.
  const home = unlessFails(() => userInfo().homedir) ?? host.home;
  const lines = [
    `Include "${home}/.ssh/config"`,
    'Include /etc/ssh/ssh_config',
    'Host *',
    ...['ConnectTimeout 30', 'ServerAliveInterval 15', 'ServerAliveCountMax 2'],
    ...(isShared ? shared : []),
  ];
  replaceFile(file, `${lines.join('\n')}\n`);
  return file;
}
