/** That `deploy/` serves clients elsewhere: any replica reaches every agent, and none of them is missed when it is gone. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Editor } from '../engine/editor';
import { modelConfig, modelEnv, modelPort, provideImages } from '../engine/model';
import { buildTimeoutMs } from '../engine/place';
import { Running } from '../engine/running';
import { buildServeImage } from '../engine/serve-image';
import { Cai, docker } from '../engine/support';
import { patienceMs } from '../support/patience';
import { freePort } from '../support/ports';
import { deployed } from './deployed';
import { program, timeout } from './kubectl';
import { Place } from './place';

const registry = process.env.CAI_TEST_REGISTRY!;
const image = `${registry}/cai-serve:${process.pid}`;
const fakeModel = readFileSync(join(__dirname, '../../fixtures/fake-model/fake-model.mjs'), 'utf8');
const endTurn = { result: { stopReason: 'end_turn' } };
const started: Running[] = [];
/** What leads to a replica, by its port here. */
const forwards = new Map<number, Running>();

let place: Place;
let cai: Cai;
/** Where this machine finds the replicas, whichever they are at the time. */
let ports: readonly number[];

beforeAll(async () => {
  place = await Place.make('cai-serve');
  await provideImages('claude');
  buildServeImage(image);
  await docker('push', image);
  ports = [await freePort(), await freePort()];
  await place.create(...(await objects()));
  const [replica] = await replicas();
  cai = new Cai();
  cai.env.CAI_CONNECT_TOKEN = (await run(replica!, ['cat', '/state/containai/serve/token'])).trim();
}, buildTimeoutMs);

afterAll(async () => {
  for (const each of started) each.child.kill();
  await place.remove();
  // What is below it is below the next one.
  await docker('rmi', '--force', '--no-prune', image);
});

/** What is changed here of objects. */
interface Deployed {
  readonly kind: string;
  readonly data?: Record<string, string>;
  readonly spec?: Deployment;
}

interface Deployment {
  replicas: number;
  readonly template: { readonly spec: { hostNetwork?: boolean; readonly containers: PodContainer[] } };
}

interface PodContainer {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly env?: { name: string; value: string }[];
  readonly securityContext: object;
}

/** The objects of `deploy/`, with what their heads say is to be set. */
async function objects(): Promise<object[]> {
  const hosts = ports.map((port) => `127.0.0.1:${port}`);
  const more = `${modelConfig}[kubernetes]\nstorage = "64MiB"\n`;
  const made = (await deployed<Deployed>()).filter(
    ({ kind }) => kind !== 'Namespace' && kind !== 'NetworkPolicy',
  );
  const text = JSON.stringify(made)
    .replaceAll('"namespace":"containai"', `"namespace":"${place.namespace}"`)
    .replaceAll('registry.example.com/cai-serve:1', image);
  const fitted = JSON.parse(text) as Deployed[];
  for (const { kind, data, spec } of fitted) {
    if (kind === 'Deployment') fit(spec!);
    if (kind !== 'ConfigMap') continue;
    const { 'config.toml': config = '' } = data!;
    data!['config.toml'] = config
      .replace('registry.example.com/team', `${registry}/cai`)
      .replace('"cai.example.com"', hosts.map((each) => `"${each}"`).join(', '))
      .replace('[serve]', `${more}[serve]`)
      .replaceAll(/^# (?!Of)/gm, '');
  }
  return fitted;
}

/**
 * Two replicas. The nodes of this cluster drop whatever pods send, so that the server has the network of its node.
 * There, something beside it leads to the registry by the name that this machine has for it.
 */
function fit(deployment: Deployment): void {
  const { template } = deployment;
  deployment.replicas = 2;
  const { containers } = template.spec;
  const [{ env, securityContext }] = containers as [PodContainer];
  template.spec.hostNetwork = true;
  for (const [name, value] of Object.entries(modelEnv)) env!.push({ name, value });
  const [port, far] = [registry, process.env.CAI_TEST_REGISTRY_OF_NODES!].map((each) => each.split(':'));
  const relay = `require('node:net').createServer((near) => {
    const far = require('node:net').connect(${far![1]}, '${far![0]}');
    near.pipe(far).pipe(near).on('error', () => far.destroy());
    far.on('error', () => near.destroy());
  }).listen(${port![1]}, '127.0.0.1');
  process.on('SIGTERM', () => process.exit())`;
  containers.push({ name: 'registry', image, command: ['node', '--eval', relay], securityContext });
}

/** The replicas, when all are ready. */
async function replicas(): Promise<string[]> {
  await place.kubectl(['rollout', 'status', 'deployment/cai-serve', timeout(2 * patienceMs)]);
  const { items } = JSON.parse(
    await place.kubectl(['get', 'pods', '--selector', 'app=cai-serve', '--output', 'json']),
  ) as {
    readonly items: readonly {
      readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
    }[];
  };
  return items.flatMap(({ metadata }) => (metadata.deletionTimestamp === undefined ? [metadata.name] : []));
}

/** The pods of agents. */
async function agents(): Promise<string[]> {
  const pods = await place.kubectl(['get', 'pods', '--selector', 'containai.managed', '--output', 'name']);
  return pods
    .split('\n')
    .filter((name) => name !== '')
    .sort();
}

/** What a command says in the pod of a server. */
async function run(replica: string, command: readonly string[], input = ''): Promise<string> {
  return await place.kubectl(['exec', '--stdin', '--container=serve', replica, '--', ...command], input);
}

/** As `kubectl`, until this file is over. */
function start(...args: string[]): Running {
  const running = new Running(
    `kubectl ${args.join(' ')}`,
    spawn(program, ['--namespace', place.namespace, ...args]),
  );
  started.push(running);
  return running;
}

/** From now on that port leads to that replica. */
async function lead(port: number, replica: string): Promise<void> {
  const before = forwards.get(port);
  before?.child.kill();
  await before?.ends();
  const forward = start('port-forward', `pod/${replica}`, `${port}:8722`);
  forwards.set(port, forward);
  await forward.says('Forwarding');
}

/** A workspace on the claim, cloned as docs/serve.md says: from a repository that has the model. */
async function cloned(name: string, replica: string): Promise<string> {
  const [repository, workspace] = [`/tmp/${basename(name)}.git`, `/workspaces/${name}`];
  const head = 'commit refs/heads/main\ncommitter Ann <ann@example.com> 0 +0000\ndata 0\n\n';
  const file = `M 100644 inline fake-model.mjs\ndata ${Buffer.byteLength(fakeModel)}\n${fakeModel}\n`;
  await run(replica, ['git', 'init', '--quiet', '--bare', '--initial-branch=main', repository]);
  await run(replica, ['git', '-C', repository, 'fast-import', '--quiet'], `${head}${file}`);
  await run(replica, ['git', 'clone', '--quiet', repository, workspace]);
  return workspace;
}

/** An agent for a new workspace on the claim, which has a model for as long as that replica lives. */
async function newWorkspace(name: string, replica: string): Promise<string> {
  const workspace = await cloned(name, replica);
  const inContainer = ['-e', `FAKE_MODEL_PORT=${modelPort}`, '--', 'node', 'fake-model.mjs'];
  const exec = ['cai', 'exec', '--workspace', workspace, '--agent', 'claude', ...inContainer];
  const model = start('exec', '--stdin', '--container=serve', replica, '--', ...exec);
  await model.says(`{"port":${modelPort}}`);
  return workspace;
}

test('a client goes on at another replica when its own is gone: with the same session, in the same pod', async () => {
  const [first, second] = (await replicas()) as [string, string];
  const workspace = await newWorkspace('ann/shop', second);
  await lead(ports[0]!, first);
  const editor = await Editor.connect(cai, `http://127.0.0.1:${ports[0]}`);
  const session = await editor.newSession(workspace);
  expect(await editor.prompt(session, 'one')).toMatchObject(endTurn);
  const before = await agents();

  await place.kubectl(['delete', 'pod', first]);
  await lead(ports[0]!, second);

  expect(await editor.prompt(session, 'two')).toMatchObject(endTurn);
  expect(editor.said(session)).toContain('Echo: one');
  expect(editor.said(session)).toContain('Echo: two');
  expect(await agents()).toEqual(before);
});

test('two replicas work side by side, and of two that ask for the same workspace at once one makes its pod', async () => {
  const both = (await replicas()) as [string, string];
  const clients = both.map(async (replica, index) => {
    const own = await newWorkspace(`own-${index}`, replica);
    await lead(ports[index]!, replica);
    const editor = await Editor.connect(cai, `http://127.0.0.1:${ports[index]}`);
    const session = await editor.newSession(own);
    expect(await editor.prompt(session, '[[shell echo done >made]]')).toMatchObject(endTurn);
    expect(await run(replica, ['cat', `${own}/made`])).toBe('done\n');
    return editor;
  });
  const editors = await Promise.all(clients);
  const common = await cloned('common', both[0]);
  const before = await agents();

  await Promise.all(editors.map((editor) => editor.newSession(common)));

  expect((await agents()).length).toBe(before.length + 1);
});

/** What that replica answers whoever asks for the state of the page: their name, or the status. */
async function nameAt(port: number, headers: Record<string, string>): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/page/state`, { headers });
  return response.ok ? ((await response.json()) as { name: unknown }).name : response.status;
}

test('a session is open at one replica, and at another once it is given back, or its replica is gone', async () => {
  const [first, second] = (await replicas()) as [string, string];
  await Promise.all([lead(ports[0]!, first), lead(ports[1]!, second)]);
  const cwd = await newWorkspace('one', first);
  const connected = ports.map((port) => Editor.connect(cai, `http://127.0.0.1:${port}`));
  const [desk, phone] = (await Promise.all(connected)) as [Editor, Editor];
  const sessionId = await desk.newSession(cwd);
  // Without a prompt, the agent keeps nothing of it.
  expect(await desk.prompt(sessionId, 'one')).toMatchObject(endTurn);
  const load = async (editor: Editor) =>
    await editor.request('session/load', { sessionId, cwd, mcpServers: [] });
  const refusal = { error: { message: expect.stringContaining('open in another server') as string } };
  expect(await load(phone)).toMatchObject(refusal);

  await desk.request('session/close', { sessionId });
  expect(await load(phone)).toHaveProperty('result');

  const again = await Editor.connect(cai, `http://127.0.0.1:${ports[0]}`);
  expect(await load(again)).toMatchObject(refusal);
  await place.kubectl(['delete', 'pod', second, '--force', '--grace-period=0']);
  let answer = await load(again);
  while (!('result' in answer)) {
    expect(answer).toMatchObject(refusal);
    await pause(1_000);
    answer = await load(again);
  }
});

test('an agent that a quota keeps from starting is told of, and counted as those that started', async () => {
  const [first] = (await replicas()) as [string];
  await lead(ports[0]!, first);
  const url = `http://127.0.0.1:${ports[0]}`;
  const editor = await Editor.connect(cai, url);
  await editor.newSession(await cloned('started', first));
  const cwd = await cloned('refused', first);
  const metadata = { name: 'none' };
  await place.create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard: { pods: '0' } } });
  await place.appears('resourcequota/none', '{.status.hard.pods}', /^0$/);

  const refused = await editor.request('session/new', { cwd, mcpServers: [] });

  await place.kubectl(['delete', 'resourcequota', 'none']);
  const message = expect.stringContaining('exceeded quota: none') as string;
  expect(refused).toMatchObject({ error: { message } });
  const authorization = `Bearer ${cai.env.CAI_CONNECT_TOKEN}`;
  const counted = await (await fetch(`${url}/metrics`, { headers: { authorization } })).text();
  expect(counted).toMatch(/^cai_serve_agents_started_total\{container="new"\} [1-9]/m);
  expect(counted).toContain('cai_serve_agent_starts_failed_total{code="QUOTA"} 1\n');
});

test('the token of a proxy counts at every replica, and lets in whom the proxy names', async () => {
  const [first, second] = (await replicas()) as [string, string];
  await lead(ports[1]!, second);
  const token = (await run(first, ['cai', 'serve', 'token', 'add', 'sso', '--proxy'])).trim();
  const authorization = `Bearer ${token}`;
  const header = 'x-auth-request-email';

  expect(await nameAt(ports[1]!, { authorization, [header]: 'ann@example.com' })).toBe('ann@example.com');
  expect(await nameAt(ports[1]!, { authorization, [header]: 'eve@example.com' })).toBe(403);
  expect(await nameAt(ports[1]!, { authorization })).toBe(401);
  expect(await nameAt(ports[1]!, { [header]: 'ann@example.com' })).toBe(401);
});
