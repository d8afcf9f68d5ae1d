/** The configuration of a workspace: the user's file, and what the repository's may say. */
import { configFileOf, configKeys, configOf, userSettings, type Config } from './config';
import { nameOf, type Setting } from './config-reader';
import type { Host } from '../system/host';
import { commandWord } from '../system/quoted';
import { JudgedFile, type Widening } from './repository/judge';
import { readRepositoryFile } from './repository/repository-config';
import { recorded } from '../workspace/records';
import {
  findWorkspaceDevcontainer,
  readWorkspaceDevcontainer,
  type ReadDevcontainer,
  type WorkspaceDevcontainer,
} from './repository/workspace-devcontainer';

/** One key of the configuration, and where its value comes from. */
export interface Origin {
  /** The key: `acp.idle`, `agents.mine.command`, `mounts[0].path`. */
  readonly name: string;
  /** The value as a file would have it; `undefined`: it has no value. */
  readonly value: unknown;
  /** The value as the program uses it; `undefined`: it is not set. */
  readonly used: unknown;
  /** `default`, `FILE:LINE`, or a variable; two of them for a list to which the repository has added. */
  readonly from: readonly string[];
}

export interface RepositoryConfig {
  readonly file: string;
  /** What is recorded when the user trusts the file: a digest of its content. */
  readonly digest: string;
  /** Whether the user trusts the file as it is now, so that what it widens is in effect. */
  readonly isTrusted: boolean;
  /** The keys that would allow agents more than the user does, in the file's order. */
  readonly widening: readonly Widening[];
}

/** What is in effect for a workspace. */
export interface WorkspaceConfig {
  readonly config: Config;
  /** Every key that has a fixed place, set or not, and those that the user chose; in the order of the docs. */
  readonly origins: () => Origin[];
  /** A sentence for each thing in the repository's file that is ignored. */
  readonly notices: readonly string[];
  /** `undefined`: the repository has no file. */
  readonly repository: RepositoryConfig | undefined;
  /**
   * `undefined`: the repository has no devcontainer, or the user wants no devcontainer. `read`: fails with
   * `CaiError('CONFIG')`.
   */
  readonly devcontainer: (WorkspaceDevcontainer & { read(): ReadDevcontainer }) | undefined;
  /** A sentence why one that is there is not used. */
  readonly devcontainerNotices: readonly string[];
}

/**
 * The configuration in effect for the workspace at `root` (a real path), or without one. The repository's file narrows
 * what the user's allows, and widens it only if the user trusts its exact content. Fails with `CaiError('CONFIG')`.
 */
export function loadWorkspaceConfig(host: Host, root: string | undefined): WorkspaceConfig {
  const user = userSettings(host);
  const file = root === undefined ? undefined : readRepositoryFile(root, host.home);
  const isFileTrusted =
    file !== undefined && recorded(host.folders.state, 'trusted', file.file) === file.digest;
  const own = file && new JudgedFile(file, user, isFileTrusted);
  const before = own?.settings ?? user;
  const { devcontainer, notices } =
    root === undefined
      ? { devcontainer: undefined, notices: [] }
      : findWorkspaceDevcontainer(host, root, configOf(before), before);
  const trusted = devcontainer?.trusted;
  const settings = trusted?.judged.settings ?? before;
  const remedies = {
    never: `put it into ${configFileOf(host)}`,
    widens: `run: cai trust ${commandWord(root ?? '')}`,
  };
  return {
    config: {
      ...withRepositoryLimits(configOf(settings), own, isFileTrusted, file?.dockerfileText),
      ...(trusted && { devcontainer: { ...configOf(settings).devcontainer, trusted: trusted.content } }),
    },
    origins: () => originsOf(settings),
    notices: own?.notices(remedies) ?? [],
    repository: file &&
      own && { file: file.file, digest: file.digest, isTrusted: isFileTrusted, widening: own.widening },
    devcontainer: devcontainer && { ...devcontainer, read: () => trusted ?? readIt(devcontainer.file) },
    devcontainerNotices: notices,
  };

  function readIt(of: string): ReadDevcontainer {
    return readWorkspaceDevcontainer(host, root!, of, configOf(before), before);
  }
}

/** What a configuration holds besides its keys because a repository has set some of them. */
function withRepositoryLimits(
  config: Config,
  own: JudgedFile | undefined,
  isFileTrusted: boolean,
  dockerfileText: string | undefined,
): Config {
  const { memoryBytes, ...container } = config.container;
  const memory = own?.set('container.memory');
  // The rule knows this machine's memory, of which that of the engine may have only a part.
  const isAtMost =
    memory !== undefined && memory.held === undefined && !isFileTrusted && memory.value === memoryBytes;
  const hasText = own?.set('image.dockerfile') !== undefined && dockerfileText !== undefined;
  return {
    ...config,
    ...(isAtMost && { container: { ...container, memoryAtMostBytes: memoryBytes! } }),
    ...(hasText && { image: { ...config.image, dockerfileText } }),
  };
}

/** `FILE:LINE: "mounts[0].path"`, where a key, `mounts[].path` in the docs, is set to `used`; for messages. */
export function placeOfValue(host: Host, root: string | undefined, key: string, used: unknown): string {
  const { origins } = loadWorkspaceConfig(host, root);
  const origin = origins().find((each) => each.name.replace(/\[\d+\]/, '[]') === key && each.used === used);
  return origin === undefined ? `"${key}"` : `${origin.from.join(' and ')}: "${origin.name}"`;
}

function originsOf(settings: readonly Setting[]): Origin[] {
  return configKeys.flatMap((key) => {
    const set = settings.filter((setting) => setting.key === key);
    const isChosen = key.path.includes('*') || key.path.includes('[]');
    if (set.length === 0 && !isChosen)
      return [{ name: nameOf(key.path), value: key.standard, used: undefined, from: ['default'] }];
    return set.map(({ path, written, value, from }) => ({
      name: nameOf(path),
      value: written,
      used: value,
      from: from(),
    }));
  });
}
