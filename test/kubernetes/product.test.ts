/**
 * What a user has of pods besides what agents do: certificates, ports of this machine, a word while a pod waits for a node,
 * claims that go when nobody uses them.
 */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { inNamespace, podsOf, type TestPod } from '../engine/cluster';
import { Editor } from '../engine/editor';
import { filesConfig } from '../engine/engines';
import { modelConfig, provideImages } from '../engine/model';
import { buildTimeoutMs, Place } from '../engine/place';
import { Cai, newWorkspace, ownFile } from '../engine/support';
import { agent, hostileConfig } from '../escape/hostile-agent';
import { hastened } from '../support/hastened';

const cai = new Cai(modelConfig);
const endTurn = { result: { stopReason: 'end_turn' } };

beforeAll(() => provideImages('claude'), buildTimeoutMs);

/** The pod of a workspace. */
function podOf(workspace: string): TestPod {
  const [pod, ...more] = podsOf(workspace);
  if (pod === undefined || more.length > 0) throw new Error(`not one pod, but ${more.length + 1}`);
  return pod;
}

test('a pod trusts the certificates of the user besides those of its image, and the cluster keeps the former alone', async () => {
  const workspace = newWorkspace();
  const authority = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const { CAI_TEST_CA_FILE: machines } = process.env;
  process.env.CAI_TEST_CA_FILE = join(newWorkspace(), 'ca.pem');
  ownFile(process.env.CAI_TEST_CA_FILE, authority);
  const trusting = new Cai(modelConfig);
  if (machines === undefined) delete process.env.CAI_TEST_CA_FILE;
  else process.env.CAI_TEST_CA_FILE = machines;

  const bundle = '/etc/ssl/certs/ca-certificates.crt';
  const reading = trusting.start(['exec', '--', 'sh', '-c', `cat ${bundle}; echo x >> ${bundle}`], {
    cwd: workspace,
  });
  reading.child.stdin.end();
  const { stdout, stderr } = await reading.ends();

  expect(stdout.toString().match(/^-----BEGIN CERTIFICATE-----$/gm)!.length).toBeGreaterThan(100);
  expect(stdout.toString()).toContain(`\n${authority}`);
  expect(stderr).toContain('Read-only file system');
  const secrets = podOf(workspace).spec.volumes!.flatMap(({ secret }) => secret?.secretName ?? []);
  expect(inNamespace('get', 'secret', ...secrets, '--output', 'json').length).toBeLessThan(128 * 1024);
});

test('a port of this machine is reached by each of several commands that follow one another at once', async () => {
  const server = createServer((socket) => socket.end('here')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const place = await new Place(new Cai(`host_ports = [${port}]\n`)).opened();
  const reads = `require('net').connect(${port}, 'localhost').pipe(process.stdout)`;

  // An sshd that lives on would have the port.
  for (let commands = 0; commands < 3; commands++)
    expect(await place.prints(['node', '-e', reads])).toBe('here');

  server.close();
});

test('while a pod waits for a node the thread says so, and the prompt is answered once there is one', async () => {
  const [node = ''] = (process.env.CAI_TEST_K8S_NODES ?? '').split(' ');
  const label = (end: string) => inNamespace('label', 'node', node, `cai.test-thread${end}`);
  const selector = '[kubernetes]\nnode_selector = ["cai.test-thread=here"]\n';
  const waiting = new Cai(hostileConfig() + filesConfig.replace('[kubernetes]\n', selector));
  const workspace = newWorkspace();
  const env = { ...hastened, CAI_HASTEN_ONLY: 'exec' };
  label('=here');
  try {
    const editor = await Editor.open(waiting, agent, { cwd: workspace, env });
    const session = await editor.newSession(workspace);
    const turn = () => editor.prompt(session, '[{"sh":"true"}]');
    // The agent has the session only then.
    expect(await turn()).toMatchObject(endTurn);
    label('-');
    inNamespace('delete', 'pod', podOf(workspace).metadata.name);

    const answer = turn();
    await editor.hears(session, 'Its container is waiting for a node: 0/2 nodes are available');
    label('=here');

    expect(await answer).toMatchObject(endTurn);
    editor.proxy.child.stdin.end();
    await editor.proxy.ends();
  } finally {
    label('-');
  }
});

test('cai prune --unused removes the claim of a workspace that nobody has used for so long', async () => {
  const [idle, used] = [newWorkspace(), newWorkspace()];
  for (const cwd of [idle, used]) {
    const running = cai.start(['exec', '--', 'true'], { cwd });
    running.child.stdin.end();
    await running.succeeds();
  }
  const folder = join(cai.env.XDG_STATE_HOME!, 'containai/used');
  for (const name of readdirSync(folder)) {
    const record = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Record<string, string>;
    if (record.path === idle)
      ownFile(join(folder, name), JSON.stringify({ ...record, value: '2026-01-02T03:04:05.000Z' }));
  }
  const claims = () => inNamespace('get', 'pvc', '--output', 'name');
  const prune = async (...args: string[]) => (await cai.run(['prune', '--unused', '30d', ...args])).stdout;

  inNamespace('delete', 'pod', podOf(idle).metadata.name);
  expect((await prune('--dry-run')).toString()).not.toContain(used);
  expect((await prune('--yes')).toString()).toMatch(
    new RegExp(`^volume .*${idle} was last used on 2026-01-02`, 'm'),
  );

  expect(claims()).not.toContain(basename(idle));
  expect(claims()).toContain(basename(used));
});

test('a workspace whose volume the cluster is still removing gets another one', async () => {
  const workspace = newWorkspace();
  const start = (...args: string[]) => {
    const running = cai.start(args, { cwd: workspace });
    running.child.stdin.end();
    return running;
  };
  await start('exec', '--', 'sh', '-c', 'echo old > /home/agent/.data/old').succeeds();
  const claims = () => inNamespace('get', 'pvc', '--output', 'name').split('\n');
  const claim = claims().find((each) => each.includes(basename(workspace)))!;
  const finalizers = (all: string) =>
    inNamespace('patch', claim, '--type=merge', `--patch={"metadata":{"finalizers":${all}}}`);
  finalizers('["containai.test/hold"]');
  await start('rm', '--force', '--volumes').succeeds();

  const next = start('exec', '--', 'ls', '/home/agent/.data/old');
  // Time enough for a pod that would never find its volume.
  for (let looks = 0; looks < 20 && podsOf(workspace).length === 0; looks++) inNamespace('get', 'pods');
  finalizers('null');

  expect((await next.ends()).stderr).toContain('No such file or directory');
  expect(claims().filter((each) => each === claim)).toHaveLength(1);
});
