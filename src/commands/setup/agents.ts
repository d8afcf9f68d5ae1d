/** `cai agents`: lists the agents that can be named, and updates the list of the ACP registry. */
import { agentNameOf, aliases, catalog, installationFor, resolveAgent } from '../../agent/catalog';
import { findEntry, readRegistry } from '../../agent/registry/acp-registry';
import { updateRegistry } from '../../agent/registry/update';
import { loadConfig, type Config } from '../../config/config';
import { ownValue } from '../../config/own-property';
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { commandWord, printableLine, quoted } from '../../system/quoted';
import { declare, unknownWord } from '../support/command';
import { table, tell, writeJson } from '../support/terminal';

interface Options {
  readonly json?: true;
}

interface Scene {
  readonly host: Host;
  readonly config: Config;
  readonly isJson: boolean;
}

interface Known {
  /** What follows `cai --acp`. */
  readonly id: string;
  readonly name: string;
  readonly version: string | null;
  readonly description: string | null;
  /** Who says how it is started. */
  readonly source: 'cai' | 'configuration' | 'registry';
  /** What an image gets, for people; `null`: nothing. */
  readonly installs: string | null;
  readonly command: readonly string[];
  /** Other ids of it in the registry. */
  readonly aliases: readonly string[];
  readonly website: string | null;
  readonly license: string | null;
}

/** What can be said after `cai agents`; each resolves with the exit status. */
const words: Readonly<Record<string, (scene: Scene, rest: readonly string[]) => number | Promise<number>>> = {
  list: (scene) => list(scene, []),
  search: list,
  show,
  update,
};

export const run = declare<Options>({
  name: 'agents',
  description: `Lists the agents that "cai --acp" takes: agents that cai knows itself, agents of your configuration, and agents
of the ACP registry, as they came with cai or with the last "cai agents update".`,
  arguments: [
    ['[word]', '"list" (default), "search", "show" or "update"', Object.keys(words)],
    ['[rest...]', 'for search: what to look for, all of it; for show: an agent'],
  ],
  options: [['--json', 'as JSON']],
  footer: `
An agent of the registry is installed into its own image when it is first started, in the version that the list
names. You are asked which hosts it may reach.

JSON of list and search: takenAt of the registry's list, agents: each with id, name, version, description, source
("cai", "configuration" or "registry"), installs, command, aliases, website and license; dropped: what cannot be used of
the list, each with id and reason. JSON of show: one such agent. JSON of update: takenAt, count, added, changed, removed
and dropped.`,
  action: async (options, host, [word = 'list', ...rest]) => {
    const act = ownValue(words, word);
    if (act === undefined) throw unknownWord('agents', word, Object.keys(words));
    const most = { search: Infinity, show: 1 }[word] ?? 0;
    if (rest.length > most || (most > 0 && rest.length === 0))
      throw new CaiError('USAGE', usageOf[word] ?? `"cai agents ${word}" takes nothing more: leave it out`);
    return await act({ host, config: loadConfig(host), isJson: options.json === true }, rest);
  },
});

const usageOf: Readonly<Record<string, string>> = {
  search: 'name a word, such as: cai agents search codex',
  show: 'name one agent, such as: cai agents show claude',
};

function list({ host, config, isJson }: Scene, wanted: readonly string[]): number {
  const { entries, dropped, takenAt, fault } = readRegistry(host);
  const own = [...Object.keys(catalog), ...Object.keys(config.agents)];
  const ids = new Set([...own, ...entries.map(({ id }) => agentNameOf(id, config.agents))]);
  const agents = [...ids].map((id) => knownOf(id, host, config)).filter((each) => fits(each, wanted));
  if (isJson) writeJson({ takenAt, agents, dropped });
  else {
    const head = ['AGENT', 'NAME', 'VERSION', 'FROM', 'DESCRIPTION'];
    const rows = agents.map(({ id, name, version, source, description }) => {
      return [id, name, version ?? '-', from[source], description ?? '-'];
    });
    if (rows.length > 0) process.stdout.write(table([head, ...rows], ['NAME', 'DESCRIPTION']));
  }
  if (fault !== undefined) tell(fault);
  if (agents.length === 0)
    tell('no agent matches: "cai agents" lists all, "cai agents update" fetches newer ones');
  return 0;
}

const from: Readonly<Record<Known['source'], string>> = {
  cai: 'cai',
  configuration: 'config.toml',
  registry: 'registry',
};

function fits({ id, name, description, aliases: others }: Known, wanted: readonly string[]): boolean {
  const text = [id, name, description, ...others].join('\n').toLowerCase();
  return wanted.every((word) => text.includes(word.toLowerCase()));
}

function show({ host, config, isJson }: Scene, [named]: readonly string[]): number {
  // If no agent has that name, the error lists the agents.
  const { name: id } = resolveAgent(named!, [], { agents: config.agents, host });
  const agent = knownOf(id, host, config);
  if (isJson) {
    writeJson(agent);
    return 0;
  }
  const { name, version, description, source, installs, command, website, license } = agent;
  const rows: readonly (readonly [string, string | null])[] = [
    ['name', name],
    ['version', version],
    ['what it is', description],
    ['from', from[source]],
    ['installed', installs],
    [
      'started by',
      command.map((part) => (/^[\w@%+=:,./-]+$/.test(part) ? part : commandWord(part))).join(' '),
    ],
    ['also', agent.aliases.length === 0 ? null : agent.aliases.join(', ')],
    ['license', license],
    ['more', website],
    ['use', `cai --acp ${id}`],
  ];
  for (const [what, text] of rows)
    if (text !== null) process.stdout.write(`${what.padEnd(12)}${printableLine(text)}\n`);
  return 0;
}

async function update({ host, config, isJson }: Scene): Promise<number> {
  const { dropped, ...done } = await updateRegistry(host, config.network);
  if (isJson) writeJson({ ...done, dropped });
  else {
    const { count, added, changed, removed } = done;
    const told = Object.entries({ new: added, changed, gone: removed }).map(([what, ids]) => {
      return `${ids.length} ${what}${ids.length === 0 ? '' : ` (${ids.join(', ')})`}`;
    });
    process.stdout.write(`The registry has ${count} agents: ${told.join(', ')}.\n`);
  }
  for (const { id, reason } of dropped) tell(`${quoted(id)} of the registry cannot be used: ${reason}`);
  return 0;
}

function knownOf(id: string, host: Host, config: Config): Known {
  const configured = ownValue(config.agents, id);
  const ours = ownValue(catalog, id);
  const installation = installationFor(id, config.agents, host);
  const entry = installation && findEntry(host, id);
  const { displayName, command } = resolveAgent(id, [], { agents: config.agents, host });
  const packages = configured?.packages ?? ours?.packages ?? [];
  const installs = packages.length > 0 ? `${packages.join(' ')} (npm)` : (installation?.what ?? null);
  return {
    id,
    name: displayName,
    version: entry?.version ?? /(?<=.@)[^@/]*$/.exec(packages[0] ?? '')?.[0] ?? null,
    description: entry?.description ?? null,
    source: configured !== undefined ? 'configuration' : ours === undefined ? 'registry' : 'cai',
    installs,
    command,
    aliases: Object.keys(aliases).filter((alias) => agentNameOf(alias, config.agents) === id && alias !== id),
    website: entry?.website ?? null,
    license: entry?.license ?? null,
  };
}
