/** An afternoon with Zed and the real Claude, in pods on two nodes: one editor, two projects at once. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { killIfThere } from '../agents/leftovers';
import { inNamespace, podsOf } from '../engine/cluster';
import { Editor } from '../engine/editor';
import { processesIn, untilEnded, untilRuns } from '../engine/inside';
import { modelConfig, modelEnv, provideImages, startModel } from '../engine/model';
import { buildTimeoutMs } from '../engine/place';
import { Cai, folder, newWorkspace } from '../engine/support';
import type { Json } from '../support/inbox';
import { zed } from '../support/zed';
import { kubectl } from './kubectl';

const agent = 'claude';
const endTurn = { result: { stopReason: 'end_turn' } };

/** A project that is open in the editor. */
interface Project {
  readonly cwd: string;
  readonly session: string;
  readonly node: string;
  readonly pod: string;
}

let cai: Cai;
let editor: Editor;
let one: Project;
let two: Project;

beforeAll(async () => {
  await provideImages(agent);
  cai = new Cai(`${modelConfig}[container]\nmemory = "1GiB"\n`);
  // In a folder that is no project, as Zed does.
  editor = Editor.start(cai, agent, { env: modelEnv });
  await editor.request('initialize', zed);
  one = await opened();
  await kubectl(['cordon', one.node]);
  try {
    two = await opened();
  } finally {
    await kubectl(['uncordon', one.node]);
  }
}, buildTimeoutMs);

afterAll(async () => {
  editor.proxy.child.stdin.end();
  await editor.proxy.ends();
});

async function opened(): Promise<Project> {
  const cwd = newWorkspace();
  await startModel(cai, cwd, agent);
  const session = await editor.newSession(cwd);
  const [{ metadata, spec } = { metadata: { name: '' }, spec: { nodeName: '' } }] = podsOf(cwd);
  return { cwd, session, node: spec.nodeName, pod: metadata.name };
}

const projects = (): readonly Project[] => [one, two];
const inBoth = <T>(action: (project: Project) => Promise<T>): Promise<T[]> =>
  Promise.all(projects().map(action));

/** What the editor was told or asked of a session, of one method. */
function told(method: string, { session }: Project): readonly Json[] {
  const ofMethod = editor.messages.filter((message) => message.method === method);
  return ofMethod.map(({ params }) => params as Json).filter(({ sessionId }) => sessionId === session);
}

/** Claude refuses a command that only sleeps. */
const shell = (command: string): string => `[[shell ${command}]]`;

test('the agents are on two nodes, and all that the editor is to run here is cai', () => {
  const hello = JSON.stringify(editor.messages[0]);
  const offered = [...hello.matchAll(/"command":"([^"]+)","args":\["([^"]+)","([^"]+)"/g)];

  expect(new Set(projects().map(({ node }) => node)).size).toBe(2);
  expect(offered).not.toEqual([]);
  for (const [, ...words] of offered)
    expect(words).toEqual([process.execPath, join(folder, 'package/bin/cai'), 'terminal']);
});

test('turns run at once, with permissions that the editor gives, and what commands print', async () => {
  const turns = await inBoth(({ cwd, session }) =>
    editor.prompt(session, `[[write note.txt of ${cwd}]] ${shell('echo said-by-shell; cat note.txt')}`),
  );

  expect(turns).toMatchObject([endTurn, endTurn]);
  for (const project of projects()) {
    expect(readFileSync(join(project.cwd, 'note.txt'), 'utf8').trimEnd()).toBe(`of ${project.cwd}`);
    expect(told('session/request_permission', project)).not.toEqual([]);
    const updates = JSON.stringify(told('session/update', project));
    expect(updates).toContain('terminal_output');
    expect(updates).toContain('said-by-shell');
    expect(updates).not.toContain(projects().find((other) => other !== project)!.cwd);
  }
});

test('a command that uses all memory of its pod is killed, which the thread tells, and the turn goes on', async () => {
  const words = "The agent's container has run out of memory";

  expect(await editor.prompt(one.session, shell(`perl -e '$x = "x" x (1200 << 20)'`))).toMatchObject(endTurn);

  await editor.hears(one.session, words);
  expect(editor.said(two.session)).not.toContain(words);
});

test('an agent that crashes costs its turn alone, and the next prompt of its session goes on', async () => {
  const turn = editor.prompt(one.session, shell('true; sleep 612'));
  await untilRuns(one.pod, 'sleep 612');

  const agents = (await processesIn(one.pod)).filter(({ command }) =>
    /node .*claude-agent-acp/.test(command),
  );
  for (const { pid } of agents) killIfThere(pid);

  expect(await turn).toMatchObject({ error: { code: -32603 } });
  expect(await inBoth(({ session }) => editor.prompt(session, 'and now'))).toMatchObject([endTurn, endTurn]);
  for (const { session } of projects()) expect(editor.said(session)).toContain('Echo: and now');
});

test('a quota that is used up in mid-session is told with what to do, and the session goes on once there is room', async () => {
  const hasCounted = () => inNamespace('get', 'quota', 'team', '--output', 'jsonpath={.status.used}') !== '';
  const refused: Json[] = [];
  inNamespace('create', 'quota', 'team', '--hard=pods=1');
  try {
    while (!hasCounted()) await pause(200);
    const turn = editor.prompt(one.session, shell('true; sleep 613'));
    await untilRuns(one.pod, 'sleep 613');
    inNamespace('delete', 'pod', '--grace-period=0', '--force', one.pod);
    expect(await turn).toMatchObject({ error: { message: expect.stringMatching(/was removed/) as string } });

    const opening = editor.request('session/new', { cwd: newWorkspace(), mcpServers: [] });
    refused.push(...(await Promise.all([opening, editor.prompt(one.session, 'no room')])));
    // Whoever has a pod needs no room.
    expect(await editor.prompt(two.session, 'still here')).toMatchObject(endTurn);
  } finally {
    inNamespace('delete', 'quota', 'team');
  }

  for (const { error } of refused)
    expect((error as Json).message).toMatch(
      /exceeded quota: team, requested: pods=1, used: pods=\d+, limited: pods=1.*"cai rm".* raise that ResourceQuota/,
    );
  // The model has gone with the pod.
  await startModel(cai, one.cwd, agent);
  expect(await editor.prompt(one.session, 'room again')).toMatchObject(endTurn);
  expect(editor.said(one.session)).toContain('Echo: room again');
});

test('a turn is cancelled, and what it had started ends, while the other one goes on', async () => {
  const turns = [one, two].map(({ session }, index) =>
    editor.prompt(session, shell(`true; sleep 61${index}`)),
  );
  await Promise.all([untilRuns(one.pod, 'sleep 610'), untilRuns(two.pod, 'sleep 611')]);

  editor.notify('session/cancel', { sessionId: one.session });

  expect(await turns[0]).toMatchObject({ result: { stopReason: 'cancelled' } });
  await untilEnded(one.pod, 'sleep 610');
  expect((await processesIn(two.pod)).map(({ command }) => command)).toContain('sleep 611');
  editor.notify('session/cancel', { sessionId: two.session });
  expect(await turns[1]).toMatchObject({ result: { stopReason: 'cancelled' } });
});
