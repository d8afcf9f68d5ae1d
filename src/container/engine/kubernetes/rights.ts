/** What a cluster has to allow in the namespace, and what of it we have. */
import type { Allowances } from '../engine';
import type { MissingRight, QuotaUse } from '../engine-info';
import { unless } from './api/api-error';
import type { Namespace } from './namespace';

/** The same verbs on some kinds of objects. */
interface NeededRight {
  /** Their API group; empty: the core. */
  readonly group: string;
  /** Perhaps a part of them: `pods/log`. */
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** What follows if one is missing, as in "without it, ...". */
  readonly without: string;
  readonly isOptional?: true;
}

/** The least with which all works. `deploy/` has a Role of exactly these; a test compares. */
export const neededRights: readonly NeededRight[] = [
  {
    group: '',
    resources: ['pods'],
    verbs: ['get', 'list', 'watch', 'create', 'delete'],
    without: 'there are no containers',
  },
  {
    group: '',
    resources: ['pods/portforward', 'pods/exec'],
    verbs: ['get'],
    without: 'nobody can enter a container, or see what runs in it',
  },
  {
    group: '',
    resources: ['pods/portforward', 'pods/exec'],
    verbs: ['create'],
    without: 'the same follows where the cluster is Kubernetes 1.35 or newer',
    isOptional: true,
  },
  {
    group: '',
    resources: ['pods/log'],
    verbs: ['get'],
    without: 'nobody can tell why a container has ended',
  },
  {
    group: '',
    resources: ['events'],
    verbs: ['list'],
    without: 'a container that does not get its volumes is waited for in vain, for 15 minutes',
    isOptional: true,
  },
  {
    group: '',
    resources: ['secrets'],
    verbs: ['create'],
    without: 'no files can be put into containers',
  },
  {
    group: '',
    resources: ['persistentvolumeclaims'],
    verbs: ['list', 'create', 'delete'],
    without: 'agents cannot keep data, or it cannot be removed',
  },
  {
    group: 'networking.k8s.io',
    resources: ['networkpolicies'],
    verbs: ['list', 'create', 'patch'],
    without: 'the administrator has to keep the policies of deploy/ as they are',
    isOptional: true,
  },
];

/** What we may do in one namespace. */
export function allowancesOf(namespace: Namespace): Allowances {
  return {
    missingRights: () => namespace.ask('tell your rights', () => missingRights(namespace)),
    quotas: () => namespace.ask('list the quotas', () => quotas(namespace)),
  };
}

async function missingRights({ api }: Namespace): Promise<readonly MissingRight[]> {
  const { namespace } = api.cluster;
  const each = neededRights.flatMap(({ group, resources, verbs, ...rest }) =>
    resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb, ...rest }))),
  );
  const asked = each.map(async ({ group, resource: whole, verb, without, isOptional = false }) => {
    const [resource, subresource] = whole.split('/');
    const resourceAttributes = { namespace, verb, group, resource, ...(subresource && { subresource }) };
    const said = (await api.create('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    })) as { readonly status: { readonly allowed: boolean } };
    return said.status.allowed ? [] : [{ right: `"${verb}" on ${whole}`, without, isOptional }];
  });
  return (await Promise.all(asked)).flat();
}

type Quantities = Readonly<Record<string, string>>;

interface Quota {
  readonly status?: { readonly hard?: Quantities; readonly used?: Quantities };
}

/** Rights to see quotas are no needed ones: without them nothing is told. */
async function quotas(namespace: Namespace): Promise<readonly QuotaUse[]> {
  const listed = await namespace.api.list(namespace.path('resourcequotas')).catch(unless(403));
  return ((listed?.items ?? []) as readonly Quota[]).flatMap(({ status: { hard = {}, used = {} } = {} }) =>
    Object.entries(hard).map(([what, limit]) => {
      const now = used[what] ?? '0';
      return { what, used: now, limit, isUsedUp: quantity(now) >= quantity(limit) };
    }),
  );
}

const units: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
  n: 1e-9,
  u: 1e-6,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
};

/** The number that the server means; `NaN` for what it never writes. Source: Kubernetes, resource.Quantity. */
export function quantity(text: string): number {
  const [, amount = '', unit = ''] = /^(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  return amount === '' ? NaN : Number(amount) * (units[unit] ?? NaN);
}
