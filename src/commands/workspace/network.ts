/** `cai network`: which hosts the containers of a workspace reach, what is decided about that, and what was asked for. */
import { resolve } from 'node:path';
import { loadWorkspaceConfig } from '../../config/effective-config';
import { names, normalHost, parseRule, type HostRule } from '../../config/host-rules';
import { ownValue } from '../../config/own-property';
import {
  keepDecision,
  decisionsOf,
  forgetDecision,
  readLog,
  type NetworkEntry,
  type RuleKind,
} from '../../network';
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { quoted } from '../../system/quoted';
import { readState } from '../../system/state-folder';
import { findWorkspace } from '../../workspace/root';
import { chosenAgent } from '../containers/target';
import { common, declare, unknownWord, type Offer } from '../support/command';
import { workspaceIfAny } from '../support/named-root';
import { shownTime, table, tell, writeJson } from '../support/terminal';
import { networkInEffect, type NetworkInEffect, type RuleInEffect } from './network-rules';

interface Options {
  /** A folder in the workspace; `false`: none. */
  readonly workspace?: string | false;
  readonly agent?: string;
  readonly json?: true;
}

interface Scene {
  readonly host: Host;
  readonly state: string;
  readonly root: string | undefined;
  readonly options: Options;
}

/** What can be said after `cai network`; each resolves with the exit status. */
const words: Readonly<Record<string, (scene: Scene, rules: readonly string[]) => number>> = {
  list: (scene) => list(scene),
  allow: (scene, rules) => decideAll('allow', scene, rules),
  deny: (scene, rules) => decideAll('deny', scene, rules),
  forget,
  log: (scene) => showLog(scene),
};
const withRules = ['allow', 'deny', 'forget'];

/** Writes to stdout; resolves with 0, or with 1 if there was nothing to forget. */
export const run = declare<Options>({
  name: 'network',
  description: `Shows which hosts the containers of a workspace reach, and changes that for this workspace. It is kept in your
state folder, never in the workspace. Running agents notice it at their next connection.`,
  arguments: [
    [
      '[word]',
      '"list" (default), "allow", "deny", "forget", or "log": what was asked for',
      Object.keys(words),
    ],
    ['[rule...]', 'for allow, deny and forget: see below'],
  ],
  offers: async ([word], options, host) => {
    const root = await rootOf(options, false, host);
    const { state } = host.folders;
    if (word === 'allow') return refusedIn(readLog(state, root));
    const { allow, deny } = word === 'forget' ? decisionsOf(state, root) : { allow: [], deny: [] };
    return [...allow.map((rule): Offer => [rule, 'allowed']), ...deny.map((rule): Offer => [rule, 'denied'])];
  },
  options: [
    common.workspace,
    ['--no-workspace', 'what runs without a workspace'],
    ['-a, --agent <name>', 'for the list: of which agent (default: "agent.default" in the configuration)'],
    ['--json', 'list or log as JSON'],
  ],
  footer: `
Rules:
  example.com            this host; with "allow" its ports 80 and 443, with "deny" all
  example.com:8443       one port; with :* all ports
  *.example.com          every host below it, but not itself
  *                      every host
  10.0.0.7, [fd00::7]    an address; private ones are reached only if a rule names them so
  10.0.0.0/8:5432        a range of addresses

JSON of list: workspace (null: none), agent, egress, egressFrom, hostPorts, rules: each with rule, effect ("allow" or
"deny"), source ("configuration", "repository", "decision", "agent" or "common") and from; faults: sentences.
JSON of log: workspace, entries: each with at, agent, place, outcome ("allowed", and then "connected" or "failed"; "refused";
or "ended": it was open, and then no longer allowed) and because.`,
  action: async (options, host, [word = 'list', ...rules]) => {
    const act = ownValue(words, word);
    if (act === undefined)
      throw unknownWord('network', word, Object.keys(words), parseRule(word) && `allow ${word}`);
    if (!withRules.includes(word) && rules.length > 0)
      throw new CaiError(
        'USAGE',
        `"cai network ${word}" takes no rule: leave out ${rules.map(quoted).join(' ')}`,
      );
    if (withRules.includes(word) && rules.length === 0)
      throw new CaiError('USAGE', `name a rule, such as: cai network ${word} example.com`);
    if (withRules.includes(word) && options.json === true)
      throw new CaiError('USAGE', `--json is for list and log: leave it out of "cai network ${word}"`);
    const root = await rootOf(options, word === 'list', host);
    return act({ host, state: host.folders.state, root, options }, rules);
  },
});

/** Where the current folder can be no workspace, the list is that of what runs without one; nothing is changed there. */
async function rootOf(
  { workspace }: Options,
  isOnlyLookedAt: boolean,
  host: Host,
): Promise<string | undefined> {
  if (workspace === false) return undefined;
  if (workspace === undefined && isOnlyLookedAt) return (await workspaceIfAny('.', host))?.root;
  return (await findWorkspace(resolve(workspace ?? '.'), { host })).root;
}

const modes: Readonly<Record<NetworkInEffect['egress'], string>> = {
  ask: 'you are asked about a host that no rule names',
  listed: 'a host that no rule names is refused',
  open: "containers have the engine's network, and no rule counts",
};

function list({ host, state, root, options }: Scene): number {
  const agent = chosenAgent(options.agent, loadWorkspaceConfig(host, root).config, host, root).name;
  const decided = decisionsOf(state, root);
  const { egress, egressFrom, hostPorts, hostPortsFrom, rules } = networkInEffect(host, root, agent, decided);
  const faults = decided.fault === undefined ? [] : [decided.fault];
  if (options.json === true) {
    const value = { workspace: root ?? null, agent, egress, egressFrom, hostPorts, rules, faults };
    writeJson(value);
    return 0;
  }
  process.stdout.write(`egress = "${egress}" (${egressFrom}): ${modes[egress]}\n`);
  if (hostPorts.length > 0)
    process.stdout.write(
      `host_ports = [${hostPorts.join(', ')}] (${hostPortsFrom}): ports of this machine that containers reach\n`,
    );
  if (rules.length > 0) {
    const rows = rules.map(({ rule, effect, from }) => [effect, rule, from]);
    process.stdout.write(`The first rule that names a host decides, ${whose(root)}, agent ${agent}:\n`);
    process.stdout.write(table([['EFFECT', 'RULE', 'FROM'], ...rows], ['RULE', 'FROM']));
  }
  faults.forEach(tell);
  return 0;
}

function decideAll(kind: RuleKind, { host, state, root }: Scene, texts: readonly string[]): number {
  // All are looked at before one is kept.
  const rules = texts.map(ruleOf);
  for (const { text } of rules) keepDecision(state, root, kind, text);
  const done = kind === 'allow' ? 'Allowed' : 'Denied';
  process.stdout.write(`${done}, ${whose(root)}: ${rules.map(({ text }) => text).join(' ')}\n`);
  const inEffect = networkInEffect(host, root, '', decisionsOf(state, root));
  if (inEffect.egress === 'open')
    tell(`${inEffect.egressFrom}: "network.egress" is "open", so no rule counts`);
  if (kind === 'allow')
    for (const rule of rules)
      for (const stronger of inEffect.rules.filter((each) => refuses(each, rule)))
        tell(
          `${quoted(rule.text)} stays refused by ${quoted(stronger.rule)}, as deny comes first: ${undo(stronger)}`,
        );
  return 0;
}

/** Whether a rule denies something of what another allows, and is not below it. */
function refuses({ rule, effect }: RuleInEffect, allowed: HostRule): boolean {
  const denied = effect === 'deny' ? parseRule(rule) : undefined;
  if (denied === undefined) return false;
  const ports =
    allowed.port === 'any'
      ? [denied.port ?? 443].map((port) => (port === 'any' ? 443 : port))
      : [allowed.port ?? [80, 443]].flat();
  const host = exampleOf(allowed);
  return ports.some((port) => names(denied, { host, port }, 'any'));
}

/** A host that a rule names. */
function exampleOf({ text, name, isWide, addresses }: HostRule): string {
  if (addresses !== undefined)
    return text.startsWith('[') ? text.slice(1).split(/[\]/]/)[0]! : text.split(/[/:]/)[0]!;
  return isWide ? `example.${name}`.replace(/\.$/, '') : name;
}

function undo({ source, rule, from }: RuleInEffect): string {
  return source === 'decision' ? `cai network forget ${quoted(rule)}` : `remove it from ${from}`;
}

function forget({ host, state, root }: Scene, rules: readonly string[]): number {
  let status = 0;
  for (const text of rules) {
    const rule = text.toLowerCase();
    if (forgetDecision(state, root, text) || forgetDecision(state, root, rule)) {
      process.stdout.write(`Forgotten, ${whose(root)}: ${text}\n`);
      continue;
    }
    status = 1;
    const { rules: known } = networkInEffect(host, root, '', decisionsOf(state, root));
    const found = known.find((each) => each.rule === rule);
    const why = found === undefined ? 'see "cai network"' : otherWay(found);
    tell(`nothing is decided by ${quoted(text)}: ${why}`);
  }
  return status;
}

/** What to do about a rule that is not the user's decision. */
function otherWay({ source, effect, rule, from }: RuleInEffect): string {
  const isBuiltIn = source === 'agent' || source === 'common';
  if (!isBuiltIn) return `it comes from ${from}`;
  return `it is ${from}; to overrule it: cai network ${effect === 'allow' ? 'deny' : 'allow'} ${quoted(rule)}`;
}

/** Names are kept in lower case, so that each is there once. Fails with `CaiError('USAGE')`. */
function ruleOf(text: string): HostRule {
  const rule = parseRule(text.toLowerCase());
  const why = rule === undefined ? faultOf(text) : misleading(rule);
  if (rule !== undefined && why === undefined) return rule;
  const example = 'such as "example.com", "*.example.com:443" or "10.0.0.0/8"';
  throw new CaiError(
    'USAGE',
    `${quoted(text)} is no rule: ${why ?? 'it names no host'}; write a host or an address, ${example}`,
  );
}

/** A host that everybody who connects takes for another one: such a rule would never count. */
function misleading({ name, isWide, addresses }: HostRule): string | undefined {
  if (addresses !== undefined || isWide) return undefined;
  const meant = normalHost(name);
  return meant === undefined || meant === name ? undefined : `this host is written ${quoted(meant)}`;
}

function faultOf(text: string): string {
  const [, port] = /:(\d+)$/.exec(text) ?? [];
  if (text.includes('://')) return 'it is a URL';
  if (/\s/.test(text) || text === '') return 'it is empty or has spaces';
  if (port !== undefined && !text.includes('::') && (Number(port) < 1 || Number(port) > 65_535))
    return `a port is a number from 1 to 65535, or "*"`;
  if ((text.match(/:/g)?.length ?? 0) > 1 && !text.startsWith('['))
    return 'an IPv6 address has to be in brackets, as [fd00::7]';
  if (text.includes('*')) return 'a "*" stands alone, before a name as "*.", or for all ports as ":*"';
  if (/^\[?[\da-f:.]+\/\d+\]?(:\d+)?$/i.test(text)) return 'a range has at most /32, and /128 with IPv6';
  if (text.includes('/')) return 'a path cannot be part of it';
  const ascii = normalHost(text.replace(/:\d+$/, ''));
  if (ascii !== undefined && ascii !== text.toLowerCase()) return `this host is written ${quoted(ascii)}`;
  return 'it names no host';
}

function showLog({ state, root, options }: Scene): number {
  const entries = readState(state, 'network', () => readLog(state, root));
  if (options.json === true) {
    writeJson({ workspace: root ?? null, entries });
    return 0;
  }
  if (entries.length === 0) {
    process.stdout.write(`Nothing has been asked for, ${whose(root)}.\n`);
    return 0;
  }
  const rows = entries.map(({ at, agent, place, outcome, because }) => [
    shownTime(at),
    ...[agent, outcome, place, because],
  ]);
  process.stdout.write(
    table([['TIME', 'AGENT', 'OUTCOME', 'HOST', 'BECAUSE'], ...rows], ['HOST', 'BECAUSE']),
  );
  return 0;
}

/** Places that were refused when they were last asked for, the latest first. */
function refusedIn(entries: readonly NetworkEntry[]): Offer[] {
  const latest = [...entries].reverse();
  return latest
    .filter(({ place }, index) => latest.findIndex((each) => each.place === place) === index)
    .filter(({ place, outcome }) => outcome === 'refused' && parseRule(place) !== undefined)
    .map(({ place, agent, at }) => [place, `refused to ${agent}, ${at}`]);
}

function whose(root: string | undefined): string {
  return root === undefined ? 'without a workspace' : `in ${quoted(root)}`;
}
