/** That what `deploy/` gives is enough, and none of it too much; and how it is told what is missing. */
import { once } from 'node:events';
import { join } from 'node:path';
import { NotYet, type Engine } from '../../src/container/engine/engine';
import { ForwardFailure } from '../../src/container/engine/kubernetes/api/api-error';
import { doorPort } from '../../src/container/engine/kubernetes/pod/pod-body';
import { neededRights } from '../../src/container/engine/kubernetes/rights';
import { TunnelProxy } from '../support/tunnel-proxy';
import { deployed } from './deployed';
import { connect, nodePlan, Place, type Rule } from './place';

const server = `console.log('begun'); process.on('SIGTERM', () => process.exit(7));
require('node:net').createServer((socket) => socket.end('hello')).listen(${doorPort}, '127.0.0.1');`;
const labels = { 'containai.managed': 'true', 'containai.user': '1234' };
const nothing = () => Promise.resolve();
/** One resource and one verb each, as `get pods`. */
const each = neededRights.flatMap(({ group, resources, verbs, isOptional = false }) =>
  resources.flatMap((resource) => verbs.map((verb) => ({ right: `${verb} ${resource}`, group, isOptional }))),
);
/** All but one of them. */
const rulesWithout = (lacking = ''): readonly Rule[] =>
  each.flatMap(({ right, group }) => {
    const [verb = '', resource = ''] = right.split(' ');
    return right === lacking ? [] : [{ apiGroups: [group], resources: [resource], verbs: [verb] }];
  });

let proxy: TunnelProxy;
let place: Place;
let admin: Engine;
/** A container that runs. */
let runningId: string;
beforeAll(async () => {
  proxy = await TunnelProxy.start();
  place = await Place.make('cai-rights');
  admin = await connect(place.cluster);
  runningId = await start(admin, 'running');
});
afterAll(async () => {
  await place.remove();
  await proxy.end();
});

async function start(engine: Engine, name: string): Promise<string> {
  const id = (await engine.createContainer(name, nodePlan(server), nothing))!;
  await engine.startContainer(id, []);
  return id;
}

/** What the program in a container says to who connects, once it listens. */
async function greeting(engine: Engine, id: string): Promise<string> {
  try {
    const [chunk] = (await once(await engine.connectTo({ id, pid: 0 }), 'data')) as [Buffer];
    return chunk.toString();
  } catch (reason) {
    // That nobody listens yet is told before the connection or on it.
    if (!(reason instanceof NotYet || (reason instanceof ForwardFailure && reason.isPassing))) throw reason;
    return await greeting(engine, id);
  }
}

test('with the role of deploy/, and through a proxy, a container goes through its life', async () => {
  const cluster = await place.clusterFor('enough', rulesWithout());
  const engine: Engine = await connect({ ...cluster, proxy: proxy.url });
  await engine.createVolume('data', labels);
  await place.appears('persistentvolumeclaims', '{.status.phase}', /^Bound$/);
  const mounts = [{ type: 'volume', source: 'data', target: '/data', isReadOnly: false }];
  const id = (await engine.createContainer('life', { ...nodePlan(server), mounts }, nothing))!;
  await engine.startContainer(id, []);

  expect((await engine.listContainers(labels)).map(({ name }) => name)).toContain('life');
  expect(await engine.inspectContainer('life')).toMatchObject({ id, isRunning: true });
  expect(await greeting(engine, id)).toBe('hello');
  expect((await engine.processes(id)).map(({ command }) => command)).toContainEqual(
    expect.stringMatching(/^node /),
  );
  expect(await engine.logsTail(id, 5)).toBe('begun\n');
  expect((await engine.listVolumes(labels)).map(({ name }) => name)).toEqual(['data']);
  await engine.stopContainer(id, 5);
  expect(await engine.createContainer('running', nodePlan(server), nothing)).toBeUndefined();
  await engine.removeContainer(id);
  await engine.removeVolume('data');
  expect(await engine.inspectContainer('life')).toBeUndefined();
  expect(new Set(proxy.asked)).toEqual(new Set([new URL(cluster.server).host]));
});

/** What needs each right. */
const uses: Readonly<Record<string, (engine: Engine) => Promise<unknown>>> = {
  'get pods': (engine) => engine.inspectContainer('running'),
  'list pods': (engine) => engine.listContainers(labels),
  'watch pods': (engine) => start(engine, 'watched'),
  'create pods': (engine) => engine.createContainer('other', nodePlan(server), nothing),
  'delete pods': (engine) => engine.removeContainer(runningId),
  'get pods/portforward': (engine) => engine.connectTo({ id: runningId, pid: 0 }),
  'get pods/exec': (engine) => engine.processes(runningId),
  'get pods/log': (engine) => engine.logsTail(runningId, 1),
  'create secrets': (engine) => engine.createContainer('other', nodePlan(server), nothing),
  'list persistentvolumeclaims': (engine) => engine.listVolumes(labels),
  'create persistentvolumeclaims': (engine) => engine.createVolume('other', labels),
  'delete persistentvolumeclaims': (engine) => engine.removeVolume('other'),
};

test('each right that is needed is tried', () => {
  const needed = each.filter(({ isOptional }) => !isOptional).map(({ right }) => right);

  expect(Object.keys(uses).sort()).toEqual(needed.sort());
});

test.each(Object.entries(uses))(
  'without the right to %s something fails, which tells it',
  async (right, use) => {
    const [verb = '', resource = ''] = right.split(' ');
    const name = right.replaceAll(/[ /]/g, '-');
    const engine = await connect(await place.clusterFor(name, rulesWithout(right)));

    expect(await engine.allowances!.missingRights()).toEqual([
      expect.objectContaining({ right: `"${verb}" on ${resource}`, isOptional: false }),
    ]);
    await expect(use(engine)).rejects.toMatchObject({
      code: 'NO_ENGINE',
      message: expect.stringMatching(
        `you lack the right "${verb}" on ${resource} in the namespace "${place.namespace}": ask .* deploy/$`,
      ) as string,
    });
  },
);

test('a quota that is used up is told with what to do, and nothing is left', async () => {
  const before = await place.kubectl(['get', 'secrets', '--output', 'name']);
  await place.create({
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'none' },
    spec: { hard: { pods: '0' } },
  });
  // It counts once the cluster has counted what there is.
  await place.appears('resourcequota', '{.status.hard.pods}', /^0$/);

  expect(await admin.allowances!.quotas()).toEqual([
    { what: 'pods', used: expect.stringMatching(/^\d+$/) as string, limit: '0', isUsedUp: true },
  ]);

  await expect(admin.createContainer('too-many', nodePlan(server), nothing)).rejects.toMatchObject({
    code: 'QUOTA',
    message: expect.stringMatching(
      /^cannot make the pod too-many: .*exceeded quota: none.*: remove containers/,
    ) as string,
  });
  expect(await place.kubectl(['get', 'secrets', '--output', 'name'])).toBe(before);
});

test('"kubectl apply -k deploy/base" makes a namespace in which containers run, and which its service account may use', async () => {
  const own = await Place.deploy('containai', join(__dirname, '../../deploy/base'));
  try {
    const engine = await connect(await own.clusterOf('cai'));
    await start(engine, 'first');

    expect((await engine.listContainers(labels)).map(({ name, state }) => `${name} ${state}`)).toEqual([
      'first running',
    ]);
    const kinds = [
      'resourcequota',
      'limitrange',
      'deployment',
      'service',
      'configmap',
      'persistentvolumeclaim',
    ];
    const made = await own.kubectl(['get', kinds.join(), '--output', 'name']);
    expect(made.split('\n')).toEqual(
      expect.arrayContaining([
        'resourcequota/cai',
        'limitrange/cai',
        'deployment.apps/cai-serve',
        'service/cai-serve',
        expect.stringMatching(/^configmap\/cai-serve-\w+$/),
        'persistentvolumeclaim/cai-serve-state',
      ]),
    );
    // They are as they should be, which the role alone lets nobody say.
    const policies = await own.kubectl([
      'get',
      'networkpolicies',
      '--output',
      'jsonpath={.items[*].metadata.generation}',
    ]);
    expect(policies).toBe('1 1');
  } finally {
    await own.remove();
  }
});

test('the example of a team is taken by the API server, and differs in what it says', async () => {
  interface Made {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly namespace?: string };
    readonly spec: Record<string, unknown>;
  }
  const objects = (await deployed<Made>('team')).filter(({ kind }) => kind !== 'Namespace');
  const team = await Place.named('containai-web');
  try {
    await team.kubectl(
      ['apply', '--dry-run=server', '--filename', '-'],
      objects.map((each) => JSON.stringify(each)).join('\n'),
    );
  } finally {
    await team.remove();
  }

  const of = (kind: string) => objects.filter((each) => each.kind === kind);
  expect(new Set(objects.map(({ metadata }) => metadata.namespace))).toEqual(new Set([team.namespace]));
  expect(JSON.stringify(of('Deployment'))).toContain('"image":"registry.example.com/cai-serve:2"');
  expect(JSON.stringify(of('Deployment'))).toContain(`"name":"${of('ConfigMap')[0]!.metadata.name}"`);
  expect(JSON.stringify(of('ConfigMap'))).toContain('web.cai.example.com');
  expect(of('RoleBinding')).toMatchObject([{ subjects: [{ name: 'cai', namespace: team.namespace }] }]);
  expect(of('PersistentVolumeClaim').map(({ spec }) => spec.storageClassName)).toEqual(['shared', 'shared']);
  expect(of('ResourceQuota')).toMatchObject([{ spec: { hard: { pods: '40', 'requests.cpu': '20' } } }]);
});
