/** What a user has of all this: agents in pods, one for each workspace, and the next prompt goes on whatever is lost. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { agentAnswers } from '../agents/transcript';
import { acpx, AcpxSession, provideClients } from '../engine/clients';
import { kubernetesConfig } from '../engine/engines';
import { modelConfig, startModel } from '../engine/model';
import { Cai, folder, newWorkspace, ownFile } from '../engine/support';
import { Place } from './place';

const machine = join(__dirname, 'machine.sh');
const registry = process.env.CAI_TEST_REGISTRY!;
const buildMs = 900_000;
const endTurn = { result: { stopReason: 'end_turn' } };

let place: Place;
let cai: Cai;

beforeAll(async () => {
  provideClients();
  place = await Place.make('cai-product');
  ownFile(join(folder, 'kubeconfig'), readFileSync(process.env.KUBECONFIG!));
  cai = newCai();
  const built = cai.start(['build', '--push', '--agent', 'claude']);
  built.child.stdin.end();
  await built.succeeds(buildMs);
}, buildMs);

afterAll(() => place.remove());

function newCai(): Cai {
  const image = `[image]\nregistry = "${registry}/cai"\n`;
  const made = new Cai(`${modelConfig}${kubernetesConfig(place.namespace)}${image}`);
  made.env.KUBECONFIG = join(folder, 'kubeconfig');
  return made;
}

/** The pod of a workspace, and the node that has it. */
async function podOf(workspace: string): Promise<{ readonly name: string; readonly node: string }> {
  const { items } = JSON.parse(await place.kubectl(['get', 'pods', '--output', 'json'])) as {
    readonly items: readonly {
      readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> };
      readonly spec: { readonly nodeName: string };
    }[];
  };
  const labels = (annotations: Record<string, string> = {}) =>
    JSON.parse(annotations['containai.labels'] ?? '{}') as Record<string, string>;
  const [found] = items.filter(
    ({ metadata }) => labels(metadata.annotations)['containai.workspace'] === workspace,
  );
  return { name: found!.metadata.name, node: found!.spec.nodeName };
}

/** An editor whose first turn is over. */
async function begun(workspace: string): Promise<AcpxSession> {
  await startModel(cai, workspace, 'claude');
  const session = new AcpxSession(cai, 'claude', workspace);
  await session.open();
  await session.prompt('one').succeeds();
  return session;
}

test('two workspaces at once have an agent each, which reads, writes and runs a command there', async () => {
  const workspaces = [newWorkspace(), newWorkspace()];
  const prompt = '[[read note.txt]] [[write note.txt by the agent]] [[shell touch made-by-shell]]';
  for (const workspace of workspaces) ownFile(join(workspace, 'note.txt'), 'before');

  const turns = workspaces.map(async (workspace) => {
    await startModel(cai, workspace, 'claude');
    const { client, transcript } = acpx(cai, 'claude', workspace, 'exec', prompt);
    await client.succeeds();
    return transcript();
  });

  for (const [index, transcript] of (await Promise.all(turns)).entries()) {
    expect(agentAnswers(transcript, 'session/prompt')).toMatchObject([endTurn]);
    expect(readFileSync(join(workspaces[index]!, 'note.txt'), 'utf8').trimEnd()).toBe('by the agent');
    expect(readFileSync(join(workspaces[index]!, 'made-by-shell'), 'utf8')).toBe('');
  }
  const pods = await Promise.all(workspaces.map(podOf));
  expect(new Set(pods.map(({ name }) => name)).size).toBe(2);
});

test('the pod is gone: the next prompt goes on in another one', async () => {
  const workspace = newWorkspace();
  const session = await begun(workspace);
  const { name } = await podOf(workspace);
  await place.kubectl(['delete', 'pod', name]);
  await startModel(cai, workspace, 'claude');

  await session.prompt('two').succeeds();

  expect(agentAnswers(session.transcript(), 'session/prompt')).toMatchObject([endTurn, endTurn]);
  await session.close();
});

test('the node is gone: what fails is told, and when the cluster has noticed, the next prompt goes on elsewhere', async () => {
  const workspace = newWorkspace();
  const session = await begun(workspace);
  const { name, node } = await podOf(workspace);
  await promisify(execFile)(machine, ['kill', `kubelet-${node}`]);
  try {
    await place.kubectl(['wait', '--for=condition=Ready=false', '--timeout=100s', `pod/${name}`]);
    await startModel(cai, workspace, 'claude');
    await session.prompt('two').succeeds();

    expect((await podOf(workspace)).node).not.toBe(node);
  } finally {
    await promisify(execFile)(machine, ['revive', `kubelet-${node}`]);
    await session.close();
  }
});

test('nothing of a workspace is left after cai rm --volumes', async () => {
  const workspace = newWorkspace();
  const own = newCai();
  const run = async (...args: string[]) => {
    const running = own.start(args, { cwd: workspace });
    running.child.stdin.end();
    return await running.succeeds();
  };
  const objects = () => place.kubectl(['get', 'pods,secrets,pvc', '--output', 'name']);
  const before = await objects();
  await run('exec', '--', 'true');
  expect(await objects()).not.toBe(before);

  await run('rm', '--force', '--volumes');

  // The cluster takes away what belongs to a pod a moment later.
  while ((await objects()) !== before) await place.kubectl(['get', 'pods']);
});
