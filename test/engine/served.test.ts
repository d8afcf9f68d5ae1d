/** `cai serve` with agents in containers, and `cai connect` as the editor's end. */
import { statSync } from 'node:fs';
import { Editor } from './editor';
import { containerOf, processesIn, untilOnly } from './inside';
import { modelConfig, modelEnv, provideImages, startModel } from './model';
import { buildTimeoutMs, Place } from './place';
import type { Running } from './running';
import { patienceMs } from '../support/patience';
import { buildServeImage } from './serve-image';
import { Cai, docker, folder, newWorkspace, user } from './support';

const agent = 'claude';
const place = ['--agent', agent];

let cai: Cai;
beforeAll(() => provideImages(agent), buildTimeoutMs);
beforeEach(() => (cai = new Cai(modelConfig)));

/** A server of the user's, and its address. */
async function serve(): Promise<{ server: Running; url: string }> {
  const server = cai.start(['serve', ...place, '--listen', '127.0.0.1:0'], { env: modelEnv });
  await server.complains('cai: serving');
  return { server, url: server.stdout.toString().split('\n', 1)[0]! };
}

/** A workspace whose agent has a model. */
async function workspaceWithModel(): Promise<string> {
  const workspace = newWorkspace();
  await new Place(cai, workspace, place).opened();
  await startModel(cai, workspace, agent);
  return workspace;
}

test('editors work with agents in containers, in several workspaces, and share a session', async () => {
  const [bakery, garden] = [await workspaceWithModel(), await workspaceWithModel()];
  const { url } = await serve();
  const desk = await Editor.connect(cai, url);
  const phone = await Editor.connect(cai, url);
  const sessions = [await desk.newSession(bakery), await desk.newSession(garden)];
  for (const session of sessions) {
    expect(await desk.prompt(session, `of ${session}`)).toMatchObject({ result: { stopReason: 'end_turn' } });
    expect(desk.said(session)).toContain(`Echo: of ${session}`);
  }

  const cakes = sessions[0]!;
  const load = { sessionId: cakes, cwd: bakery, mcpServers: [] };
  expect(await phone.request('session/load', load)).toHaveProperty('result');
  expect(phone.said(cakes)).toBe(desk.said(cakes));
  expect(phone.said(cakes, 'user_message_chunk')).toContain(`of ${cakes}`);
  expect(await phone.prompt(cakes, 'by phone')).toMatchObject({ result: { stopReason: 'end_turn' } });
  await desk.hears(cakes, 'Echo: by phone');
});

test('SIGTERM to the server leaves nothing in containers', async () => {
  const workspace = newWorkspace();
  await new Place(cai, workspace, place).opened();
  const container = await containerOf(workspace, agent);
  const before = await processesIn(container);
  const { server, url } = await serve();
  await (await Editor.connect(cai, url)).newSession(workspace);
  expect((await processesIn(container)).length).toBeGreaterThan(before.length);
  server.child.kill('SIGTERM');
  await server.ends();

  await untilOnly(container, before, 10_000);
});

test(
  'the image of deploy/ serves agents that run beside it',
  async () => {
    const workspace = await workspaceWithModel();
    const tag = `cai-serve-test-${process.pid}`;
    try {
      buildServeImage(tag);
      const editor = await Editor.connect(cai, await startImage(tag));
      const session = await editor.newSession(workspace);
      expect(await editor.prompt(session, 'hello')).toMatchObject({ result: { stopReason: 'end_turn' } });
      expect(editor.said(session)).toContain('Echo: hello');
    } finally {
      await docker('rm', '--force', tag);
      // What is below it is below the next one.
      await docker('rmi', '--no-prune', tag);
    }
  },
  buildTimeoutMs,
);

/** Resolves with the address of a server in a container, which has the folders of the test at their places. */
async function startImage(tag: string): Promise<string> {
  const socket = new URL(cai.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock').pathname;
  const { CAI_TEST_CA_FILE: authority } = process.env;
  const env = Object.entries({ ...cai.env, ...modelEnv, DOCKER_HOST: `unix://${socket}` });
  await docker(
    ...['run', '--detach', '--name', tag, '--network', 'host', '--init'],
    ...['--user', `${user.uid}:${user.gid}`, '--group-add', String(statSync(socket).gid)],
    ...[socket, folder, ...(authority === undefined ? [] : [authority])].flatMap((path) => [
      '--volume',
      `${path}:${path}`,
    ]),
    ...env.flatMap(([name, value]) => (name === 'PATH' ? [] : ['--env', `${name}=${value}`])),
    ...[tag, ...place, '--listen', '127.0.0.1:0'],
  );
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const url = /^http:\S+$/m.exec(await docker('logs', tag))?.[0];
    if (url !== undefined) return url;
    if (Date.now() > deadline) throw new Error(`no address in ${patienceMs} ms`);
  }
}
