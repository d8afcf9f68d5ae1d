/** `cai config`: what is in effect for a workspace, and where it comes from. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'smol-toml';
import type { Host } from '../../system/host';
import { checkWrittenPath } from '../../config/chosen-path';
import { loadWorkspaceConfig, type Origin } from '../../config/effective-config';
import { configFileOf, configKeys } from '../../config/config';
import { nameOf, readIfThere } from '../../config/config-reader';
import { nearest } from '../../config/nearest';
import { ownValue } from '../../config/own-property';
import { CaiError, messageOf } from '../../errors';
import { printable, quoted } from '../../system/quoted';
import { writing } from '../../system/unless';
import { findWorkspace } from '../../workspace/root';
import { runInteractive } from '../acp/agent-on-terminal';
import { common, declare, unknownWord } from '../support/command';
import { changeConfig, replaceConfig } from '../support/edit-config';
import { workspaceIfAny } from '../support/named-root';
import { confirm, table, tell, writeJson } from '../support/terminal';

type Settings = Readonly<Record<string, unknown>>;

const keyNames = configKeys.map(({ path }) => nameOf(path));

const words = ['list', 'get', 'set', 'unset', 'edit'];

interface Options {
  readonly workspace?: string;
  readonly json?: true;
}

/** Resolves with 0 when it is done; what is ignored goes to stderr. */
export const run = declare<Options>({
  name: 'config',
  description: `Shows every key of the configuration, its value, and where the value comes from; get shows one value. The
    others change your own file, in which comments stay; a value that cannot be changes nothing.`,
  arguments: [
    ['[word]', '"list" (default), "get", "set", "unset" or "edit"', words],
    ['[key]', 'such as network.egress; for all but list and edit'],
    ['[value]', 'for set: as TOML has it; a text also without quotes'],
  ],
  options: [common.workspace, common.json],
  footer: `
edit opens the file in the program that VISUAL or EDITOR names, or vi.

JSON of list: workspace (null: none), keys: each with name, value (null: none), from ("default", FILE:LINE, or a variable);
notices: sentences. JSON of get: the value.`,
  action: async (options, host, [word = 'list', key, value]) => {
    const isAlone = word === 'list' || word === 'edit';
    if (isAlone ? key !== undefined : key === undefined || (word === 'set') !== (value !== undefined))
      throw new CaiError('USAGE', 'it is "get KEY", "set KEY VALUE", "unset KEY", "edit" or nothing');
    if (word === 'list') return await show(options, host);
    if (word === 'get') return await get(key!, options, host);
    if (word === 'set') return set(key!, value!, host);
    if (word === 'unset') return unset(key!, host);
    if (word === 'edit') return await edit(host);
    throw unknownWord('config', word, words);
  },
});

async function get(key: string, options: Options, host: Host): Promise<number> {
  const found = (await originsFor(options, host)).origins.find(({ name }) => name === key);
  if (found === undefined) throw unknownKey(key);
  const value = masked(found.value) ?? null;
  if (options.json === true) writeJson(value);
  else if (value !== null) {
    // A repository may have chosen it.
    const isPlain = typeof value === 'string' && printable(value) === value;
    process.stdout.write(`${isPlain ? value : quoted(value)}\n`);
  }
  return 0;
}

function unknownKey(key: string): CaiError {
  const meant = nearest(key, keyNames);
  const hint = meant === undefined ? 'see "cai config"' : `did you mean ${meant}?`;
  return new CaiError('USAGE', `${quoted(key)} is no key of the configuration: ${hint}`);
}

function set(key: string, text: string, host: Host): number {
  const path = pathOf(key);
  const [first, ...others] = readings(text).map(
    (value) => (settings: Settings) => withValue(settings, path, value),
  );
  changeConfig(host, first!, ...others);
  tell(`${key} is set in ${configFileOf(host)}`);
  return 0;
}

function unset(key: string, host: Host): number {
  const path = pathOf(key);
  const isChanged = changeConfig(host, (settings) => {
    const after = withValue(settings, path, undefined);
    return JSON.stringify(after) === JSON.stringify(settings) ? settings : after;
  });
  tell(`${key} is ${isChanged ? 'no longer' : 'not'} in ${configFileOf(host)}`);
  return 0;
}

/** The names that lead to a key, which may be quoted as in TOML. */
function pathOf(key: string): readonly string[] {
  try {
    const path: string[] = [];
    for (let at: unknown = parse(`${key} = 0`); typeof at === 'object';) {
      const [[name, inner] = ['', undefined]] = Object.entries(at!);
      path.push(name);
      at = inner;
    }
    return path;
  } catch {
    throw unknownKey(key);
  }
}

/** What may be meant: a value of TOML, or the text. */
function readings(text: string): unknown[] {
  try {
    return [parse(`value = ${text}`).value, text];
  } catch {
    return [text];
  }
}

/** A table with a value at the end of the path; `undefined`: without it, and without the tables that only led to it. */
function withValue(table: Settings, [name = '', ...rest]: readonly string[], value: unknown): Settings {
  const inner = (ownValue(table, name) ?? {}) as Settings;
  const after = rest.length === 0 ? value : withValue(inner, rest, value);
  const { [name]: _, ...others } = table;
  const isEmpty = after === undefined || (value === undefined && Object.keys(after as object).length === 0);
  return isEmpty ? others : { ...table, [name]: after };
}

/** Has the person edit a draft until it can be the configuration, or they give up. */
async function edit(host: Host): Promise<number> {
  const file = configFileOf(host);
  // Before somebody has edited it for nothing.
  checkWrittenPath(host, file, 'change it by hand');
  const folder = writing(tmpdir(), () => mkdtempSync(join(tmpdir(), 'cai-config-')));
  try {
    const draft = join(folder, 'config.toml');
    let before = readIfThere(file);
    writeFileSync(draft, before);
    const editor = host.env.VISUAL ?? host.env.EDITOR ?? 'vi';
    for (;;) {
      const command = ['sh', '-c', `${editor} "$1"`, 'sh', draft] as const;
      const remedy = 'name an editor that is there by VISUAL';
      const status = await runInteractive({ name: editor, command, remedy }, host.env);
      const text = readFileSync(draft, 'utf8');
      if (status !== 0 || text === before) {
        tell(`${file} stays as it is${status === 0 ? '' : `: the editor ended with status ${status}`}`);
        return status;
      }
      try {
        if (replaceConfig(host, text, before)) return 0;
        // What is saved next is in its place.
        before = readIfThere(file);
        const now = join(folder, 'config-now.toml');
        writeFileSync(now, before);
        throw new CaiError('CONFIG', `${file} has changed meanwhile, and stays so: it is now as ${now}`);
      } catch (reason) {
        const what = messageOf(reason);
        if (!(await confirm(`${printable(what)}\nEdit it again?`, what))) return 2;
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function show(options: Options, host: Host): Promise<number> {
  const { root, origins, notices } = await originsFor(options, host);
  if (options.json === true) {
    const keys = origins.map(({ name, value, from }) => ({ name, value: masked(value) ?? null, from }));
    writeJson({ workspace: root ?? null, keys, notices });
  } else {
    process.stdout.write(table([head, ...origins.map(rowOf)], head));
    notices.forEach(tell);
  }
  return 0;
}

/** Every key, for the workspace that is meant. */
async function originsFor({ workspace }: Options, host: Host) {
  // Where the current folder can be no workspace, the user's file alone counts.
  const found =
    workspace === undefined
      ? await workspaceIfAny('.', host)
      : await findWorkspace(resolve(workspace), { host });
  const loaded = loadWorkspaceConfig(host, found?.root);
  const { origins: originsInOrder, devcontainer, devcontainerNotices } = loaded;
  const notices = [...loaded.notices, ...devcontainerNotices, ...(devcontainer?.trusted?.ignored ?? [])];
  // What is of one agent, or of one mount, stands together.
  const tables = new Map<string, Origin[]>();
  for (const origin of originsInOrder()) {
    const name = origin.name.replace(/\.[^.]*$/, '');
    tables.set(name, [...(tables.get(name) ?? []), origin]);
  }
  return { root: found?.root, origins: [...tables.values()].flat(), notices };
}

const head = ['KEY', 'VALUE', 'FROM'];

function rowOf({ name, value, from }: Origin): string[] {
  return [name, value === undefined ? '-' : quoted(masked(value)), from.join(' and ')];
}

/** Addresses of proxies can hold a password. */
function masked(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/(?<=:\/\/)[^/]*@/, '***@') : value;
}
