/** The configuration of a workspace: the user's file, and what the repository's may say. */
import { configKeys, configOf, userSource } from './config';
import type { Config } from './config';
import { assemble, nameOf, readSettings } from './config-reader';
import type { Key, Setting, Source, Table } from './config-reader';
import { directSettings, directSpawn } from './direct-settings';
import { quoted } from '../system/quoted';
import { readRepositoryFile } from './repository-config';
import type { RepositoryFile } from './repository-config';
import { placesIn } from './toml-places';
import { isTrusted } from '../workspace/trust';

/** One key of the configuration, and where its value comes from. */
export interface Origin {
  /** The key: `acp.idle`, `agents.mine.command`, `mounts[0].path`. */
  readonly name: string;
  /** The value as a file would have it; `undefined`: there is none. */
  readonly value: unknown;
  /** The value as the program uses it; `undefined`: it is not set. */
  readonly used: unknown;
  /** `default`, `file:line`, or a variable; two of them for a list to which the repository has added. */
  readonly from: readonly string[];
}

/** What a repository's file would widen. */
export interface Widening {
  /** The key. */
  readonly name: string;
  /** Its line in the file. */
  readonly line: number;
  /** What holds without it, as a file would have it; `undefined`: nothing. */
  readonly held: unknown;
  /** What would hold, likewise. */
  readonly wanted: unknown;
}

/** The file of the repository. */
export interface RepositoryConfig {
  /** Its path. */
  readonly file: string;
  /** What is recorded when the user trusts it. */
  readonly digest: string;
  /** Whether the user trusts it as it is now, so that what it widens is in effect. */
  readonly isTrusted: boolean;
  /** In its order. */
  readonly widening: readonly Widening[];
}

/** What is in effect for a workspace. */
export interface WorkspaceConfig {
  /** The values. */
  readonly config: Config;
  /** Every key that has a fixed place, set or not, and those that the user chose; in the order of the docs. */
  readonly origins: readonly Origin[];
  /** A sentence for each thing in the repository's file that is ignored. */
  readonly notices: readonly string[];
  /** `undefined`: the repository has none. */
  readonly repository: RepositoryConfig | undefined;
}

/** More than these are told as a number: a stranger chooses how many there are. */
const maxNotices = 20;

/** A setting, and where it stands. */
interface Placed extends Setting {
  readonly line: number;
  readonly from: readonly string[];
}

/**
 * The configuration in effect for the workspace at `root` (a real path), or without one. The repository's
 * file narrows what the user's allows; it widens it only if the user trusts its exact content. What does
 * not count is ignored and told in `notices`. Fails with `CaiError('CONFIG')` if one of the files cannot be
 * used.
 */
export function loadWorkspaceConfig(env: NodeJS.ProcessEnv, root: string | undefined): WorkspaceConfig {
  const source = userSource(env);
  const user = userSettings(source, env);
  const file = root === undefined ? undefined : readRepositoryFile(root, env);
  if (root === undefined || file === undefined) {
    return { config: configOf(user), origins: originsOf(user), notices: [], repository: undefined };
  }
  const isFileTrusted = isTrusted(env, file.file, file.digest);
  const held = new Map(user.map((setting) => [nameOf(setting.path), setting]));
  const verdicts = judge(file, held, assemble(user, configKeys));
  const counting = verdicts.filter(
    ({ verdict }) => verdict === 'narrows' || (verdict === 'widens' && isFileTrusted),
  );
  const merged = merge(
    user,
    counting.map(({ setting }) => setting),
    held,
  );
  const widening = verdicts
    .filter(({ verdict }) => verdict === 'widens')
    .map(({ setting }) => wideningOf(setting, held));
  const config =
    isMemoryOfRepository(counting, held) && !isFileTrusted
      ? withMemoryAtMost(configOf(merged))
      : configOf(merged);
  const { dockerfileText } = file;
  const hasDockerfile = counting.some(({ setting }) => setting.key.field === 'dockerfile');
  return {
    config:
      hasDockerfile && dockerfileText !== undefined
        ? { ...config, image: { ...config.image, dockerfileText } }
        : config,
    origins: originsOf(merged),
    notices: noticesOf(verdicts, { file: file.file, userFile: source.file, root, isTrusted: isFileTrusted }),
    repository: { file: file.file, digest: file.digest, isTrusted: isFileTrusted, widening },
  };
}

/** The rule knows this machine's memory, of which that of the engine may have only a part. */
function isMemoryOfRepository(counting: readonly Judged[], held: Held): boolean {
  const isSet = counting.some(({ setting }) => nameOf(setting.path) === 'container.memory');
  return isSet && !held.has('container.memory');
}

function withMemoryAtMost(config: Config): Config {
  const { memoryBytes, ...container } = config.container;
  return { ...config, container: { ...container, memoryAtMostBytes: memoryBytes! } };
}

type Verdict = 'narrows' | 'widens' | 'never';
type Held = ReadonlyMap<string, Placed>;

interface Judged {
  readonly setting: Placed;
  readonly verdict: Verdict;
}

function judge(file: RepositoryFile, held: Held, user: Table): Judged[] {
  return placed(file, file.settings).map((setting) => ({ setting, verdict: verdictOn(setting, held, user) }));
}

function verdictOn({ key, path, value }: Setting, held: Held, user: Table): Verdict {
  const { repository, kind, standard } = key;
  if (repository === 'never') return 'never';
  if (repository === 'trusted') return 'widens';
  const current = held.get(nameOf(path))?.value ?? (standard === undefined ? undefined : kind.read(standard));
  return repository.admits(value, current, user) ? 'narrows' : 'widens';
}

function wideningOf(setting: Placed, held: Held): Widening {
  const { key, path, line, written } = setting;
  const name = nameOf(path);
  // Tables of a list are added to the user's.
  const current = isInList(path) ? undefined : held.get(name);
  return {
    name,
    line,
    held: current?.written ?? (isInList(path) ? undefined : key.standard),
    wanted: current === undefined ? written : joined(current, setting).written,
  };
}

/** The user's settings and those of the repository that count: in the place of the user's, or added to them. */
function merge(user: readonly Placed[], counting: readonly Placed[], held: Held): Placed[] {
  const result = new Map(user.map((setting) => [JSON.stringify(setting.path), setting]));
  for (const setting of counting) {
    const path = setting.path.map((name, index) =>
      typeof name === 'number' ? name + listLength(user, setting.path.slice(0, index)) : name,
    );
    const current = isInList(path) ? undefined : held.get(nameOf(path));
    const effective = current === undefined ? setting : joined(current, setting);
    result.set(JSON.stringify(path), { ...effective, path });
  }
  return [...result.values()];
}

/** How many tables the list at `path` has. */
function listLength(settings: readonly Setting[], path: Setting['path']): number {
  const positions = settings
    .filter((setting) => path.every((name, index) => setting.path[index] === name))
    .map((setting) => setting.path[path.length] as number);
  return Math.max(-1, ...positions) + 1;
}

/** What holds when the repository's setting counts. */
function joined(current: Placed, setting: Placed): Placed {
  const { repository } = setting.key;
  if (typeof repository !== 'object' || repository.isAddition !== true) return setting;
  const union = (one: unknown, other: unknown) => [
    ...new Set([...(one as string[]), ...(other as string[])]),
  ];
  return {
    ...setting,
    value: union(current.value, setting.value),
    written: union(current.written, setting.written),
    from: [...current.from, ...setting.from],
  };
}

interface Circumstances {
  readonly file: string;
  readonly userFile: string;
  readonly root: string;
  readonly isTrusted: boolean;
}

/** One for each key, or table of a list, that is ignored. */
function noticesOf(
  verdicts: readonly Judged[],
  { file, userFile, root, isTrusted }: Circumstances,
): string[] {
  const notices = new Map<string, string>();
  for (const { setting, verdict } of verdicts) {
    if (verdict === 'narrows' || (verdict === 'widens' && isTrusted)) continue;
    const { path, line } = setting;
    const name = nameOf(isInList(path) ? path.slice(0, -1) : path);
    const why =
      verdict === 'never'
        ? `because a repository cannot set it: if you want it, put it into ${userFile}`
        : `because it would allow the agent more than you do: if you want it, run: cai trust ${quoted(root)}`;
    if (!notices.has(name)) notices.set(name, `${file}:${line}: ${quoted(name)} is ignored, ${why}`);
  }
  const all = [...notices.values()];
  if (all.length <= maxNotices) return all;
  return [...all.slice(0, maxNotices), `${file}: ${all.length - maxNotices} more keys are ignored`];
}

/**
 * Where the key that sets a field to `used` stands, for messages: `FILE:LINE: "mounts[0].path"`. `key` is as in the
 * docs: `mounts[].path`. The configuration is the one in effect for the workspace at `root`, or without one.
 */
export function placeOfValue(
  env: NodeJS.ProcessEnv,
  root: string | undefined,
  key: string,
  used: unknown,
): string {
  const { origins } = loadWorkspaceConfig(env, root);
  const origin = origins.find((each) => each.name.replace(/\[\d+\]/, '[]') === key && each.used === used);
  return origin === undefined ? `"${key}"` : `${origin.from.join(' and ')}: "${origin.name}"`;
}

function originsOf(settings: readonly Placed[]): Origin[] {
  return configKeys.flatMap((key) => {
    const set = settings.filter((setting) => setting.key === key);
    if (set.length > 0 || isChosen(key)) {
      return set.map(({ path, written, value, from }) => ({
        name: nameOf(path),
        value: written,
        used: value,
        from,
      }));
    }
    return [{ name: nameOf(key.path), value: key.standard, used: undefined, from: ['default'] }];
  });
}

/** Whether the key stands in a table that the user makes. */
function isChosen({ path }: Key): boolean {
  return path.includes('*') || path.includes('[]');
}

function isInList(path: Setting['path']): boolean {
  return path.some((name) => typeof name === 'number');
}

/** Those of the user's file, and those that the environment makes. */
function userSettings(source: Source, env: NodeJS.ProcessEnv): Placed[] {
  const settings = readSettings(source, configKeys);
  const direct = directSettings(env, settings, configKeys);
  return [
    ...placed(source, settings),
    ...direct.map((setting) => ({ ...setting, line: 0, from: [directSpawn] })),
  ];
}

function placed(source: Source, settings: readonly Setting[]): Placed[] {
  const placeOf = placesIn(source.text);
  return settings.map((setting) => {
    const { line } = placeOf(setting.path);
    return { ...setting, line, from: [`${source.file}:${line}`] };
  });
}
