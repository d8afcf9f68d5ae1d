/**
 * What an image says of the containers that are made from it: its base, its features and the devcontainer.json each have
 * a say. Source: Development Containers, "Image Metadata".
 */
import { isObject, refuseDeep, textOf, wordOf, type Json, type JsonObject } from './json';
import { substitute, type VariableValues } from './substitute';
import { unlessFails } from '../../system/unless';

export const metadataLabel = 'devcontainer.metadata';

/** In the order in which they run. The last runs at each start of a container, the others once in each container. */
export const hookNames = [
  'onCreateCommand',
  'updateContentCommand',
  'postCreateCommand',
  'postStartCommand',
] as const;

export type HookName = (typeof hookNames)[number];

/** What is run at one time: all these at once. */
export interface Hook {
  readonly name: HookName;
  /** Program and arguments of each; with a name where the file gives one. */
  readonly commands: readonly { readonly name: string; readonly argv: readonly [string, ...string[]] }[];
}

export interface Metadata {
  readonly user: string | undefined;
  readonly hooks: readonly Hook[];
  /** In the container. */
  readonly ports: readonly number[];
  /** What is not a port of the container: `db:5432`. */
  readonly otherPorts: readonly string[];
  /** What each says, in their order. */
  readonly entries: readonly JsonObject[];
}

/** A label that is no metadata says nothing. `services`: names of those that share the network of the container. */
export function metadataOf(label = '[]', services: readonly string[] = []): Metadata {
  const value = unlessFails(() => valueIn(label)) ?? [];
  const entries = [value].flat().filter(isObject);
  const last = (key: string) => entries.map((entry) => textOf(entry[key])).findLast(Boolean);
  const ports = [...new Set(entries.flatMap(({ forwardPorts = [] }) => [forwardPorts].flat()))];
  const inside = (port: Json) => numberOf(port, ['localhost', '127.0.0.1', ...services]);
  return {
    user: last('remoteUser') ?? last('containerUser'),
    hooks: hookNames.flatMap((name) => entries.flatMap((entry) => hookIn(name, entry[name]))),
    ports: [...new Set(ports.flatMap((port) => inside(port) ?? []))],
    otherPorts: ports.flatMap((port) => (inside(port) === undefined ? (wordOf(port) ?? []) : [])),
    entries,
  };
}

function valueIn(label: string): Json {
  refuseDeep(label, metadataLabel);
  return JSON.parse(label) as Json;
}

/**
 * The variables that commands have besides those of the container, `inside`, in order; `undefined` as a value takes one
 * away.
 */
export function variablesOf(
  { entries }: Metadata,
  inside: Readonly<Record<string, string>>,
  values: Required<Pick<VariableValues, 'localFolder' | 'localEnv' | 'containerFolder'>>,
): [name: string, value: string | undefined][] {
  const found = (key: string, containerEnv: Readonly<Record<string, string>>) =>
    entries
      .map((entry) => entry[key])
      .filter(isObject)
      .flatMap((own) => Object.entries(substitute(own, { ...values, containerEnv })))
      .filter(([name]) => /^[^=\0]+$/.test(name))
      .map(([name, value]): [string, string | undefined] => [name, wordOf(value)]);
  const set = found('containerEnv', inside).filter((each): each is [string, string] => each[1] !== undefined);
  return [...set, ...found('remoteEnv', { ...inside, ...Object.fromEntries(set) })];
}

/** Source: Development Containers, "Formatting string vs. array properties". */
function hookIn(name: HookName, value: Json | undefined): Hook[] {
  const named = isObject(value) ? Object.entries(value) : [['', value] as const];
  const commands = named.flatMap(([of, each]) => {
    const argv = argvOf(each);
    return argv === undefined ? [] : [{ name: of, argv }];
  });
  return commands.length === 0 ? [] : [{ name, commands }];
}

function argvOf(value: Json | undefined): [string, ...string[]] | undefined {
  const text = textOf(value);
  if (text !== undefined) return ['/bin/sh', '-c', text];
  if (!Array.isArray(value)) return undefined;
  const [program, ...rest] = (value as readonly Json[]).map((each) => wordOf(each) ?? '');
  return program === undefined || program === '' ? undefined : [program, ...rest];
}

function numberOf(port: Json, hosts: readonly string[]): number | undefined {
  const [, host, digits = ''] = /^(?:([^:]+):)?(\d{1,5})$/.exec(wordOf(port) ?? '') ?? [];
  const number = Number(digits);
  const isOurs = host === undefined || hosts.includes(host);
  return isOurs && number >= 1 && number <= 65_535 ? number : undefined;
}
