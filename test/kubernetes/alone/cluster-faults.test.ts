/**
 * What can happen to the cluster itself while an agent works, while a command runs, and while some begin: each ends in time
 * with one sentence, and the next prompt or command goes on when the fault is over.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { inNamespace } from '../../engine/cluster';
import { Editor } from '../../engine/editor';
import { filesConfig } from '../../engine/engines';
import { provideImages } from '../../engine/model';
import { buildTimeoutMs, Place } from '../../engine/place';
import type { Running } from '../../engine/running';
import { Cai, newWorkspace, ownFile } from '../../engine/support';
import { agent, hostileConfig } from '../../escape/hostile-agent';
import { hastened } from '../../support/hastened';
import { patienceMs } from '../../support/patience';
import { kubectl, timeout } from '../kubectl';
import { machine } from '../machine';

jest.setTimeout(5 * patienceMs);

const [node = ''] = (process.env.CAI_TEST_K8S_NODES ?? '').split(' ');

interface Fault {
  /** What `machine.sh` does. */
  readonly begin: readonly string[];
  /** What takes it back. */
  readonly end: readonly string[];
  /** What is told of a turn, and of a command that runs; none: they go on. */
  readonly lost?: RegExp;
  /** What is told to a command that enters a pod. */
  readonly warm: RegExp;
  /** What is told to one that makes a pod; none: that takes minutes. */
  readonly cold?: RegExp;
  /** What is told to one that removes a pod. */
  readonly removal: RegExp;
}

/** The same is told to every command. */
const toAll = (said: RegExp) => ({ warm: said, cold: said, removal: said });
/** Of a process that is killed, or of one that is stopped. */
const killed = (name: string) => ({ begin: ['kill', name], end: ['revive', name] });
const stopped = (name: string) => ({ begin: ['kill', name, 'STOP'], end: ['revive', name] });
const cut = (name: string) => ({ begin: ['network', name, 'off'], end: ['network', name, 'on'] });

const closed = /is lost \(.*broke off/;
const silent = /is lost \(Keepalive timeout\): see "kubectl .*describe pod/;
const unanswered = /does not answer \(waited for 20 s\): see whether "kubectl get pods" works/;
const unable = /still answers, but has not done that|is not able to do that now: see "kubectl .*readyz/;
const away = /its node does not answer the cluster \(.*: see "kubectl .*get nodes/;
const notBegun = /its node \S+ does not answer the cluster \(.*: see "kubectl .*get nodes"/;

const faults: Readonly<Record<string, Fault>> = {
  'the API server is killed': {
    ...killed('api-server'),
    lost: closed,
    ...toAll(/nothing listens there: start/),
  },
  'the API server hangs': { ...stopped('api-server'), lost: silent, ...toAll(unanswered) },
  'this machine does not reach the cluster': { ...cut('machine'), lost: silent, ...toAll(unanswered) },
  'etcd is killed': { ...killed('etcd'), ...toAll(unable) },
  'etcd hangs': { ...stopped('etcd'), ...toAll(unable) },
  'the kubelet is killed': {
    ...killed(`kubelet-${node}`),
    lost: closed,
    warm: away,
    cold: notBegun,
    removal: away,
  },
  'the kubelet hangs': {
    ...stopped(`kubelet-${node}`),
    lost: silent,
    warm: away,
    cold: notBegun,
    removal: away,
  },
  'the runtime of the node is killed': {
    ...killed(`containerd-${node}`),
    lost: closed,
    warm: /cannot be reached \(port \d+ of the pod .*(?:connection refused|code = Unavailable).*: see "kubectl .*describe pod/,
    cold: /its node cannot begin with it|does not run after 15 minutes/,
    removal: away,
  },
  'the runtime of the node hangs': {
    ...stopped(`containerd-${node}`),
    lost: silent,
    warm: away,
    removal: away,
  },
  'the cluster does not reach the node': {
    ...cut(node),
    lost: silent,
    warm: away,
    cold: notBegun,
    removal: away,
  },
};

const pinned = `[kubernetes]\nnode_selector = ["kubernetes.io/hostname=${node}"]\n`;
const cai = new Cai(hostileConfig() + filesConfig.replace('[kubernetes]\n', pinned));

const placeOf = (workspace: string): Place => new Place(cai, workspace, ['--agent', agent]);
const [working, warm] = [newWorkspace(), newWorkspace()];
/** Has a pod. */
let old = newWorkspace();
let editor: Editor;
let session: string;

beforeAll(async () => {
  await provideImages(agent);
  editor = await Editor.open(cai, agent, { cwd: working });
  session = await editor.newSession(working);
  for (const each of [warm, old]) await placeOf(each).prints(['true']);
}, buildTimeoutMs);

/** A turn that runs a script. */
const turnOf = (sh: string) => editor.prompt(session, JSON.stringify([{ sh }]));

function removalOf(workspace: string, options = {}): Running {
  return cai.start(['rm', '--force', '--volumes', '--workspace', workspace], options);
}

/** Of a command: a tenth of the 15 minutes that a pod has to start, and some more. */
const limitMs = 90_000 + patienceMs;

/** A command that fails with one sentence. */
async function expectOne(command: Running, sentence: RegExp): Promise<void> {
  const { status, stderr } = await command.ends(limitMs);
  expect(stderr).toMatch(sentence);
  expect(stderr.match(/\n/g)).toHaveLength(1);
  expect(status).not.toBe(0);
}

/** Resolves when a script in that workspace has begun; throws if it ends before. */
async function untilBegun(workspace: string, script: Promise<unknown>): Promise<void> {
  const file = join(workspace, 'begun');
  const seen = { isOver: false };
  void script.then(() => (seen.isOver = true));
  while (!existsSync(file)) {
    if (seen.isOver) throw new Error(`it has not begun: ${JSON.stringify(await script)}`);
    await pause(20);
  }
  rmSync(file);
}

/** Resolves when all parts of the cluster work together again: it takes some time to notice. */
async function whole(): Promise<void> {
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'none' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
  };
  for (;;) {
    try {
      await kubectl(['get', '--raw', '/readyz', '--request-timeout=5s']);
      await kubectl(['wait', '--for=condition=Ready', 'nodes', '--all', timeout(2 * patienceMs)]);
      // By its kubelet, which asks its runtime.
      await kubectl(['get', '--raw', `/api/v1/nodes/${node}/proxy/stats/summary`, '--request-timeout=5s']);
      await kubectl(['create', '--dry-run=server', '--filename', '-'], JSON.stringify(claim));
      return;
    } catch {
      await pause(200);
    }
  }
}

test.each(Object.entries(faults))('%s', async (_, fault) => {
  const cold = newWorkspace();
  const script = 'touch begun; until [ -e over ]; do sleep 0.1; done; rm over';
  const turn = turnOf(script);
  const running = placeOf(warm).start(['sh', '-c', script]);
  await untilBegun(working, turn);
  await untilBegun(warm, running.ended);
  await machine(...fault.begin);
  try {
    // Their limits pass 10 times as fast.
    const hasty = { env: hastened };
    await Promise.all([
      expectOne(placeOf(warm).start(['true'], hasty), fault.warm),
      fault.cold && expectOne(placeOf(cold).start(['true'], hasty), fault.cold),
      expectOne(removalOf(old, hasty), fault.removal),
    ]);
    if (fault.lost === undefined) {
      for (const each of [working, warm]) ownFile(join(each, 'over'), '');
      await running.succeeds();
      expect(await turn).toMatchObject({ result: { stopReason: 'end_turn' } });
    } else {
      await expectOne(running, fault.lost);
      const message = expect.stringMatching(fault.lost) as string;
      expect(await turn).toMatchObject({ error: { code: -32603, message } });
    }
  } finally {
    await machine(...fault.end);
  }
  await whole();
  expect(await turnOf('echo back')).toMatchObject({ result: { stopReason: 'end_turn' } });
  await placeOf(warm).prints(['true']);
  await placeOf(cold).start(['true']).succeeds(limitMs);
  await removalOf(old).succeeds(limitMs);
  old = cold;
});

test('nothing is left after that', async () => {
  editor.proxy.child.stdin.end();
  await editor.proxy.ends();

  await cai.start(['rm', '--force', '--volumes', '--all']).succeeds();

  // The cluster takes away a secret a moment after its pod.
  const left = () =>
    inNamespace('get', 'pods,secrets,pvc', '--selector', 'containai.managed', '--output', 'name');
  while (left().includes('secret/')) await pause(100);
  expect(left()).toBe('');
});
