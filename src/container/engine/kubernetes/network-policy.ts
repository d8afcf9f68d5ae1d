/** The policies that keep pods of ours apart from everything; whether anything acts on them, `pod-network.ts` finds out. */
import { isDeepStrictEqual } from 'node:util';
import { quoted } from '../../../system/quoted';
import { hasAll, NoWall, type Labels } from '../engine';
import { unless } from './api/api-error';
import type { Namespace } from './namespace';

/** On pods that may reach a network. */
export const networkLabel = 'containai.network';
const apiVersion = 'networking.k8s.io/v1';
const ours = { key: 'containai.managed', operator: 'Exists' } as const;
const closed = { key: networkLabel, operator: 'DoesNotExist' } as const;

/** Source: Kubernetes API, `LabelSelector`. */
interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }[];
}

/** As far as it is used. Source: Kubernetes API, networking/v1. */
export interface NetworkPolicy {
  readonly metadata: { readonly name: string };
  /** Which pods it is for, and what those may do; without a rule: nothing. */
  readonly spec: {
    readonly podSelector?: Selector;
    readonly policyTypes?: readonly string[];
    readonly ingress?: readonly unknown[];
    readonly egress?: readonly unknown[];
  };
}

/** Nobody may enter a pod of ours, and those that are to have no network may enter nothing. `deploy/` has them as well. */
export const networkPolicies: readonly NetworkPolicy[] = [
  policy('containai-egress', { podSelector: { matchExpressions: [ours, closed] }, policyTypes: ['Egress'] }),
  policy('containai-ingress', { podSelector: { matchExpressions: [ours] }, policyTypes: ['Ingress'] }),
];

function policy(name: string, spec: NetworkPolicy['spec']): NetworkPolicy & object {
  return { ...{ apiVersion, kind: 'NetworkPolicy' }, metadata: { name }, spec };
}

export class NetworkPolicies {
  constructor(private readonly namespace: Namespace) {}

  /**
   * Makes and mends ours, if we may: else the administrator has, or the pod finds out. Rejects for a pod with these labels
   * to which another policy gives a network that it is not to have: what policies allow adds up.
   */
  async keep(labels: Labels): Promise<void> {
    const all = await this.#provide();
    if (labels[networkLabel] !== undefined) return;
    const opening = all.find(
      ({ spec: { egress = [], ingress = [], podSelector } }) =>
        egress.length + ingress.length > 0 && selects(podSelector, labels),
    );
    if (opening === undefined) return;
    const what = `the NetworkPolicy ${quoted(opening.metadata.name)} gives this pod a network that it is not to have`;
    throw new NoWall(
      `${what}: have the administrator except pods with the label ${ours.key} from it, or allow all of the network with network.egress = "open"`,
    );
  }

  /** Resolves with the policies as they are then; with none if we may not look. */
  async #provide(): Promise<readonly NetworkPolicy[]> {
    const { api } = this.namespace;
    const path = this.namespace.path('networkpolicies', undefined, `/apis/${apiVersion}`);
    const mayNot = unless(403);
    const listed = await api.list(path).catch(mayNot);
    if (listed === undefined) return [];
    const found = new Map(
      (listed.items as readonly NetworkPolicy[]).map((each) => [each.metadata.name, each]),
    );
    for (const wanted of networkPolicies) {
      const { name } = wanted.metadata;
      const there = found.get(name);
      if (there !== undefined && isDeepStrictEqual(rulesOf(there), rulesOf(wanted))) continue;
      // A patch adds to what is there, so that it has to take away what is too much.
      const podSelector = { matchLabels: null, ...wanted.spec.podSelector };
      const spec = { ...wanted.spec, podSelector, ingress: null, egress: null };
      const asked =
        there === undefined
          ? api.create(path, wanted).catch(unless(409))
          : api.patch(`${path}/${name}`, { spec });
      await asked.then(() => found.set(name, wanted), mayNot);
    }
    return [...found.values()];
  }
}

function rulesOf({ spec: { podSelector = {}, policyTypes, ingress = [], egress = [] } }: NetworkPolicy) {
  return { podSelector, policyTypes, ingress, egress };
}

/** Source: Kubernetes API, `LabelSelector`: an empty one selects all. */
function selects({ matchLabels = {}, matchExpressions = [] }: Selector = {}, labels: Labels): boolean {
  return (
    hasAll(matchLabels)({ labels }) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      return (value !== undefined && values.includes(value)) === (operator === 'In');
    })
  );
}
