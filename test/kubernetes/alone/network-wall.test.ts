/** That a pod without a network has none, and that none runs where the cluster does not see to that. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import type { Engine } from '../../../src/container/engine/engine';
import { networkPolicies } from '../../../src/container/engine/kubernetes/network-policy';
import { doorPort } from '../../../src/container/engine/kubernetes/pod/pod-body';
import { podWall, reachedStatus } from '../../../src/container/engine/kubernetes/pod/pod-network';
import { patienceMs } from '../../support/patience';
import { newFolder } from '../../support/temp-folder';
import { machine } from '../machine';
import { connect, nodePlan, Place } from '../place';

/** Where every pod of ours listens, at all its addresses. */
const port = 8000;
/** Echoes to whoever comes by its node, and greets neighbours. */
const server = `const net = require('node:net');
net.createServer((socket) => socket.pipe(socket)).listen(${doorPort}, '127.0.0.1', () =>
  net.createServer((socket) => socket.end('neighbour')).listen(${port}));`;
/** Prints what of "HOST PORT" it can connect to, and what comes of looking a name up. */
const tries = `const net = require('node:net');
for (const target of process.argv.slice(1)) {
  const [host, port] = target.split(' ');
  const socket = net.connect({ host, port: Number(port), timeout: 1000 });
  const tell = (what) => { console.log(target, what); socket.destroy(); };
  socket.on('connect', () => tell('open')).on('error', () => tell('closed')).on('timeout', () => tell('closed'));
}
require('node:dns').lookup('example.com', (error) => console.log('name', error?.code));`;

let place: Place;
let engine: Engine;
/** Of a user who accepts that a pod reaches its node. */
let accepting: Engine;
beforeAll(async () => {
  place = await Place.make('cai-wall');
  engine = await connect(place.cluster);
  accepting = await connect(place.cluster, { allowsOwnNode: true });
});
afterAll(async () => {
  await machine('policy', 'on');
  await place.remove();
});

async function start(name: string, hasNetwork: boolean, by = engine): Promise<string> {
  const id = (await by.createContainer(name, nodePlan(server, hasNetwork), () => Promise.resolve()))!;
  await by.startContainer(id, []);
  return id;
}

/** What a pod can connect to: of the API server, its node, and a pod. */
async function reachedBy(name: string, neighbour: string): Promise<readonly string[]> {
  const field = (pod: string, path: string) =>
    place.kubectl(['get', 'pod', pod, '--output', `jsonpath={.status.${path}}`]);
  const service = await place.kubectl([
    'get',
    'service',
    'kubernetes',
    '--namespace',
    'default',
    '--output',
    'jsonpath={.spec.clusterIP}',
  ]);
  const targets = {
    [`${service} 443`]: 'API server',
    [`${await field(name, 'hostIP')} 10250`]: 'node',
    [`${await field(neighbour, 'podIP')} ${port}`]: 'pod',
  };
  const said = await place.kubectl([
    'exec',
    name,
    '--',
    'node',
    '--eval',
    tries,
    '--',
    ...Object.keys(targets),
  ]);
  return Object.entries(targets)
    .reduce((text, [target, what]) => text.replace(target, what), said)
    .trim()
    .split('\n')
    .sort();
}

async function echoed(id: string): Promise<string> {
  const stream = await engine.connectTo({ id, pid: 0 });
  stream.write('hello');
  const [chunk] = (await once(stream, 'data')) as [Buffer];
  stream.destroy();
  return chunk.toString();
}

/** What there is of ours, as `pod/NAME`. */
async function listed(): Promise<string> {
  return await place.kubectl(['get', 'pods,secrets', '--selector', 'containai.managed', '--output', 'name']);
}

async function policies(): Promise<readonly unknown[]> {
  const { items } = JSON.parse(await place.kubectl(['get', 'networkpolicies', '--output', 'json'])) as {
    readonly items: typeof networkPolicies;
  };
  return items.map(({ metadata: { name }, spec }) => ({ name, spec }));
}

test(
  'where nothing acts on policies, a pod with a network has one, and a pod without does not run',
  async () => {
    await machine('policy', 'off');
    const open = await Promise.all(['open-1', 'open-2'].map((name) => start(name, true)));
    const [refused, refusedToo] = await Promise.all(
      [start('closed-1', false), start('closed-7', false, accepting)].map((starting) =>
        starting.then(
          () => undefined,
          (reason: unknown) => reason,
        ),
      ),
    );
    const reached = await reachedBy('open-1', 'open-2');
    const closed = (await engine.inspectContainer('closed-1'))!;

    expect(refused).toMatchObject({
      code: 'NO_WALL',
      message: expect.stringMatching(
        /^cannot start the container closed-1\S*: the cluster does not keep pods from the network: it could connect to .*network\.egress = "open"$/,
      ) as string,
    });
    expect(refusedToo).toMatchObject({
      message: expect.stringMatching(/could connect to (?!its node)/) as string,
    });
    expect(reached).toEqual(['API server open', 'name EAI_AGAIN', 'node open', 'pod open']);
    expect(closed).toMatchObject({ state: 'exited', startedAt: undefined });
    await Promise.all([...open, closed.id, 'closed-7'].map((id) => engine.removeContainer(id)));
    // The secrets follow the pods by themselves.
    while ((await listed()).includes('secret')) expect(await listed()).not.toContain('pod');
    expect(await listed()).toBe('');
  },
  4 * patienceMs,
);

test('where policies hold, a pod without a network reaches nothing, and is reached by its node alone', async () => {
  await machine('policy', 'on');
  const closed = await Promise.all(['closed-2', 'closed-3'].map((name) => start(name, false)));

  expect(await reachedBy('closed-2', 'closed-3')).toEqual([
    'API server closed',
    'name EAI_AGAIN',
    'node closed',
    'pod closed',
  ]);
  expect(await echoed(closed[0]!)).toBe('hello');
  expect(await policies()).toEqual(networkPolicies.map(({ metadata: { name }, spec }) => ({ name, spec })));
  await Promise.all(closed.map((id) => engine.removeContainer(id)));
});

test('where a pod always reaches its node, it runs once the user accepts that, and reaches nothing else', async () => {
  await machine('policy', 'node');
  try {
    const refused = expect(start('closed-6', false)).rejects.toThrow(
      /could connect to its node at .*, port 10250, .*kubernetes\.allow_own_node = true/,
    );
    const ids = await Promise.all(['node-1', 'node-2'].map((name) => start(name, false, accepting)));
    await refused;

    expect(await reachedBy('node-1', 'node-2')).toEqual([
      'API server closed',
      'name EAI_AGAIN',
      'node open',
      'pod closed',
    ]);
    await Promise.all(['closed-6', ...ids].map((id) => engine.removeContainer(id)));
  } finally {
    await machine('policy', 'on');
  }
});

test('who may not make policies relies on those that are there', async () => {
  const anything = ['pods', 'secrets', 'pods/portforward', 'pods/log'];
  const cluster = await place.clusterFor('no-policies', [
    { apiGroups: [''], resources: anything, verbs: ['*'] },
  ]);
  const id = await start('closed-4', false, await connect(cluster));

  expect(await echoed(id)).toBe('hello');
  await engine.removeContainer(id);
});

test(
  'what is open over IPv6 alone is found as well',
  async () => {
    // Of this place nothing else is reached: a metadata service of clouds.
    const address = 'fd00:ec2::254';
    const greets = `require('node:net').createServer((socket) => socket.end()).listen(80, '${address}', () => console.log('there'))`;
    const inside = [
      `ip link set lo up && ip address add ${address}/128 dev lo nodad`,
      `mkfifo "$1/there" && { "$2" --eval "${greets}" >"$1/there" & }`,
      'read -r line <"$1/there"',
      podWall(false).script.join('\n'),
    ].join('\n');
    const env = {
      ...process.env,
      KUBERNETES_SERVICE_HOST: '10.0.0.1',
      KUBERNETES_SERVICE_PORT: '443',
      CAI_NODE: '10.0.0.2',
    };
    const args = [
      '--net',
      '--pid',
      '--fork',
      '--kill-child',
      'sh',
      '-c',
      inside,
      'sh',
      newFolder(),
      process.execPath,
    ];

    const tried = promisify(execFile)('unshare', args, { env });

    await expect(tried).rejects.toMatchObject({
      code: reachedStatus,
      stderr: `the metadata service at ${address}, port 80\n`,
    });
  },
  patienceMs,
);

test('no pod without a network is made where a policy of somebody else gives it one', async () => {
  await place.create({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'names' },
    spec: { podSelector: {}, policyTypes: ['Egress'], egress: [{ ports: [{ protocol: 'UDP', port: 53 }] }] },
  });
  const other = await connect(place.cluster);

  await expect(start('closed-5', false, other)).rejects.toThrow('the NetworkPolicy "names" gives');
  expect(await listed()).not.toContain('closed-5');
});
