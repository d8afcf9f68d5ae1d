/** Which rules about the network are in effect for a workspace, and where each comes from. */
import type { Config } from '../../config/config';
import { loadWorkspaceConfig, type Origin } from '../../config/effective-config';
import { placeOfUrl, placeText } from '../../config/host-rules';
import { ownValue } from '../../config/own-property';
import { serviceOf, type Decisions, type RuleKind, agentHosts, commonHosts } from '../../network';
import type { Host } from '../../system/host';

export interface RuleInEffect {
  readonly rule: string;
  /** What becomes of a connection to a place that it names. */
  readonly effect: RuleKind;
  readonly source: 'configuration' | 'repository' | 'decision' | 'agent' | 'common';
  /** `FILE:LINE`, or what a decision or a built-in list is about; for people. */
  readonly from: string;
}

export interface NetworkInEffect {
  readonly egress: Config['network']['egress'];
  /** Where that is set: `default`, or `FILE:LINE`. */
  readonly egressFrom: string;
  /** Ports of this machine that are reached, and where they are set. */
  readonly hostPorts: readonly number[];
  readonly hostPortsFrom: string;
  /** In the order in which they count: the first that names a place decides. None where everything is open. */
  readonly rules: readonly RuleInEffect[];
}

/** For the workspace at `root`, or without one, and the containers of an agent. Fails with `CaiError('CONFIG')`. */
export function networkInEffect(
  host: Host,
  root: string | undefined,
  agent: string,
  decided: Decisions,
): NetworkInEffect {
  const { config, origins } = loadWorkspaceConfig(host, root);
  const [all, own] = [origins(), loadWorkspaceConfig(host, undefined).origins()];
  const configured = (kind: RuleKind) =>
    configuredRules(kind, find(all, `network.${kind}`), find(own, `network.${kind}`));
  const { egress, hostPorts } = config.network;
  const rules = [
    ...configured('deny'),
    ...decisions('deny', decided),
    ...configured('allow'),
    ...decisions('allow', decided),
    ...builtInRules(agent),
    ...keyRules(config.credentials, all),
    ...registryRules(config.network.npmRegistry, find(all, 'network.npm_registry')),
    ...registryRules(config.network.pipIndex, find(all, 'network.pip_index')),
  ];
  return {
    egress,
    egressFrom: find(all, 'network.egress').from.join(' and '),
    hostPorts,
    hostPortsFrom: find(all, 'network.host_ports').from.join(' and '),
    rules: egress === 'open' ? [] : rules,
  };
}

function find(origins: readonly Origin[], key: string): Origin {
  return origins.find(({ name }) => name === key)!;
}

/** Hosts that get a key of the user's can be reached. */
function keyRules(credentials: Config['credentials'], origins: readonly Origin[]): RuleInEffect[] {
  return credentials.flatMap((credential, position) => {
    const { from } = find(origins, `credentials[${position}].for`);
    return serviceOf(credential).hosts.map((host): RuleInEffect => ({
      rule: `${host}:443`,
      effect: 'allow',
      source: 'configuration',
      from: from.join(' and '),
    }));
  });
}

/** A repository's rules are behind the user's in one list; the last place that it comes from is then that of its file. */
function configuredRules(effect: RuleKind, all: Origin, own: Origin): RuleInEffect[] {
  const [users, rules] = [own, all].map(({ value }) => (value ?? []) as readonly string[]);
  return rules!.map((rule) =>
    users!.includes(rule)
      ? { rule, effect, source: 'configuration', from: own.from.join(' and ') }
      : { rule, effect, source: 'repository', from: all.from.at(-1)! },
  );
}

function decisions(effect: RuleKind, decided: Decisions): RuleInEffect[] {
  return decided[effect].map((rule) => ({ rule, effect, source: 'decision', from: 'decided here' }));
}

function builtInRules(agent: string): RuleInEffect[] {
  const { hosts = [], signIn = [], telemetry = [] } = ownValue(agentHosts, agent) ?? {};
  const of = (what: string, effect: RuleKind, rules: readonly string[]): RuleInEffect[] =>
    rules.map((rule) => ({ rule, effect, source: 'agent', from: `built in: ${agent}, ${what}` }));
  return [
    ...of('telemetry', 'deny', telemetry),
    ...of('models', 'allow', hosts),
    ...of('sign-in', 'allow', signIn),
    ...commonHosts.map(({ rule, what }): RuleInEffect => ({
      rule,
      effect: 'allow',
      source: 'common',
      from: `built in: ${what}`,
    })),
  ];
}

/** The registry that the user's configuration names for npm can be reached like the usual one. */
function registryRules(url: string | undefined, { from }: Origin): RuleInEffect[] {
  const place = placeOfUrl(url ?? '');
  if (place === undefined) return [];
  return [{ rule: placeText(place), effect: 'allow', source: 'configuration', from: from.join(' and ') }];
}
