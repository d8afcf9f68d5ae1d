import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig, type Config } from '../src/config/config';
import { noRights } from '../src/container/engine/container-info';
import { networkPolicies } from '../src/container/engine/kubernetes/network-policy';
import { podBody } from '../src/container/engine/kubernetes/pod/pod-body';
import { neededRights, quantity } from '../src/container/engine/kubernetes/rights';
import { Host } from '../src/system/host';
import { nodePlan } from './kubernetes/place';
import { newFolder } from './support/temp-folder';

const folder = join(__dirname, '../deploy');
const unit = join(folder, 'cai-serve.service');

/** As far as tests look at it. */
interface KubernetesObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: unknown;
  readonly spec: {
    readonly hard: Amounts;
    readonly resources: { readonly requests: Amounts };
    readonly template: {
      readonly spec: { readonly containers: readonly { readonly resources: Resources }[] };
    };
  };
}

type Amounts = Readonly<Record<string, string>>;
interface Resources {
  readonly limits: Amounts;
  readonly requests: Amounts;
}

/** The objects in a file for Kubernetes. */
function objectsIn(file: string): readonly KubernetesObject[] {
  return parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((each) => each.toJS() as never);
}

test('the unit is one that systemd takes', () => {
  const runtime = newFolder();
  chmodSync(runtime, 0o700);
  const env = { ...process.env, XDG_RUNTIME_DIR: runtime };
  const result = spawnSync('systemd-analyze', ['--user', 'verify', '--man=no', unit], { env });
  if (result.error !== undefined) {
    process.stderr.write(`the unit is not checked: ${result.error.message}\n`);
    return;
  }

  expect(result.stderr.toString()).toBe('');
  expect(result.status).toBe(0);
});

test('the unit starts the server', () => {
  expect(readFileSync(unit, 'utf8')).toMatch(/^ExecStart=\/usr\/bin\/env cai serve$/m);
});

test('the role in a cluster has exactly the rights that are asked for', () => {
  const role = objectsIn('base/rights.yaml').find(({ kind }) => kind === 'Role')!;

  expect(role.rules).toEqual(
    neededRights.map(({ group, resources, verbs }) => ({ apiGroups: [group], resources, verbs })),
  );
});

test('the network policies in a cluster are those that are made', () => {
  expect(objectsIn('base/network-policy.yaml')).toEqual(networkPolicies);
});

/** The objects with sizes in a folder of `deploy/`, with what a team changes. */
function sizedIn(part: string): readonly KubernetesObject[] {
  const { patches = [] } = parse(readFileSync(join(folder, part, 'kustomization.yaml'), 'utf8')) as {
    readonly patches?: readonly { readonly patch: string }[];
  };
  const changes = patches.map(({ patch }) => parse(patch) as KubernetesObject);
  return ['base/limits.yaml', 'base/serve.yaml'].flatMap(objectsIn).map((object) => {
    const change = changes.find(
      ({ kind, metadata }) => kind === object.kind && metadata.name === object.metadata.name,
    );
    return change === undefined ? object : (merged(object, change) as KubernetesObject);
  });
}

function merged(one: unknown, other: unknown): unknown {
  if (typeof one !== 'object' || typeof other !== 'object') return other;
  const changed = Object.entries(other!).map(([key, value]) => [key, merged((one as Table)[key], value)]);
  return { ...one, ...Object.fromEntries(changed) } as unknown;
}

type Table = Readonly<Record<string, unknown>>;

function configIn(part: string): Config {
  const home = newFolder();
  symlinkSync(join(folder, part), join(home, 'containai'));
  return loadConfig(new Host({ HOME: home, XDG_CONFIG_HOME: home }));
}

test.each([
  ['base', 50],
  ['team', 10],
])('what deploy/%s sets is enough for %d people with 3 workspaces each', (part, people) => {
  const workspaces = 3 * people;
  const { kubernetes, serve } = configIn(part);
  const plan = { ...nodePlan(''), rights: { ...noRights, memoryBytes: 8 * 2 ** 30 } };
  const body = {
    name: 'x',
    secretName: 'x',
    imageEnv: [],
    plan,
    entries: [],
    wanted: { ...kubernetes, volumes: [] },
  };
  const agent = podBody(body).pod.spec.containers[0]!.resources as Resources;
  const objects = sizedIn(part);
  const of = (kind: string) => objects.filter((each) => each.kind === kind);
  const server = of('Deployment')[0]!.spec.template.spec.containers[0]!.resources;
  const claims = of('PersistentVolumeClaim').map(({ spec, metadata }) => ({
    name: metadata.name,
    bytes: quantity(spec.resources.requests.storage!),
  }));
  // While the server is replaced there are two, and a new image of each agent is looked into.
  const [servers, looks] = [2, serve.agents!.length];
  const sum = (what: keyof Resources, name: string) =>
    (workspaces + looks) * quantity(agent[what][name]!) + servers * quantity(server[what][name]!);
  const used: Readonly<Record<string, number>> = {
    pods: workspaces + looks + servers,
    'requests.cpu': sum('requests', 'cpu'),
    'requests.memory': sum('requests', 'memory'),
    'limits.memory': sum('limits', 'memory'),
    persistentvolumeclaims: 2 * workspaces + claims.length,
    'requests.storage':
      2 * workspaces * kubernetes.storageBytes + claims.reduce((all, { bytes }) => all + bytes, 0),
  };

  const { hard } = of('ResourceQuota')[0]!.spec;
  // An amount that is not counted here is short, too.
  const short = Object.entries(hard).filter(([what, most]) => !(used[what]! <= quantity(most)));
  expect(short).toEqual([]);
  expect(claims.find(({ name }) => name === 'cai-work')!.bytes).toBeGreaterThan(3 * 2 ** 30 * workspaces);
  expect(serve.connections).toBeGreaterThanOrEqual(workspaces);
  expect(quantity(server.limits.memory!)).toBeGreaterThan(28 * 2 ** 20 * workspaces);
});
