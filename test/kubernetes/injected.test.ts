/** Containers that a cluster adds to every pod. */
import { join } from 'node:path';
import type { Engine } from '../../src/container/engine/engine';
import { buildTimeoutMs } from '../engine/place';
import { folder, newWorkspace, ownFile } from '../engine/support';
import { InjectingFront } from './injecting-front';
import { kubectl } from './kubectl';
import { connect, nodePlan, Place } from './place';
import { ClusterUser } from './user';

/** A class of pods, which is the whole cluster's. */
const priority = `cai-injected-${process.pid}`;
let place: Place;
let front: InjectingFront;
let user: ClusterUser;

beforeAll(async () => {
  place = await Place.make('cai-injected');
  front = await InjectingFront.start(place.cluster);
  user = await ClusterUser.make(place);
  user.cai.env.KUBECONFIG = join(folder, 'front');
  ownFile(user.cai.env.KUBECONFIG, front.kubeconfig);
  await kubectl(['create', 'priorityclass', priority, '--value=1000']);
}, buildTimeoutMs);

afterAll(async () => {
  front.end();
  await place.remove();
  await kubectl(['delete', 'priorityclass', priority]);
});

async function isConfined(engine: Engine, id: string): Promise<boolean | undefined> {
  return (await engine.inspectContainer(id))?.rights.isConfined;
}

test('they count as expected where the configuration names them, and the container lives as without them', async () => {
  const strict = await connect(front.behind);
  const engine = await connect(front.behind, { injected: front.names });
  const program = `console.log('begun'); process.on('SIGUSR1', () => process.exit(7)); setInterval(() => 0, 1e6)`;
  const id = (await engine.createContainer('meshed', nodePlan(program), () => Promise.resolve()))!;
  await engine.startContainer(id, []);

  expect(await isConfined(strict, id)).toBe(false);
  expect((await strict.inspectContainer(id))?.strangers).toEqual(front.names);
  expect(await isConfined(engine, id)).toBe(true);
  expect((await engine.processes(id)).map(({ command }) => command)).toContainEqual(
    expect.stringMatching(/^node /),
  );
  while ((await engine.logsTail(id, 1)) !== 'begun\n') expect(await isConfined(engine, id)).toBe(true);
  await place.kubectl(['exec', 'meshed', '--container=agent', '--', 'sh', '-c', 'kill -USR1 1']);
  expect(await engine.waitContainer(id)).toBe(7);
  // The other container runs on.
  expect(await engine.inspectContainer(id)).toMatchObject({ state: 'exited', exitCode: 7 });
  await engine.removeContainer(id);
  expect(await engine.inspectContainer(id)).toBeUndefined();
});

test('a command is refused with what to do, and runs once the configuration names them, in a pod as that wants it', async () => {
  const cwd = newWorkspace();
  const own = ['labels = ["team=web"]', 'annotations = ["owner=ann"]', `priority_class = "${priority}"`];
  const wanted = `${own.join('\n')}\nwritable_folders = ["/tmp"]\nallow_own_node = true\n`;
  const configured = (more: string) => user.configured('[kubernetes]\n', `[kubernetes]\n${wanted}${more}`);

  const refused = await user.exec(['true'], { cwd, config: configured('') });
  const config = configured(`injected = ${JSON.stringify(front.names)}\n`);
  const script = 'touch /tmp/a ~/b c && touch /var/tmp/d';
  const ended = await user.exec(['sh', '-c', script], { cwd, config });
  const doctor = await user.cai.start(['doctor'], { cwd, env: { XDG_CONFIG_HOME: config } }).ends();

  expect(refused).toMatchObject({
    status: 15,
    stderr: expect.stringMatching(
      /shares its pod with "mesh", "mesh-init", which cai has not made: .*kubernetes\.injected/,
    ) as string,
  });
  expect(ended).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("'/var/tmp/d': Read-only file system") as string,
  });
  expect(doctor.stdout.toString()).toContain('but for its own node, which was not tried');
  const labelled = await place.kubectl(['get', 'pods,pvc', '--selector', 'team=web', '--output', 'json']);
  expect((JSON.parse(labelled) as { items: unknown }).items).toMatchObject([
    { kind: 'Pod', metadata: { annotations: { owner: 'ann' } }, spec: { priorityClassName: priority } },
    { kind: 'PersistentVolumeClaim' },
  ]);
});
