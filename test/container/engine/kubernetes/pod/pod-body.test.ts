import { configOf } from '../../../../../src/config/config';
import { noRights } from '../../../../../src/container/engine/container-info';
import type { ContainerPlan, InnerEntry } from '../../../../../src/container/engine/engine';
import type { Pod } from '../../../../../src/container/engine/kubernetes/pod/pod';
import { podBody } from '../../../../../src/container/engine/kubernetes/pod/pod-body';
import { containerInfoOf, idOf, partsOf } from '../../../../../src/container/engine/kubernetes/pod/pod-info';

const plan: ContainerPlan = {
  image: 'registry.test/containai@sha256:1',
  user: '1234:1235',
  command: ['/usr/bin/perl', '/run/cai/keeper'],
  workingFolder: '/srv/app',
  env: { CAI_IDLE_SECONDS: '5' },
  labels: { 'containai.managed': 'true', 'containai.user': '1000', 'containai.workspace': '/srv/ä b' },
  volumeLabels: {},
  mounts: [
    { type: 'volume', source: 'cai-data', target: '/home/agent/.data', isReadOnly: false },
    { type: 'bind', source: '/srv/app', target: '/srv/app', isReadOnly: false },
    { type: 'bind', source: '/srv/app/.git/config', target: '/srv/app/.git/config', isReadOnly: true },
  ],
  rights: { ...noRights, memoryBytes: 2 ** 28 },
  cpus: 1.5,
  extraHosts: ['a:10.0.0.8', 'b:fd00::1'],
  isTemporary: false,
};
const own = { uid: 1234, gid: 1235 };
const root = { uid: 0, gid: 0 };
const entries: InnerEntry[] = [
  { path: '/run/cai', is: 'folder', mode: 0o755, ...root },
  { path: '/run/cai/keeper', is: { file: 'program' }, mode: 0o755, ...root },
  { path: '/run/cai/used', is: { file: '' }, mode: 0o600, ...own },
  { path: '/home/agent', is: 'folder', mode: 0o755, ...own },
  { path: '/home/agent/.data', is: 'folder', mode: 0o700, ...own },
  { path: '/home/agent/.data/.claude', is: 'folder', mode: 0o700, ...own },
  { path: "/home/agent/it's", is: { link: '.data/x' }, mode: 0o777, ...own },
];
const volumes = [{ folder: '/srv', from: { claim: 'src', path: 'team' } }];
const wanted = { ...configOf([]).kubernetes, volumes };
const request = {
  name: 'cai-app-1',
  secretName: 'cai-app-1-ab',
  imageEnv: ['A=old', 'B=$x', 'C'],
  plan,
  entries,
  wanted,
};
const { pod, secret } = podBody(request);
const [main] = pod.spec.containers;
const [first] = pod.spec.initContainers;
const uid = '91205e28-5633-46f5-b981-0e6d1581d5e1';
const made = { ...pod, metadata: { ...pod.metadata, uid } } as unknown as Pod;

describe('podBody', () => {
  test('asks for nothing that a restricted namespace refuses', () => {
    for (const each of [...pod.spec.initContainers, main!])
      expect(each.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      });
    expect(pod.spec).toMatchObject({
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: {
        runAsUser: 1234,
        runAsGroup: 1235,
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      },
    });
  });

  test('shares memory in a volume, which is none of the mounts that are told of', () => {
    const { pod: sharing } = podBody({ ...request, plan: { ...plan, shmBytes: 2 ** 20 } });

    expect(sharing.spec.volumes).toContainEqual({
      name: 'cai-shm',
      emptyDir: { medium: 'Memory', sizeLimit: '1048576' },
    });
    expect(sharing.spec.containers[0]!.volumeMounts).toContainEqual({
      name: 'cai-shm',
      mountPath: '/dev/shm',
    });
    const told = { ...sharing, metadata: { ...sharing.metadata, uid } } as unknown as Pod;
    expect(containerInfoOf(told, wanted).mounts).toEqual(containerInfoOf(made, wanted).mounts);
  });

  test('has only what can be selected as labels, and all of them as annotations', () => {
    expect(pod.metadata.labels).toEqual({ 'containai.managed': 'true', 'containai.user': '1000' });
    expect(JSON.parse(pod.metadata.annotations['containai.labels']!)).toEqual(plan.labels);
  });

  test("mounts each file of root's from a Secret that never changes, and has the user's made before", () => {
    expect(secret).toMatchObject({
      immutable: true,
      data: { f0: Buffer.from('program').toString('base64') },
    });
    expect(main!.volumeMounts).toContainEqual({
      name: 'cai-files',
      mountPath: '/run/cai/keeper',
      subPath: 'f0',
      readOnly: true,
    });
    expect(main!.volumeMounts).toContainEqual({
      name: 'cai-made',
      mountPath: '/run/cai/used',
      subPath: 'e2',
    });
    expect(main!.volumeMounts).toContainEqual({
      name: 'cai-made',
      mountPath: '/home/agent',
      subPath: 'home',
    });
    expect(first!.command!.at(-1)).toContain(`ln -sfn '.data/x' '/cai-made/home/it'\\''s'`);
  });

  test('joins what is added to a file of the image in the pod, and keeps the same text once', () => {
    const added: InnerEntry = {
      path: '/etc/ca.crt',
      is: { file: 'of the image\nours', added: 'ours' },
      mode: 0o644,
      ...root,
    };
    const same: InnerEntry = { path: '/run/cai/ca.pem', is: { file: 'ours' }, mode: 0o644, ...root };
    const joined = podBody({ ...request, entries: [added, same] });
    const [{ volumeMounts } = {}] = joined.pod.spec.containers;
    expect(joined.secret.data).toEqual(
      expect.objectContaining({ f0: Buffer.from('ours').toString('base64') }),
    );
    expect(Object.values(joined.secret.data)).not.toContain(
      Buffer.from('of the image\nours').toString('base64'),
    );
    expect(volumeMounts).toContainEqual({
      name: 'cai-files',
      mountPath: '/run/cai/ca.pem',
      subPath: 'f0',
      readOnly: true,
    });
    expect(volumeMounts).toContainEqual({
      name: 'cai-made',
      mountPath: '/etc/ca.crt',
      subPath: 'e0',
      readOnly: true,
    });
    expect(joined.pod.spec.initContainers[0]!.command!.at(-1)).toContain(
      "cat '/etc/ca.crt' /cai-files/f0 > '/cai-made/e0'",
    );
  });

  test('makes what a volume is to have in that, and where it is mounted', () => {
    const volume = { name: 'own0', persistentVolumeClaim: { claimName: 'cai-data' } };
    expect(pod.spec.volumes).toContainEqual(volume);
    expect(first!.volumeMounts).toContainEqual({ name: 'own0', mountPath: '/cai-volumes/own0' });
    const script = first!.command!.at(-1);
    expect(script).toContain("mkdir -p '/cai-made/home/.data'");
    // What an agent has left there keeps no container from starting.
    expect(script).toMatch(/^\{ .*mkdir -p '\/cai-volumes\/own0\/\.claude'; \} \|\| :$/m);
  });

  test('finds folders of this machine in the volume that the configuration names', () => {
    expect(pod.spec.volumes).toContainEqual({ name: 'shared1', persistentVolumeClaim: { claimName: 'src' } });
    expect(main!.volumeMounts).toContainEqual({
      name: 'shared1',
      mountPath: '/srv/app',
      subPath: 'team/app',
    });
    expect(main!.volumeMounts).toContainEqual({
      name: 'shared1',
      mountPath: '/srv/app/.git/config',
      subPath: 'team/app/.git/config',
      readOnly: true,
    });
  });

  test("has the image's environment and its own, in which Kubernetes replaces nothing", () => {
    const changed = podBody({ ...request, plan: { ...plan, env: { A: '$(B)$$' }, command: ['$(A)'] } }).pod;
    const [{ env, command } = {}] = changed.spec.containers;
    expect(env).toEqual(
      expect.arrayContaining([
        { name: 'A', value: '$$(B)$$$$' },
        { name: 'B', value: '$$x' },
      ]),
    );
    expect(command).toEqual(['$$(A)']);
    const told = containerInfoOf({ ...changed, metadata: made.metadata } as unknown as Pod, wanted);
    expect(told.env).toEqual(['A=$(B)$$', 'B=$x', 'C=', 'CAI_PORT=2222', 'CAI_FILTER=1']);
  });

  test('goes to the nodes that the user wants, with what that takes', () => {
    const { spec } = podBody({
      ...request,
      wanted: {
        ...wanted,
        nodeSelector: ['disk=ssd'],
        tolerations: ['gpu=yes:NoSchedule', 'spot:NoExecute'],
        runtimeClass: 'gvisor',
        pullSecrets: ['registry'],
      },
    }).pod;
    expect(spec).toMatchObject({
      nodeSelector: { disk: 'ssd' },
      tolerations: [
        { key: 'gpu', operator: 'Equal', value: 'yes', effect: 'NoSchedule' },
        { key: 'spot', operator: 'Exists', effect: 'NoExecute' },
      ],
      runtimeClassName: 'gvisor',
      imagePullSecrets: [{ name: 'registry' }],
    });
  });

  test('asks a node for no more room than it may use', () => {
    const { spec } = podBody({
      ...request,
      plan: { ...plan, rights: { ...noRights, memoryBytes: 2 ** 27 }, cpus: 0.05 },
    }).pod;
    expect(spec.containers[0]!.resources).toEqual({
      requests: { memory: String(2 ** 27), cpu: '0.05' },
      limits: { memory: String(2 ** 27), cpu: '0.05' },
    });
  });

  test('asks a node for what the user wants, however much it may use', () => {
    const requests = ['cpu=20m', 'ephemeral-storage=2Gi', 'nvidia.com/gpu=1'];
    const { spec } = podBody({ ...request, wanted: { ...wanted, requests } }).pod;
    for (const { resources } of [...spec.initContainers, ...spec.containers])
      expect(resources).toEqual({
        requests: { memory: '256Mi', cpu: '20m', 'ephemeral-storage': '2Gi', 'nvidia.com/gpu': '1' },
        limits: { memory: String(2 ** 28), cpu: '1.5', 'nvidia.com/gpu': '1' },
      });
  });

  test('says of a pod what the user wants, and nothing of that counts for what it is', () => {
    const { metadata, spec } = podBody({
      ...request,
      wanted: {
        ...wanted,
        labels: ['team=web', 'containai.user=0'],
        annotations: ['owner=a=b, c', 'containai.labels={}'],
        priorityClass: 'low',
      },
    }).pod;
    expect(metadata.labels).toEqual({ ...pod.metadata.labels, team: 'web' });
    expect(metadata.annotations).toEqual({ ...pod.metadata.annotations, owner: 'a=b, c' });
    expect(spec.priorityClassName).toBe('low');
    expect(pod.spec).not.toHaveProperty('priorityClassName');
  });

  test('leaves only some folders to be written where the user names them', () => {
    const changed = podBody({ ...request, wanted: { ...wanted, writableFolders: ['/tmp', '/var/tmp'] } }).pod;
    const [{ securityContext, volumeMounts } = {}] = changed.spec.containers;
    expect(securityContext).toMatchObject({ readOnlyRootFilesystem: true });
    expect(changed.spec.initContainers[0]!.securityContext).toMatchObject({ readOnlyRootFilesystem: true });
    expect(volumeMounts).toEqual(
      expect.arrayContaining([
        { name: 'writable0', mountPath: '/tmp' },
        { name: 'writable1', mountPath: '/var/tmp' },
      ]),
    );
    expect(changed.spec.volumes).toEqual(
      expect.arrayContaining([
        { name: 'writable0', emptyDir: {} },
        { name: 'writable1', emptyDir: {} },
      ]),
    );
    const told = containerInfoOf({ ...changed, metadata: made.metadata } as unknown as Pod, wanted);
    expect(told).toMatchObject({ mounts: plan.mounts, rights: plan.rights });
  });

  test('mounts what lies in another mount after that', () => {
    const targets = main!.volumeMounts!.map(({ mountPath }) => mountPath);
    expect(targets.indexOf('/home/agent')).toBeLessThan(targets.indexOf('/home/agent/.data'));
    expect(targets.indexOf('/srv/app')).toBeLessThan(targets.indexOf('/srv/app/.git/config'));
  });

  test('knows names of both kinds of addresses', () => {
    expect(pod.spec.hostAliases).toEqual([
      { ip: '10.0.0.8', hostnames: ['a'] },
      { ip: 'fd00::1', hostnames: ['b'] },
    ]);
    const loopback = podBody({ ...request, plan: { ...plan, loopbackNames: ['c'] } }).pod.spec.hostAliases;
    expect(loopback?.at(-1)).toEqual({ ip: '127.0.0.1', hostnames: ['c'] });
  });
});

describe('containerInfoOf', () => {
  test('tells of a pod what it was asked for', () => {
    expect(containerInfoOf(made, wanted)).toMatchObject({
      id: `cai-app-1_${uid}`,
      name: 'cai-app-1',
      state: 'created',
      isRunning: false,
      labels: plan.labels,
      user: plan.user,
      imageId: plan.image,
      rights: plan.rights,
      mounts: plan.mounts,
    });
    expect(partsOf(idOf(made))).toEqual({ name: 'cai-app-1', uid });
  });

  test.each<[string, object, object]>([
    ['a privileged container', {}, { securityContext: { ...main!.securityContext, privileged: true } }],
    ['one that may gain rights', {}, { securityContext: { capabilities: { drop: ['ALL'] } } }],
    ["the node's network", { hostNetwork: true }, {}],
    ["the node's processes", { hostPID: true }, {}],
  ])('sees that %s confines nothing', (_, spec, container) => {
    const changed = { ...made, spec: { ...made.spec, ...spec, containers: [{ ...main!, ...container }] } };

    expect(containerInfoOf(changed as unknown as Pod, wanted).rights.isConfined).toBe(false);
  });
});
