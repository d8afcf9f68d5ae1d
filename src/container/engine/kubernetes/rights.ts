/** What a cluster has to allow in the namespace. `deploy/` has a Role of exactly these; a test compares. */

/** Verbs on one kind of objects. */
export interface NeededRight {
  /** Its API group; empty: the core. */
  readonly group: string;
  /** Perhaps with a part of it: `pods/log`. */
  readonly resource: string;
  /** All that is asked for. */
  readonly verbs: readonly string[];
  /** What cannot be done without, as in "it cannot ..."; absent: `cai` works without it, in the way that is documented. */
  readonly for?: string;
}

/** The least with which all works. Kubernetes counts a stream to a pod as `get`, newer ones as `create`: 1.35 wants both. */
export const neededRights: readonly NeededRight[] = [
  {
    group: '',
    resource: 'pods',
    verbs: ['get', 'list', 'watch', 'create', 'delete'],
    for: 'make containers',
  },
  { group: '', resource: 'pods/portforward', verbs: ['get', 'create'], for: 'enter containers' },
  { group: '', resource: 'pods/exec', verbs: ['get', 'create'], for: 'count what runs in containers' },
  { group: '', resource: 'pods/log', verbs: ['get'], for: 'tell why a container has ended' },
  { group: '', resource: 'secrets', verbs: ['create', 'patch', 'delete'], for: 'put files into containers' },
  {
    group: '',
    resource: 'persistentvolumeclaims',
    verbs: ['list', 'create', 'delete'],
    for: "keep agents' data",
  },
  { group: 'networking.k8s.io', resource: 'networkpolicies', verbs: ['list', 'create', 'patch'] },
];
