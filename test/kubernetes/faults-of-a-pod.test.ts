/** What can happen to a pod and to its place: each fault is one sentence with what to do, and the next command goes on. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CuttingProxy } from '../served/client/cutting-proxy';
import { buildTimeoutMs } from '../engine/place';
import type { Ended } from '../engine/running';
import { newWorkspace, ownFile } from '../engine/support';
import { patienceMs } from '../support/patience';
import { kubectl } from './kubectl';
import { Place } from './place';
import { ClusterUser } from './user';

const refusedStatus = 11;
const registry = process.env.CAI_TEST_REGISTRY!;
/** In a configuration, in the place of a way to the registry that this machine has, and no node. */
const registryOfMachine = '127.0.0.1:PORT';
let place: Place;
let user: ClusterUser;
/** A workspace with a pod. */
let cwd: string;

beforeAll(async () => {
  place = await Place.make('cai-pod-faults');
  user = await ClusterUser.make(place);
  // From now on it is known what is in the image.
  cwd = newWorkspace();
  await user.prints(['true'], { cwd });
}, buildTimeoutMs);
afterAll(() => place.remove());

/** A command that fails with one sentence. */
function expectOne(ended: { status: number | null; stderr: string }, sentence: RegExp, status: number): void {
  expect(ended).toMatchObject({ stderr: expect.stringMatching(sentence) as string, status });
  expect(ended.stderr.match(/\n/g)).toHaveLength(1);
}

interface Named {
  readonly metadata: { readonly name: string; readonly uid: string };
}

/** The pods that are there. */
async function pods(): Promise<readonly Named[]> {
  const said = await place.kubectl(['get', 'pods', '--output', 'json']);
  return (JSON.parse(said) as { readonly items: readonly Named[] }).items;
}

/** Resolves with the first pod that is none of these. */
async function newPod(known: readonly Named[]): Promise<Named> {
  const uids = known.map(({ metadata }) => metadata.uid);
  for (;;) {
    const found = (await pods()).find(({ metadata }) => !uids.includes(metadata.uid));
    if (found !== undefined) return found;
    await pause(200);
  }
}

const limit = (type: string, bounds: object) => ({
  apiVersion: 'v1',
  kind: 'LimitRange',
  metadata: { name: 'rule' },
  spec: { limits: [{ type, ...bounds }] },
});
const quota = (hard: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name: 'rule' },
  spec: { hard },
});

describe('what a rule of the namespace refuses is told, and leaves no pod:', () => {
  test.each([
    [quota({ pods: '0' }), /the pod .* exceeded quota: rule.*: remove containers .*"cai rm"/],
    [quota({ secrets: '0' }), /the pod .* exceeded quota: rule.*: remove containers .*"cai rm"/],
    [quota({ 'limits.cpu': '1' }), /the pod .* must specify limits\.cpu: set .*container\.cpus/],
    [limit('Container', { max: { memory: '16Mi' } }), /the pod .* maximum memory .*: set container\.memory/],
    [quota({ persistentvolumeclaims: '0' }), /the volume .* exceeded quota: rule.*: remove .*--volumes/],
    [
      limit('PersistentVolumeClaim', { max: { storage: '1Mi' } }),
      /the volume .* maximum storage .*: set .*size of/,
    ],
  ])('%j', async (rule, sentence) => {
    const refused = newWorkspace();
    const before = await user.objects('pods,secrets');
    await place.create(rule);
    try {
      if (rule.kind === 'ResourceQuota') await place.appears('resourcequota', '{.status.hard}', /:/);

      expectOne(await user.exec(['true'], { cwd: refused }), sentence, refusedStatus);

      expect(await user.objects('pods,secrets')).toBe(before);
      // Nothing new is needed for that.
      expect(await user.prints(['echo', 'works'], { cwd })).toBe('works');
    } finally {
      await place.kubectl(['delete', rule.kind, 'rule']);
    }
    await user.remove(refused);
  });
});

describe('a pod that finds no place is told with what to do:', () => {
  const faults = [
    [
      'no node has the label',
      '[kubernetes]\n',
      '[kubernetes]\nschedule_timeout = "1m"\nnode_selector = ["cai.test=none"]\n',
      /no node takes it: .*: see "kubectl get nodes .*kubernetes\.node_selector/,
    ],
    [
      'the claim of its folders is not there',
      'node:/tmp',
      'claim:none',
      /no node takes it: .*"none" not found: make that claim, or name another in \[\[kubernetes\.volumes\]\]/,
    ],
    [
      'there is no such class of volumes',
      '[kubernetes]\n',
      '[kubernetes]\nstorage_class = "none"\n',
      /no node takes it: .*PersistentVolumeClaims: see .*kubernetes\.storage_class .*"cai rm --volumes"/,
    ],
    [
      'its node lacks a folder',
      'node:/tmp',
      'node:/none',
      /its node cannot begin with it: .*hostPath type check failed.*: .*\[\[kubernetes\.volumes\]\]/,
    ],
    [
      'its nodes do not reach the registry',
      registry,
      registryOfMachine,
      /ErrImagePull: .*: see that nodes reach that registry, too, .*kubernetes\.pull_secrets/,
    ],
    [
      'its runtime is not there',
      '[kubernetes]\n',
      '[kubernetes]\nruntime_class = "none"\n',
      /RuntimeClass "none" not found: name one of "kubectl get runtimeclasses"/,
    ],
  ] as const;
  /** By what has happened. Each waits for some time, so that all do it together. */
  const suffered = new Map<string, Ended>();
  /** Of these, one leaves a volume that nobody can use. The others leave nothing. */
  const goOn = ['there is no such class of volumes', 'its node lacks a folder'];
  let works: readonly string[];

  const relay = new CuttingProxy(Number(registry.split(':')[1]), () => undefined);
  afterAll(() => relay.close());

  beforeAll(async () => {
    const port = await relay.listen();
    const before = await user.objects('pods');
    const failed = faults.map(async ([what, part, other]) => {
      const folder = newWorkspace();
      const config = user.configured(part, other.replace('PORT', `${port}`));
      const ended = await user.exec(['true'], { cwd: folder, config, isHastened: true });
      return { what, folder, ended };
    });
    const all = await Promise.all(failed);
    // Hastened commands wait too short a time for the end of their pods.
    const endsAt = performance.now() + patienceMs;
    while ((await user.objects('pods')) !== before && performance.now() < endsAt) await pause(200);
    expect(await user.objects('pods')).toBe(before);
    for (const { what, ended } of all) suffered.set(what, ended);
    const working = all.filter(({ what }) => goOn.includes(what));
    works = await Promise.all(
      working.map(async ({ folder }) => {
        await user.remove(folder);
        return await user.prints(['echo', 'works'], { cwd: folder });
      }),
    );
  });

  test.each(faults)('%s', (what, _part, _other, sentence) =>
    expectOne(suffered.get(what)!, sentence, refusedStatus),
  );

  test('where nothing is wrong any more, the next one finds its place', () =>
    expect(works).toEqual(['works', 'works']));
});

test.each([
  [
    'image',
    '[image]\nregistry = "127.0.0.1:5217/',
    '[image]\nregistry = "127.0.0.1:5217/none/',
    /there is no image .*: .*cai build claude --push/,
  ],
  ['namespace', 'namespace = "', 'namespace = "none-', /namespaces "none-.* not found: make that namespace/],
])('is told without a pod where there is no such %s', async (_, part, other, sentence) => {
  const config = user.configured(part, other);

  expectOne(await user.exec(['true'], { cwd: newWorkspace(), config }), sentence, refusedStatus);
});

test('a pod that is deleted while it starts is made anew, and the command runs there', async () => {
  const [node = ''] = (process.env.CAI_TEST_K8S_NODES ?? '').split(' ');
  const config = user.configured('[kubernetes]\n', '[kubernetes]\nnode_selector = ["cai.test=here"]\n');
  const before = await pods();
  const command = user.start(['echo', 'works'], { cwd: newWorkspace(), config });
  const first = await newPod(before);

  await place.kubectl(['delete', 'pod', first.metadata.name]);

  await newPod([...before, first]);
  await kubectl(['label', 'node', node, 'cai.test=here']);
  try {
    expect((await command.succeeds()).stdout.toString()).toBe('works\n');
  } finally {
    await kubectl(['label', 'node', node, 'cai.test-']);
  }
});

test('several processes at once make one pod', async () => {
  const shared = newWorkspace();
  const before = await pods();

  const said = await Promise.all([1, 2, 3].map((each) => user.prints(['echo', `${each}`], { cwd: shared })));

  expect(said).toEqual(['1', '2', '3']);
  expect(await pods()).toHaveLength(before.length + 1);
});

describe('a pod that is lost', () => {
  let lost: string;
  let name: string;
  beforeEach(async () => {
    lost = newWorkspace();
    const before = await pods();
    await user.prints(['true'], { cwd: lost });
    name = (await newPod(before)).metadata.name;
  });

  /** A command that runs until something ends it. */
  async function begun(script = 'sleep 600') {
    const command = user.start(['sh', '-c', `echo begun; ${script}`], { cwd: lost });
    await command.says('begun');
    return command;
  }

  async function expectGoesOn(): Promise<void> {
    expect(await user.prints(['echo', 'works'], { cwd: lost })).toBe('works');
  }

  test.each([
    // On a busy node it may not end by itself within its grace.
    ['is deleted', [], /was (?:stopped|killed by SIGKILL)/, refusedStatus],
    ['is deleted without a grace', ['--grace-period=0', '--force'], /was removed/, 10],
  ])('because it %s costs the command in it, and the next goes on', async (_, how, sentence, status) => {
    const command = await begun();

    await place.kubectl(['delete', 'pod', '--wait=false', ...how, name]);

    expectOne(await command.ends(), sentence, status);
    await expectGoesOn();
  });

  test('because it is deleted while nothing runs in it is no matter', async () => {
    await place.kubectl(['delete', 'pod', '--wait=false', name]);

    await expectGoesOn();
  });

  // Without this right, the kernel kills the largest process instead, and lets nobody protect that one.
  const ofMemory = mayProtect()
    ? { run: test, why: '' }
    : {
        run: test.skip,
        why: ' (skipped: CAP_SYS_RESOURCE, which spares a process, is missing on this machine)',
      };
  ofMemory.run(
    `because its first process is killed for want of memory is told with what to do${ofMemory.why}`,
    async () => {
      const memory = '[container]\nmemory = "128MiB"\n\n[kubernetes]\n';
      const config = user.configured('[kubernetes]\n', memory);
      const before = await pods();
      const small = newWorkspace();
      const script = 'echo begun; until [ -e go-on ]; do sleep 0.1; done; exec node --eval "$1"';
      const hog = 'const all = []; for (;;) all.push(Buffer.alloc(1e6, 1))';
      const command = user.start(['sh', '-c', script, 'sh', hog], { cwd: small, config });
      await command.says('begun');
      const { uid } = (await newPod(before)).metadata;
      makeVictim(uid);

      ownFile(join(small, 'go-on'), '');

      expectOne(
        await command.ends(),
        /was killed for using too much memory: raise container\.memory/,
        refusedStatus,
      );
      expect(await user.prints(['echo', 'works'], { cwd: small, config })).toBe('works');
    },
  );
});

/** Whether this process may have the kernel spare others where memory runs out. Source: capabilities(7), bit 24. */
function mayProtect(): boolean {
  const [, effective] = /^CapEff:\t(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))!;
  return ((BigInt(`0x${effective}`) >> 24n) & 1n) === 1n;
}

/** Has the kernel kill the keeper of a pod first where there is no memory left. */
function makeVictim(uid: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const told = (file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8');
    try {
      if (!told('cgroup').includes(uid)) continue;
      const isFirst = /^NSpid:\t\d+\t1$/m.test(told('status')) && told('cmdline').includes('/run/cai/keeper');
      writeFileSync(`/proc/${pid}/oom_score_adj`, isFirst ? '1000' : '0');
    } catch {
      // It has ended in between.
    }
  }
}

test('a look into an image that its maker has left behind ends by itself, and the next command removes it', async () => {
  const before = await pods();
  const state = join(user.cai.home, 'another-state');
  const command = user.start(['true'], { cwd: newWorkspace(), state });
  const look = `pod/${(await newPod(before)).metadata.name}`;
  expect(look).toContain('/cai-look-');
  command.child.kill('SIGKILL');
  // As if so long a time had passed.
  const limited = await place.kubectl(['get', look, '--output', 'jsonpath={.spec.activeDeadlineSeconds}']);
  await place.kubectl(['patch', look, '--patch', '{"spec":{"activeDeadlineSeconds":1}}']);
  await place.appears(look, '{.status.reason}', /DeadlineExceeded/);

  await user.prints(['true'], { cwd: newWorkspace() });

  expect(Number(limited)).toBeGreaterThan(0);
  expect(await user.objects('pods')).not.toContain(look);
});

test('a pod that is evicted is told with the reason of its node, and the next command has another', async () => {
  const evicted = newWorkspace();
  await place.create(
    limit('Container', {
      default: { 'ephemeral-storage': '8Mi' },
      defaultRequest: { 'ephemeral-storage': '1Mi' },
    }),
  );
  const command = user.start(['sh', '-c', 'head -c 30000000 /dev/zero > /tmp/full; sleep 600'], {
    cwd: evicted,
  });

  expectOne(
    await command.ends(),
    /was ended by the engine \(Evicted: .*8Mi.*\): the next command makes another/,
    refusedStatus,
  );

  await place.kubectl(['delete', 'limitrange', 'rule']);
  expect(await user.prints(['echo', 'works'], { cwd: evicted })).toBe('works');
});

test('nothing is left after "cai rm --all --force --volumes"', async () => {
  expect(await user.objects()).toMatch(
    /pod\/.*\n(?:.*\n)*secret\/.*\n(?:.*\n)*persistentvolumeclaim|persistentvolumeclaim/,
  );

  await user.remove();

  // The cluster takes away what belongs to a pod, and its claims, a moment after it.
  while ((await user.objects()) !== '') await pause(500);
});
