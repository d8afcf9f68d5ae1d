/** That the cluster of `machine.sh` is what the other tests of this folder rely on. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { kubectl, program } from './kubectl';

const image = process.env.CAI_TEST_IMAGE ?? 'node:22-bookworm-slim';
const pushed = process.env.CAI_TEST_K8S_IMAGE ?? '';
const nodes = (process.env.CAI_TEST_K8S_NODES ?? '').split(' ');
const namespace = `cai-cluster-${process.pid}`;
const look = 'node --version; id -u; grep -E "^(CapBnd|NoNewPrivs|Seccomp):" /proc/self/status';

beforeAll(async () => {
  await kubectl(['create', 'namespace', namespace]);
  await appears('serviceaccount', '{.metadata.name}', /^default$/);
});
afterAll(async () => {
  await kubectl(['delete', 'namespace', namespace]);
});

/** Waits until an object of this kind in our namespace has a field like this, and tells it; throws after a minute. */
async function appears(kind: string, field: string, value: RegExp): Promise<string> {
  const output = ['--watch', '--request-timeout=60s', '--output', `jsonpath=${field}{"\\n"}`];
  const watch = spawn(program, ['get', kind, '--namespace', namespace, ...output], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    for await (const line of createInterface(watch.stdout)) if (value.test(line)) return line;
  } finally {
    watch.kill();
  }
  throw new Error(`no ${kind} with ${field} ${value}`);
}

/** A pod that has as few rights as those of agents. */
function restrictedPod(node: string, image: string, imagePullPolicy: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'restricted', namespace },
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
    const pod = ['pod', 'restricted', '--namespace', namespace];
    await kubectl(['create', '--filename', '-'], JSON.stringify(restrictedPod(node, image, policy)));
    try {
      const ended = await appears('pod', '{.spec.nodeName} {.status.phase}', / (Succeeded|Failed)$/);
      const log = await kubectl(['logs', 'restricted', '--namespace', namespace]);

      expect(ended).toBe(`${node} Succeeded`);
      expect(log).toMatch(/^v22\.\S+\n1000\nCapBnd:\t0+\nNoNewPrivs:\t1\nSeccomp:\t2\n$/);
    } finally {
      await kubectl(['delete', ...pod]);
    }

    expect(await kubectl(['get', 'pods', '--namespace', namespace, '--output', 'name'])).toBe('');
  },
);
