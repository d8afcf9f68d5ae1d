import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../support/inbox';
import { Editor } from './editor';
import { isNightly, tried } from '../support/nightly';
import { provideImages } from './model';
import { buildTimeoutMs } from './place';
import { Cai, docker, folder, newWorkspace, user } from './support';

/** What an editor offers on which real agents' answers depend. */
const offering = [
  {},
  { auth: { terminal: true }, _meta: { 'terminal-auth': true }, elicitation: { form: {}, url: {} } },
];
/** Of the other agents both are tried nightly: each has to be started for itself. */
const offeredTo = (name: string) => (name === 'claude' || isNightly ? offering : offering.slice(1));
/** The agent whose image the test makes. */
const agent = `profiles-${process.pid}`;
const image = `containai:${agent}`;

let cai: Cai;
beforeAll(() => provideImages('claude', 'gemini', 'codex', 'opencode'), buildTimeoutMs);
beforeEach(() => (cai = new Cai()));
afterAll(() => docker('rmi', '--force', image).catch(() => undefined));

describe('initialize', () => {
  test('needs neither an engine nor an image for an agent of the catalog, and offers ways to sign in', async () => {
    const editor = Editor.start(cai, 'codex', { env: { DOCKER_HOST: `unix://${folder}/none.sock` } });

    const { result } = await editor.initialize();

    expect((result as Json).authMethods).toMatchObject([{ id: 'api-key' }, { id: 'chat-gpt' }]);
    editor.proxy.child.stdin.end();
    expect((await editor.proxy.ends()).stderr).toBe('');
  });

  test.each(tried(['claude'], ['gemini', 'codex', 'opencode']))(
    'starts no container for %s in a folder that is no workspace',
    async (name) => {
      for (const clientCapabilities of offering) {
        const before = await containers();
        const editor = Editor.start(cai, name, { cwd: cai.home, env: { CAI_LOG_LEVEL: 'info' } });
        await editor.request('initialize', { protocolVersion: 1, clientCapabilities });
        await editor.proxy.complains('"source":"shipped"');
        expect(await containers()).toEqual(before);
      }
    },
  );

  test.each(['claude', 'gemini', 'codex', 'opencode'])(
    'is what %s says itself in the workspace that we are started in, and for no other folder',
    async (name) => {
      // Else what is as shipped is answered so, because our logins are good for more workspaces than recorded ones.
      cai.configure('[agent]\ndata = "shared"\n');
      for (const clientCapabilities of offeredTo(name)) {
        const workspace = newWorkspace();
        const startIn = async (cwd: string): Promise<Editor> => {
          const editor = Editor.start(cai, name, { cwd, env: { CAI_LOG_LEVEL: 'info' } });
          await editor.request('initialize', { protocolVersion: 1, clientCapabilities });
          return editor;
        };
        const editor = await startIn(workspace);
        await editor.proxy.complains('is kept for next time');

        expect(editor.proxy.stderr).not.toContain('initialize was answered with');
        const [again, elsewhere] = [await startIn(workspace), await startIn(cai.home)];
        await again.proxy.complains('"source":"recorded"');
        await elsewhere.proxy.complains('"source":"shipped"');
        for (const each of [editor, again, elsewhere]) await close(each);
      }
    },
  );

  test('is corrected for next time after the image was made anew with an agent that offers something else', async () => {
    cai.configure(`[agents.${agent}]\ncommand = ["profiled-agent"]\n`);
    const workspace = newWorkspace();
    makeImage({ loadSession: true });
    const first = Editor.start(cai, agent);
    expect(await capabilities(first)).toEqual({ loadSession: true });
    // The container that it was asked in must not be in use, or it stays as it is.
    await close(first);

    makeImage({ loadSession: false, mcpCapabilities: { http: true } });
    const editor = Editor.start(cai, agent);
    expect(await capabilities(editor)).toEqual({ loadSession: true });
    await editor.newSession(workspace);
    const params = { sessionId: 's1', cwd: workspace, mcpServers: [] };
    const loaded = await editor.request('session/load', params);

    expect(loaded.error).toMatchObject({ code: -32601 });
    await editor.proxy.complains('initialize was answered with');
    const warning = editor.proxy.stderr
      .split('\n')
      .find((line) => line.includes('initialize was answered with'));
    expect(JSON.parse(warning ?? '{}')).toMatchObject({
      differs: ['agentCapabilities.loadSession', 'agentCapabilities.mcpCapabilities'],
      because: 'the agent or its image is another version',
    });
    expect(await capabilities(Editor.start(cai, agent))).toEqual({
      loadSession: false,
      mcpCapabilities: { http: true },
    });
  });
});

async function close({ proxy }: Editor): Promise<void> {
  proxy.child.stdin.end();
  await proxy.ends();
}

async function capabilities(editor: Editor): Promise<unknown> {
  const { result } = await editor.initialize();
  return (result as Json).agentCapabilities;
}

/** Makes the agent's image: it answers with these capabilities, and opens a session. */
function makeImage(agentCapabilities: Json): void {
  const context = mkdtempSync(join(folder, 'image-'));
  const result = JSON.stringify({ protocolVersion: 1, agentCapabilities });
  const script = `#!/usr/bin/env node
    const lines = require('node:readline').createInterface({ input: process.stdin });
    lines.on('line', (line) => {
      const { id, method } = JSON.parse(line);
      const result = method === 'initialize' ? ${result} : { sessionId: 's1' };
      if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
    });`;
  writeFileSync(join(context, 'agent'), script);
  const steps = ['FROM containai:claude', 'COPY agent /usr/local/bin/profiled-agent', 'RUN chmod 755 /usr/local/bin/profiled-agent']; // prettier-ignore
  writeFileSync(join(context, 'Dockerfile'), steps.join('\n'));
  execFileSync('docker', ['build', '--quiet', '--tag', image, context], { stdio: 'pipe' });
}

/** Ids of the user's containers, whatever their state. */
async function containers(): Promise<string> {
  const ours = ['--filter', 'label=containai.managed=true', '--filter', `label=containai.user=${user.uid}`];
  return await docker('ps', '--all', '--quiet', '--no-trunc', ...ours);
}
