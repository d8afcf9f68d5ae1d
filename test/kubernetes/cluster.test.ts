/** That the cluster of `machine.sh` is what the other tests of this folder rely on. */
import { kubectl } from './kubectl';
import { Place } from './place';

const image = process.env.CAI_TEST_IMAGE ?? 'node:22-bookworm-slim';
const pushed = process.env.CAI_TEST_K8S_IMAGE ?? '';
const nodes = (process.env.CAI_TEST_K8S_NODES ?? '').split(' ');
const look = 'node --version; id -u; grep -E "^(CapBnd|NoNewPrivs|Seccomp):" /proc/self/status';

let place: Place;
beforeAll(async () => {
  place = await Place.make('cai-cluster');
});
afterAll(() => place.remove());

/** A pod that has as few rights as those of agents. */
function restrictedPod(node: string, image: string, imagePullPolicy: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'restricted' },
    spec: {
      nodeSelector: { 'kubernetes.io/hostname': node },
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'agent',
          image,
          imagePullPolicy,
          command: ['sh', '-c', look],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  };
}

test('the cluster has two nodes, which are ready', async () => {
  const told =
    '{range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}';

  const lines = (await kubectl(['get', 'nodes', '--output', `jsonpath=${told}`])).trim().split('\n');

  expect(nodes).toHaveLength(2);
  expect(lines).toEqual(nodes.map((node) => `${node} True`));
});

test.each([
  ...nodes.map((node) => ['an image that it has', node, image, 'Never'] as const),
  ...nodes.map((node) => ['an image of the registry', node, pushed, 'Always'] as const),
])(
  'a pod without rights and with %s runs on %s, its log can be read, and it can be deleted',
  async (_, node, image, policy) => {
    await place.create(restrictedPod(node, image, policy));
    try {
      const ended = await place.appears('pod', '{.spec.nodeName} {.status.phase}', / (Succeeded|Failed)$/);
      const log = await place.kubectl(['logs', 'restricted']);

      expect(ended).toBe(`${node} Succeeded`);
      expect(log).toMatch(/^v22\.\S+\n1000\nCapBnd:\t0+\nNoNewPrivs:\t1\nSeccomp:\t2\n$/);
    } finally {
      await place.kubectl(['delete', 'pod', 'restricted']);
    }

    expect(await place.kubectl(['get', 'pods', '--output', 'name'])).toBe('');
  },
);
