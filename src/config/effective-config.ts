/** The configuration of a workspace: the user's file, and what the repository's may say. */
import { configFileOf, configKeys, configOf, userSettings, type Config } from './config';
import { assemble, nameOf, type Setting } from './config-reader';
import type { Host } from '../system/host';
import { quoted } from '../system/quoted';
import { readRepositoryFile, type RepositoryFile } from './repository-config';
import type { Narrowing } from './repository-rules';
import { recorded } from '../workspace/records';

/** One key of the configuration, and where its value comes from. */
export interface Origin {
  /** The key: `acp.idle`, `agents.mine.command`, `mounts[0].path`. */
  readonly name: string;
  /** The value as a file would have it; `undefined`: there is none. */
  readonly value: unknown;
  /** The value as the program uses it; `undefined`: it is not set. */
  readonly used: unknown;
  /** `default`, `FILE:LINE`, or a variable; two of them for a list to which the repository has added. */
  readonly from: readonly string[];
}

/** The file of the repository. */
export interface RepositoryConfig {
  /** Its path. */
  readonly file: string;
  /** What is recorded when the user trusts the file: a digest of its content. */
  readonly digest: string;
  /** Whether the user trusts the file as it is now, so that what it widens is in effect. */
  readonly isTrusted: boolean;
  /**
   * The keys that would allow agents more than the user does, in the file's order, each with its value without that
   * file (`undefined`: none) and the one that it asks for, both as a file would have them.
   */
  readonly widening: readonly { name: string; line: number; held: unknown; wanted: unknown }[];
}

/** What is in effect for a workspace. */
export interface WorkspaceConfig {
  /** The values. */
  readonly config: Config;
  /** Every key that has a fixed place, set or not, and those that the user chose; in the order of the docs. */
  readonly origins: () => Origin[];
  /** A sentence for each thing in the repository's file that is ignored. */
  readonly notices: readonly string[];
  /** `undefined`: the repository has none. */
  readonly repository: RepositoryConfig | undefined;
}

/** More notices than these are told as a number: a stranger chooses how many there are. */
const maxNotices = 20;

/** A setting of the repository's file; the user's that it would replace or add to; what holds if it counts. */
interface Judged {
  readonly setting: Setting;
  readonly verdict: 'narrows' | 'widens' | 'never';
  readonly held: Setting | undefined;
  readonly effective: Setting;
}

/**
 * The configuration in effect for the workspace at `root` (a real path), or without one. The repository's file narrows
 * what the user's allows, and widens it only if the user trusts its exact content. Fails with `CaiError('CONFIG')`.
 */
export function loadWorkspaceConfig(host: Host, root: string | undefined): WorkspaceConfig {
  const user = userSettings(host);
  const file = root === undefined ? undefined : readRepositoryFile(root, host.home);
  if (root === undefined || file === undefined) {
    return { config: configOf(user), origins: () => originsOf(user), notices: [], repository: undefined };
  }
  const isFileTrusted = recorded(host.folders.state, 'trusted', file.file) === file.digest;
  const judged = judge(file.settings, user);
  const counts = ({ verdict }: Judged) => verdict === 'narrows' || (verdict === 'widens' && isFileTrusted);
  const counting = judged.filter(counts);
  const all = [...user, ...counting.map(({ effective }) => effective)];
  const settings = [...new Map(all.map((setting) => [JSON.stringify(setting.path), setting])).values()];
  const widening = judged.filter(({ verdict }) => verdict === 'widens');
  return {
    config: withRepositoryLimits(configOf(settings), counting, isFileTrusted, file.dockerfileText),
    origins: () => originsOf(settings),
    notices: noticesOf(
      judged.filter((each) => !counts(each)),
      file,
      { never: `put it into ${configFileOf(host)}`, widens: `run: cai trust ${quoted(root)}` },
    ),
    repository: {
      file: file.file,
      digest: file.digest,
      isTrusted: isFileTrusted,
      widening: widening.map(({ setting: { key, path }, held, effective }) => ({
        name: nameOf(path),
        line: file.placeOf(path).line,
        held: held?.written ?? (isInList(path) ? undefined : key.standard),
        wanted: effective.written,
      })),
    },
  };
}

/** What a configuration holds besides its keys because a repository has set some of them. */
function withRepositoryLimits(
  config: Config,
  counting: readonly Judged[],
  isFileTrusted: boolean,
  dockerfileText: string | undefined,
): Config {
  const sets = (name: string) => counting.find(({ setting }) => nameOf(setting.path) === name);
  const memory = sets('container.memory');
  // The rule knows this machine's memory, of which that of the engine may have only a part.
  const isAtMost = memory !== undefined && memory.held === undefined && !isFileTrusted;
  const { memoryBytes, ...container } = config.container;
  const hasText = sets('image.dockerfile') !== undefined && dockerfileText !== undefined;
  return {
    ...config,
    ...(isAtMost && { container: { ...container, memoryAtMostBytes: memoryBytes! } }),
    ...(hasText && { image: { ...config.image, dockerfileText } }),
  };
}

function judge(settings: readonly Setting[], user: readonly Setting[]): Judged[] {
  const byName = new Map(user.map((setting) => [nameOf(setting.path), setting]));
  const table = assemble(user, configKeys);
  return settings.map((setting) => {
    const { key, path, value } = setting;
    const { repository, kind, standard } = key;
    // Tables of a list are added to the user's.
    const held = isInList(path) ? undefined : byName.get(nameOf(path));
    const current = held?.value ?? (standard === undefined ? undefined : kind.read(standard));
    const widthOf = (rule: Narrowing<unknown>) => (rule.admits(value, current, table) ? 'narrows' : 'widens');
    const verdict = repository === 'never' ? 'never' : widthOf(repository);
    const effective = { ...setting, ...joined(setting, held), path: pathBehind(path, user) };
    return { setting, verdict, held, effective };
  });
}

/** For a key whose list is added to the user's: what the setting is then. */
function joined({ key, value, written, from }: Setting, held: Setting | undefined): Partial<Setting> {
  const { repository } = key;
  if (held === undefined || repository === 'never' || repository.isAddition !== true) return {};
  const union = (...lists: readonly unknown[]) => [...new Set((lists as string[][]).flat())];
  return {
    value: union(held.value, value),
    written: union(held.written, written),
    from: () => [...held.from(), ...from()],
  };
}

/** The path of a key in a list of tables, once that list comes after the user's. Other paths stay as they are. */
function pathBehind(path: Setting['path'], user: readonly Setting[]): Setting['path'] {
  const [list, position, ...rest] = path;
  if (list === undefined || typeof position !== 'number') return path;
  const taken = user
    .filter((setting) => setting.path[0] === list)
    .map((setting) => setting.path[1] as number);
  return [list, Math.max(-1, ...taken) + 1 + position, ...rest];
}

/** One sentence for each key, or table of a list, that is ignored. */
function noticesOf(
  ignored: readonly Judged[],
  { file, placeOf }: RepositoryFile,
  remedies: { readonly never: string; readonly widens: string },
): string[] {
  const notices = new Map<string, string>();
  for (const { setting, verdict } of ignored) {
    const { path } = setting;
    const name = nameOf(isInList(path) ? path.slice(0, -1) : path);
    const why =
      verdict === 'never'
        ? `a repository cannot set it: if you want it, ${remedies.never}`
        : `it would allow the agent more than you do: if you want it, ${remedies.widens}`;
    if (!notices.has(name))
      notices.set(name, `${file}:${placeOf(path).line}: ${quoted(name)} is ignored, because ${why}`);
  }
  const all = [...notices.values()];
  if (all.length <= maxNotices) return all;
  return [...all.slice(0, maxNotices), `${file}: ${all.length - maxNotices} more keys are ignored`];
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

function isInList(path: Setting['path']): boolean {
  return path.some((name) => typeof name === 'number');
}
