/** The files that are put into a container before its first start, so that no step in it needs root. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { cursorAdapter } from '../../agent/catalog';
import { packageFile } from '../../system/files/package-file';
import type { UserGit } from '../../workspace/git';
import { isInside } from '../../system/paths/is-inside';
import { agentHome, fallbackMount } from '../../workspace/mount';
import type { InnerEntry } from '../engine/engine';
import { seccompFile } from '../engine/seccomp';
import { file, folder, link, longer } from './inner-entry';
import { userFiles, sshLines } from './user-settings';
import { dataFolder } from './mounts/mounts';
import type { Bind, ContainerUser, Settings } from './spec';

/** Where programs inside find the certificates of the user's configuration. */
export const caFile = '/run/cai/ca.pem';

/** The bundle of Debian's ca-certificates, which most programs read. */
export const systemCaFile = '/etc/ssl/certs/ca-certificates.crt';

/** Our own files inside, owned by root: what runs there cannot change them. */
const ownFolder = '/run/cai';

/** Name of the user that everything in a container runs as. */
export const userName = 'agent';

/** Folders of the home folder that are kept in the data volume: where the agents keep what must last. */
const keptFolders = ['.claude', '.codex', '.config', '.copilot', '.cursor', '.gemini', '.local', '.qwen'];

/** From our package: programs, and the settings of sshd. */
const programs = ['keeper', 'disk', 'filter', 'supervisor', 'join', 'ports', 'watch', 'copy'];
const sshdConfig = 'sshd_config';

/** What the keeper compares before anything else runs: pairs of `device:inode`, or `mounted`, and path, ended by NUL. */
const mountsFile = `${ownFolder}/mounts`;

/** What is known when the files are made, besides the settings. */
interface FilesRequest {
  /** Owner of the home folder and of the data volume. */
  readonly user: ContainerUser;
  /** Private, in OpenSSH's format. */
  readonly hostKey: string;
  /** `/etc/passwd` and `/etc/group` of the image. */
  readonly passwd: string;
  readonly group: string;
  readonly git: Pick<UserGit, 'identity' | 'safe'>;
  /** `systemCaFile` of the image, where the settings have certificates. */
  readonly systemCa: string;
  readonly hasAgentSettings: boolean;
}

/** In the order in which they have to be put in. */
export function containerFiles(
  settings: Pick<
    Settings,
    | 'workingFolder'
    | 'isCopied'
    | 'binds'
    | 'own'
    | 'authorizedKey'
    | 'agentSettings'
    | 'protection'
    | 'certificates'
    | 'diskBytes'
    | 'hasNetwork'
    | 'userSettings'
    | 'agent'
  >,
  request: FilesRequest,
): InnerEntry[] {
  const { user } = request;
  const { agentSettings, certificates: extra, userSettings = nothing } = settings;
  const ssh = (settings.hasNetwork ? '' : sshConfig) + sshLines(userSettings);
  return [
    folder(ownFolder, 0o755),
    ...programs.map((name) => file(`${ownFolder}/${name}`, readPackaged(name), 0o755)),
    ...(settings.agent === 'cursor'
      ? [file(cursorAdapter.inContainer, readFileSync(packageFile(cursorAdapter.packaged), 'utf8'), 0o755)]
      : []),
    // Into the supervisor's environment.
    file(
      `${ownFolder}/${sshdConfig}`,
      `${readPackaged(sshdConfig)}SetEnv CAI_DISK_BYTES=${settings.diskBytes ?? 0}\n`,
      0o644,
    ),
    file(`${ownFolder}/authorized_keys`, `${settings.authorizedKey}\n`, 0o644),
    file(`${ownFolder}/host_key`, request.hostKey, 0o600, user),
    // Where the keeper's listener makes its socket.
    folder(`${ownFolder}/door`, 0o700, user),
    // Its time is when a command began or ended last.
    file(`${ownFolder}/used`, '', 0o600, user),
    // Where the keeper notes how much of the disk budget is used.
    file(`${ownFolder}/disk-use`, '', 0o600, user),
    file('/etc/passwd', withUser(request.passwd, user), 0o644),
    file('/etc/group', withGroup(request.group, user), 0o644),
    file('/etc/gitconfig', gitConfig(request.git, settings), 0o644),
    ...(ssh === '' ? [] : [file('/etc/ssh/ssh_config.d/cai.conf', ssh, 0o644)]),
    ...userFiles(userSettings, { home: agentHome, data: dataFolder }),
    ...(extra === undefined
      ? []
      : [file(caFile, extra, 0o644), longer(systemCaFile, request.systemCa, extra)]),
    ...(agentSettings === undefined || request.hasAgentSettings
      ? []
      : [file(agentSettings.path, agentSettings.text, 0o644)]),
    ...home(user, settings.workingFolder),
    // The root of a new volume is root's.
    ...settings.own.map((path) => folder(posix.join(settings.workingFolder, path), 0o755, user)),
  ];
}

/**
 * What is to be mounted, for each start: the engine mounts again then. `folders`: where volumes are in the workspace, and
 * nowhere else, as by a link that an agent has left there.
 */
export function mountIdentities(
  binds: readonly Pick<Bind, 'identity' | 'target'>[],
  folders: readonly string[],
): InnerEntry[] {
  const known = [
    ...binds.filter(({ identity }) => identity !== ''),
    ...folders.map((target) => ({ identity: 'mounted', target })),
  ];
  const text = known.map(({ identity, target }) => `${identity}\0${target}\0`).join('');
  return [file(mountsFile, text, 0o644)];
}

/** Changes when the files of our package for an agent's containers do, so that one made by an older version is noticed. */
export function packagedFilesHash(agent: string): string {
  const hash = createHash('sha256').update(JSON.stringify(keptFolders)).update(seccompFile());
  for (const name of [...programs, sshdConfig]) hash.update(readPackaged(name));
  if (agent === 'cursor') hash.update(readFileSync(packageFile(cursorAdapter.packaged)));
  return hash.digest('hex').slice(0, 16);
}

function home(user: ContainerUser, workingFolder: string): InnerEntry[] {
  const kept = keptFolders.flatMap((name) => [
    folder(`${dataFolder}/${name}`, 0o700, user),
    link(`${agentHome}/${name}`, posix.join(posix.basename(dataFolder), name), user),
  ]);
  const isElsewhere = workingFolder !== agentHome && workingFolder !== fallbackMount;
  return [
    folder(agentHome, 0o755, user),
    folder(dataFolder, 0o700, user),
    ...kept,
    ...(isElsewhere ? [link(fallbackMount, workingFolder, user)] : []),
  ];
}

/** One of our programs for containers. The bundle of a command and this file are both two folders below the package's root. */
export function readPackaged(name: string): string {
  return readFileSync(packageFile(`src/container/inside/${name}`), 'utf8');
}

/** First, so that the number has this name where the image gives it to another user too. */
function withUser(passwd: string, { uid, gid }: ContainerUser): string {
  const others = passwd.split('\n').filter((line) => !line.startsWith(`${userName}:`));
  return [`${userName}:x:${uid}:${gid}:${userName}:${agentHome}:/bin/sh`, ...others].join('\n');
}

function withGroup(group: string, { gid }: ContainerUser): string {
  const hasNumber = group.split('\n').some((line) => line.split(':')[2] === String(gid));
  const others = group.split('\n').filter((line) => !line.startsWith(`${userName}:`));
  return hasNumber ? group : [`${userName}:x:${gid}:`, ...others].join('\n');
}

function gitConfig(
  git: FilesRequest['git'],
  settings: Pick<Settings, 'protection' | 'isCopied' | 'binds' | 'workingFolder' | 'userSettings'>,
): string {
  const { protection, isCopied, binds, workingFolder, userSettings } = settings;
  const lines = Object.entries(git.identity).map(([key, value]) => `\t${key} = ${gitString(value)}\n`);
  const user = lines.length === 0 ? '' : `[user]\n${lines.join('')}`;
  // The root of a volume may belong to root, and git then asks for this.
  const trusted = [...(isCopied ? [workingFolder] : []), ...safeInside(git.safe, binds)];
  const safe = trusted.map((each) => `[safe]\n\tdirectory = ${gitString(each)}\n`).join('');
  const key = userSettings?.signingKey;
  const signing = key === undefined ? '' : `[user]\n\tsigningKey = ${gitString(`key::${key}`)}\n${signed}`;
  return user + safe + signing + (protection === undefined ? '' : withoutWrites);
}

/** Those of the user's folders that a container has, as it names them. */
function safeInside(folders: readonly string[], binds: readonly Bind[]): string[] {
  return folders.flatMap((each) => {
    if (each === '*') return each;
    const bind = binds.find(({ source }) => isInside(each, source));
    return bind === undefined ? [] : posix.join(bind.target, posix.relative(bind.source, each));
  });
}

/** By the user's SSH agent, of which `src/network/ssh-agent/` signs commits and tags. */
const signed = '[gpg]\n\tformat = ssh\n[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n';

/** The user's settings where none are wanted. */
const nothing = { shown: [], links: [], knownHosts: '' };

/** A new branch and a push then need no entry in the repository's configuration. */
const withoutWrites = '[branch]\n\tautoSetupMerge = false\n[push]\n\tdefault = current\n';

/** ssh, and so git over it, knows no variable for proxies. Source: ssh_config(5), ProxyCommand. */
const sshConfig = `Host * !localhost !127.0.0.1 !::1\n  ProxyCommand ${ownFolder}/join %h %p\n`;

/** Source: git-config(1), syntax: quotes, with these characters escaped. */
function gitString(value: string): string {
  return `"${value.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}
