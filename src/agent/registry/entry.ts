/**
 * One agent of the ACP registry, as far as it can be installed on Linux. A stranger wrote it: what could do more than
 * install and start a program there is refused. Source: FORMAT.md and agent.schema.json of agentclientprotocol/registry.
 */
import { printableLine } from '../../system/quoted';
import { isObject } from '../../system/unless';

interface Start {
  readonly args: readonly string[];
  /** Variables besides those that the program has anyway. */
  readonly env: Readonly<Record<string, string>>;
}

/** A package of npm or PyPI. */
export interface PackageDistribution extends Start {
  /** Its name, for PyPI perhaps with extras: `name[extra]`. */
  readonly name: string;
  readonly version: string;
  /** The program of the package; absent: the one that `npx` or `uvx` would start. */
  readonly cmd?: string;
}

/** An archive, or the program itself. */
export interface ArchiveTarget extends Start {
  /** Where it is, an `https:` URL. */
  readonly archive: string;
  /** 64 lower-case hex digits; absent: the entry does not tell. */
  readonly sha256?: string;
  /** Path of the program in the archive. */
  readonly cmd: string;
}

/** Processors that an archive can be for, as the registry calls them. */
export const architectures = ['x86_64', 'aarch64'] as const;

/** One of `architectures`. */
export type Architecture = (typeof architectures)[number];

export interface RegistryEntry {
  /** Lower-case letters, digits and hyphens. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Where to read more, an `https:` URL. */
  readonly website?: string;
  /** SPDX id, or `proprietary`. */
  readonly license?: string;
  /** From npm. */
  readonly npx?: PackageDistribution;
  /** From PyPI. */
  readonly uvx?: PackageDistribution;
  readonly binary?: Readonly<Partial<Record<Architecture, ArchiveTarget>>>;
}

type Json = Readonly<Record<string, unknown>>;

const maxIdLength = 64;
/** Longest text, in characters. */
const maxTextLength = 2_000;
const maxArgs = 64;
/** Version of a package: what follows the first digit is of no interest here, but has nothing that separates words. */
const exactVersion = /^\d[\w.+-]*$/;
const npmName = /^(@[a-z\d~-][\w.~-]*\/)?[a-z\d~-][\w.~-]*$/i;
const pythonName = /^[a-z\d][\w.-]*(\[[\w.,-]+\])?$/i;
/** A program's own name, which is no option and no path. */
const programName = /^\w[\w.+-]*$/;
/**
 * Variables by which loaders, interpreters and git run other code than the program's, or by which programs find others,
 * and ours. They also count where agents run on this machine.
 */
const forbiddenVariable =
  /^(PATH|HOME|SHELL|ENV|BASH_ENV|IFS|NODE_(OPTIONS|PATH|EXTRA_CA_CERTS)|JAVA_TOOL_OPTIONS|(LD|DYLD|GIT|CAI|CAI_ACP|XDG|DOCKER|SSL)_.*|(PYTHON|PERL5|RUBY).*|.*_PROXY)$/i;

/** Reads one element of `agents`. Throws an `Error` that says what is wrong with it; unknown members are ignored. */
export function readEntry(value: unknown): RegistryEntry {
  const entry = objectOf(value, 'it');
  const id = textIn(entry, 'id');
  if (!/^[a-z][a-z\d-]*$/.test(id) || id.length > maxIdLength) throw new Error('its id is no id');
  const distribution = objectOf(entry.distribution, 'its distribution');
  const version = textIn(entry, 'version');
  const { npx, uvx, binary } = distribution;
  const all = {
    ...(npx !== undefined && { npx: packageIn(npx, 'npx', version) }),
    ...(uvx !== undefined && { uvx: packageIn(uvx, 'uvx', version) }),
    ...(binary !== undefined && targetsIn(objectOf(binary, 'its binary'))),
  };
  if (Object.keys(all).length === 0) throw new Error('it has nothing for Linux that can be installed');
  const license = optional(entry, 'license');
  const website = [optional(entry, 'website'), optional(entry, 'repository')].find(
    (each) => each !== undefined && isSecure(each),
  );
  return {
    id,
    name: printableLine(textIn(entry, 'name')),
    version,
    description: printableLine(textIn(entry, 'description')),
    ...(website !== undefined && { website }),
    ...(license !== undefined && { license }),
    ...all,
  };
}

function packageIn(value: unknown, kind: 'npx' | 'uvx', entryVersion: string): PackageDistribution {
  const distribution = objectOf(value, `its ${kind}`);
  const text = textIn(distribution, 'package');
  const [, name = '', asked = ''] =
    (kind === 'npx' ? /^(@?[^@]+)(?:@(.*))?$/ : /^([^@=<>~!]+)(?:@|==)?(.*)/s).exec(text) ?? [];
  // Whoever reviewed the entry has seen its own version, not what is newest by now.
  const version = asked === '' || asked === 'latest' ? entryVersion : asked;
  if (!(kind === 'npx' ? npmName : pythonName).test(name) || !exactVersion.test(version))
    throw new Error(`its ${kind} package is no name with an exact version`);
  const cmd = optional(distribution, 'cmd');
  if (cmd !== undefined && !programName.test(cmd)) throw new Error(`its ${kind} cmd is no program's name`);
  return { name, version, ...(cmd !== undefined && { cmd }), ...startIn(distribution) };
}

function targetsIn(binary: Json): Pick<RegistryEntry, 'binary'> {
  const targets = architectures.flatMap((architecture) => {
    const target = binary[`linux-${architecture}`];
    return target === undefined ? [] : [[architecture, targetIn(target)] as const];
  });
  return targets.length === 0 ? {} : { binary: Object.fromEntries(targets) };
}

function targetIn(value: unknown): ArchiveTarget {
  const target = objectOf(value, 'its target for Linux');
  const archive = textIn(target, 'archive');
  if (!isSecure(archive)) throw new Error('its archive has no https: URL');
  const sha256 = optional(target, 'sha256')?.toLowerCase();
  if (sha256 !== undefined && !/^[\da-f]{64}$/.test(sha256))
    throw new Error('its sha256 is not 64 hexadecimal digits');
  const cmd = textIn(target, 'cmd').replace(/^(\.\/)+/, '');
  const isInside = cmd.split('/').every((part) => /^[\w@+][\w.@+ -]*$/.test(part));
  if (!isInside) throw new Error('its cmd is no path inside the archive');
  return { archive, ...(sha256 !== undefined && { sha256 }), cmd, ...startIn(target) };
}

function startIn({ args = [], env = {} }: Json): Start {
  if (!Array.isArray(args) || args.length > maxArgs || !args.every(isText))
    throw new Error('its args are no list of texts');
  const variables = Object.entries(objectOf(env, 'its env'));
  for (const [name, value] of variables) {
    if (!/^[A-Za-z_]\w*$/.test(name) || !isText(value)) throw new Error('its env is no table of variables');
    if (forbiddenVariable.test(name))
      throw new Error(`its env sets ${name}, which is not the agent's to set`);
  }
  return { args, env: Object.fromEntries(variables) as Record<string, string> };
}

function objectOf(value: unknown, what: string): Json {
  if (!isObject(value)) throw new Error(`${what} is no object`);
  return value;
}

function textIn(object: Json, key: string): string {
  const value = object[key];
  if (!isText(value) || value === '') throw new Error(`its ${key} is no text`);
  return value;
}

function optional(object: Json, key: string): string | undefined {
  return object[key] === undefined || object[key] === null ? undefined : textIn(object, key);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxTextLength && !value.includes('\0');
}

function isSecure(url: string): boolean {
  return URL.canParse(url) && new URL(url).protocol === 'https:' && !/[\s\p{C}]/u.test(url);
}
