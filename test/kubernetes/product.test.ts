/** What a user has of all this: agents in pods, one for each workspace, and the next prompt goes on whatever is lost. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { agentAnswers } from '../agents/transcript';
import { acpx, AcpxSession, provideClients } from '../engine/clients';
import { inNamespace, podsOf, type TestPod } from '../engine/cluster';
import { modelConfig, provideImages, startModel } from '../engine/model';
import { buildTimeoutMs } from '../engine/place';
import { Cai, newWorkspace, ownFile } from '../engine/support';

const machine = join(__dirname, 'machine.sh');
const endTurn = { result: { stopReason: 'end_turn' } };
const cai = new Cai(modelConfig);

beforeAll(async () => {
  provideClients();
  await provideImages('claude');
}, buildTimeoutMs);

/** The pod of a workspace. */
function podOf(workspace: string): TestPod {
  const [pod, ...more] = podsOf(workspace);
  if (pod === undefined || more.length > 0) throw new Error(`not one pod, but ${more.length + 1}`);
  return pod;
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
  const pods = workspaces.map((each) => podOf(each).metadata.name);
  expect(new Set(pods).size).toBe(2);
});

test('the pod is gone: the next prompt goes on in another one', async () => {
  const workspace = newWorkspace();
  const session = await begun(workspace);
  inNamespace('delete', 'pod', podOf(workspace).metadata.name);
  await startModel(cai, workspace, 'claude');

  await session.prompt('two').succeeds();

  expect(agentAnswers(session.transcript(), 'session/prompt')).toMatchObject([endTurn, endTurn]);
  await session.close();
});

test('the node is gone: what fails is told, and when the cluster has noticed, the next prompt goes on elsewhere', async () => {
  const workspace = newWorkspace();
  const session = await begun(workspace);
  const { metadata, spec } = podOf(workspace);
  await promisify(execFile)(machine, ['kill', `kubelet-${spec.nodeName}`]);
  try {
    inNamespace('wait', '--for=condition=Ready=false', '--timeout=100s', `pod/${metadata.name}`);
    await startModel(cai, workspace, 'claude');
    await session.prompt('two').succeeds();

    expect(podOf(workspace).spec.nodeName).not.toBe(spec.nodeName);
  } finally {
    await promisify(execFile)(machine, ['revive', `kubelet-${spec.nodeName}`]);
    await session.close();
  }
});

test('nothing of a workspace is left after cai rm --volumes', async () => {
  const workspace = newWorkspace();
  const run = async (...args: string[]) => {
    const running = cai.start(args, { cwd: workspace });
    running.child.stdin.end();
    await running.succeeds();
  };
  const objects = () => inNamespace('get', 'pods,secrets,pvc', '--output', 'name');
  const before = objects();
  await run('exec', '--', 'true');
  expect(objects()).not.toBe(before);

  await run('rm', '--force', '--volumes');

  // The cluster takes away what belongs to a pod a moment later.
  while (objects() !== before) inNamespace('get', 'pods');
});
