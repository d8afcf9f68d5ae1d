/** That what `deploy/` gives is enough, and none of it too much; and how it is told what is missing. */
import { once } from 'node:events';
import { join } from 'node:path';
import { NotYet, type Engine } from '../../src/container/engine/engine';
import { doorPort } from '../../src/container/engine/kubernetes/pod/pod-body';
import { neededRights } from '../../src/container/engine/kubernetes/rights';
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

let place: Place;
let admin: Engine;
/** A container that runs. */
let runningId: string;
beforeAll(async () => {
  place = await Place.make('cai-rights');
  admin = await connect(place.cluster);
  runningId = await start(admin, 'running');
});
afterAll(() => place.remove());

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
    if (!(reason instanceof NotYet)) throw reason;
    return await greeting(engine, id);
  }
}

test('with the role of deploy/, a container goes through its life', async () => {
  const engine: Engine = await connect(await place.clusterFor('enough', rulesWithout()));
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
    code: 'CONTAINER_START',
    message: expect.stringMatching(
      /^cannot make the pod too-many: .*exceeded quota: none.*: remove containers/,
    ) as string,
  });
  expect(await place.kubectl(['get', 'secrets', '--output', 'name'])).toBe(before);
});

test('"kubectl apply -k deploy" makes a namespace in which containers run, and which its service account may use', async () => {
  const own = await Place.deploy('containai', join(__dirname, '../../deploy'));
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
        'configmap/cai-serve',
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
