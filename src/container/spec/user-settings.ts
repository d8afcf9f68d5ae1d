/** The user's own settings that a container gets, because the user's configuration names it. */
import { hostSettings, type ShownFile } from '../../agent/host-settings';
import type { SettingsFile } from '../../agent/catalog';
import type { Config } from '../../config/config';
import type { AgentFolders } from '../../system/paths/agent-folders';
import { knownHosts, knownHostsText, signingKey } from '../../network';
import type { Host } from '../../system/host';
import type { InnerEntry } from '../engine/engine';
import { file, folder } from './inner-entry';

/** As a container has it, besides the agent's settings for the whole container. */
export interface UserSettings {
  readonly shown: readonly ShownFile[];
  /** Below the home folder: where the agent is to find those, each a file or a folder. */
  readonly links: readonly string[];
  /** The servers that the user's SSH agent may be used for, as a file that ssh reads. */
  readonly knownHosts: string;
  /** With which git signs commits and tags, as a line of `authorized_keys`; `undefined`: it signs none. */
  readonly signingKey: string | undefined;
}

interface FoundSettings {
  readonly settings: UserSettings;
  /** The agent's settings for the whole container, with what the user has of them. */
  readonly agentSettings: SettingsFile | undefined;
  /** Sentences for the user about what is left out. */
  readonly notices: readonly string[];
}

/** `undefined`: the configuration names nothing. Rejects with `CaiError('CONFIG')` for what cannot be had. */
export async function findUserSettings(
  request: { readonly config: Config; readonly agent: string; readonly host: Host },
  folders: AgentFolders,
): Promise<FoundSettings | undefined> {
  const { config, agent, host } = request;
  const { git, agents } = config;
  const names = Object.hasOwn(agents, agent) ? (agents[agent]!.settings ?? []) : [];
  if (names.length === 0 && git.sshAgent.length === 0 && !git.isSigning) return undefined;
  const found = hostSettings(names, agent, host, folders);
  const known = knownHosts(git.sshAgent, host, folders);
  const unknown = known.filter(({ keys }) => keys.length === 0).map((each) => each.host);
  const notice = `git.ssh_agent names ${unknown.join(', ')}, of which your known_hosts has no key: connect there once with ssh on this machine`;
  return {
    settings: {
      shown: found.shown,
      links: found.links,
      knownHosts: knownHostsText(known),
      signingKey: git.isSigning ? await signingKey(host, folders) : undefined,
    },
    agentSettings: found.system,
    notices: [...found.notices, ...(unknown.length === 0 ? [] : [notice])],
  };
}

const folderOfShown = '/run/cai/settings';
/** What the keeper links: fields that each end with NUL. */
const linksFile = '/run/cai/links';
const knownHostsFile = '/run/cai/known_hosts';

/** The files of the agent, all of root, and what says where they are linked; `home` and `data` are its folders. */
export function userFiles(
  { shown, links, knownHosts: text }: Pick<UserSettings, 'shown' | 'links' | 'knownHosts'>,
  { home, data }: { readonly home: string; readonly data: string },
): InnerEntry[] {
  const parents = shown.flatMap(({ path }) => {
    const names = path.split('/').slice(0, -1);
    return names.map((_, index) => names.slice(0, index + 1).join('/'));
  });
  const folders = shown.length === 0 ? [] : ['', ...[...new Set(parents)].map((path) => `/${path}`)];
  return [
    ...folders.map((path) => folder(folderOfShown + path, 0o755)),
    ...shown.map(({ path, text: content, isProgram }) =>
      file(`${folderOfShown}/${path}`, content, isProgram ? 0o755 : 0o644),
    ),
    // Also where there is nothing to link: an earlier container may have linked something.
    file(linksFile, [data, home, ...links].map((each) => `${each}\0`).join(''), 0o644),
    ...(text === '' ? [] : [file(knownHostsFile, text, 0o644)]),
  ];
}

/** Lines for ssh's configuration: the user's servers are known besides those of the image. */
export function sshLines({ knownHosts: text }: Pick<UserSettings, 'knownHosts'>): string {
  if (text === '') return '';
  return `Host *\n  GlobalKnownHostsFile ${knownHostsFile} /etc/ssh/ssh_known_hosts\n`;
}
