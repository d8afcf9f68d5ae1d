/** How the agents of the catalog sign in: by their own commands, in their own images, without an account. */
import { join } from 'node:path';
import { request } from 'node:http';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { isOpen } from '../support/ports';
import { Editor } from './editor';
import { provideImages } from './model';
import { buildTimeoutMs } from './place';
import { tried } from '../support/nightly';
import { patienceMs } from '../support/patience';
import { Cai, newWorkspace, ownFile } from './support';

const inBrowser = tried([['codex', 'chat-gpt'] as const], [['gemini', 'oauth-personal'] as const]);
const cai = new Cai();
beforeEach(() => cai.configure(''));

/** Runs a command in the container of that workspace and agent; what it says. */
async function sayIn(workspace: string, agent: string, ...command: readonly string[]): Promise<string> {
  const ran = cai.start(['exec', '--quiet', '--agent', agent, '--', ...command], { cwd: workspace });
  ran.child.stdin.end();
  return (await ran.succeeds()).stdout.toString();
}

describe('the sign-in of claude', () => {
  beforeAll(() => provideImages('claude'), buildTimeoutMs);

  test('asks in a terminal for the page to be opened, up to where it needs the network', async () => {
    const login = cai.startInTerminal(['login', 'claude', '--quiet']);

    await login.says('https://claude.com/');
    await login.says('Paste code here');
    login.child.stdin.write('\x03');

    expect((await login.ends()).status).not.toBe(0);
  });

  test('ends by its own command', async () => {
    const { status, stdout, stderr } = await cai.run(['logout', 'claude', '--quiet']);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.toString()).toMatch(/log(ged)? ?out/i);
  });
});

describe('the sign-in of opencode', () => {
  const ways = tried<[string, string, boolean]>(
    [['is for one workspace', '', false]],
    [['is the same in every workspace that shares its data', '[agent]\ndata = "shared"\n', true]],
  );
  beforeAll(() => provideImages('opencode'), buildTimeoutMs);

  test.each(ways)(
    '%s, also after its containers are gone, until it is signed out',
    async (_, config, isShared) => {
      cai.configure(config);
      const [workspace, other] = [newWorkspace(), newWorkspace()];
      const list = ['opencode', 'auth', 'list'];
      const cwd = isShared ? cai.home : workspace;

      const login = cai.startInTerminal(['login', 'opencode', '--quiet'], { cwd });
      await login.says('Select provider');
      login.child.stdin.write('deepseek');
      await login.says('(1 match)');
      login.child.stdin.write('\r');
      await login.says('Enter your API key');
      login.child.stdin.write('made-up\r');
      await login.succeeds();

      await cai.run(['rm', '--all', '--agent', 'opencode', '--force']);
      expect(await sayIn(workspace, 'opencode', ...list)).toContain('DeepSeek');
      expect((await sayIn(other, 'opencode', ...list)).includes('DeepSeek')).toBe(isShared);
      const logout = cai.startInTerminal(['logout', 'opencode', '--quiet'], { cwd });
      await logout.says('DeepSeek');
      logout.child.stdin.write('\r');
      await logout.succeeds();
      for (const each of isShared ? [workspace, other] : [workspace])
        expect(await sayIn(each, 'opencode', ...list)).not.toContain('DeepSeek');
    },
  );
});

describe('the sign-in of copilot', () => {
  beforeAll(() => provideImages('copilot'), buildTimeoutMs);

  test('names a page, whose answer reaches it from a browser of this machine', async () => {
    const login = cai.startInTerminal(['login', 'copilot', '--quiet']);
    await login.says('https://github.com/login/oauth/authorize?');
    await login.says('Waiting for authorization');
    const port = Number(
      /redirect_uri=http%3A%2F%2F127\.0\.0\.1%3A(\d+)%2F/.exec(login.stdout.toString())![1],
    );
    const deadline = Date.now() + patienceMs;
    while (!(await isOpen(port)) && Date.now() < deadline) await pause(20);

    const asked = request({ host: '127.0.0.1', port, path: '/callback?code=c&state=not-its-own' }).end();
    const [answer] = (await once(asked, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
    answer.resume();

    // It is the agent that refuses the answer of another page.
    expect(answer.statusCode).toBe(400);
    login.child.stdin.write('\x03');
    expect((await login.ends()).status).not.toBe(0);
  });
});

describe('an API key that is typed into gemini', () => {
  beforeAll(() => provideImages('gemini'), buildTimeoutMs);

  /** Does what its dialogue does: keeps the key that is given, and reads the one that is there. */
  const program = `
    import { readdirSync, readFileSync } from 'node:fs';
    const bundle = '/usr/local/lib/cai/agent/lib/node_modules/@google/gemini-cli/bundle';
    const isPart = (name) => name.startsWith('chunk-') && /^  saveApiKey,$/m.test(readFileSync(bundle + '/' + name, 'utf8'));
    const { saveApiKey, loadApiKey } = await import(bundle + '/' + readdirSync(bundle).find(isPart));
    if (process.argv[2] !== undefined) await saveApiKey(process.argv[2]);
    process.stdout.write('key: ' + (await loadApiKey()), () => process.exit());
  `;

  test('is good in every workspace that shares its data, and in containers that are made anew', async () => {
    cai.configure('[agent]\ndata = "shared"\n');
    const [workspace, other] = [newWorkspace(), newWorkspace()];
    for (const each of [workspace, other]) ownFile(join(each, 'key.mjs'), program);

    expect(await sayIn(workspace, 'gemini', 'node', 'key.mjs', 'made-up')).toContain('key: made-up');

    expect(await sayIn(other, 'gemini', 'node', 'key.mjs')).toContain('key: made-up');
    await cai.run(['rm', '--all', '--agent', 'gemini', '--force']);
    expect(await sayIn(workspace, 'gemini', 'node', 'key.mjs')).toContain('key: made-up');
    await cai.run(['logout', 'gemini', '--quiet', '--yes']);
    expect(await sayIn(other, 'gemini', 'node', 'key.mjs')).toContain('key: null');
  });
});

describe.each(inBrowser)('the sign-in of %s that opens a browser', (agent, methodId) => {
  beforeAll(() => provideImages(agent), buildTimeoutMs);

  test('is answered with what to do instead, and so is a session that needs one', async () => {
    const editor = await Editor.open(cai, agent);
    const advice = `to sign in, run: cai login ${agent}`;

    const { error: asked } = await editor.request('session/new', { cwd: newWorkspace(), mcpServers: [] });
    const { error: failed } = await editor.request('authenticate', { methodId });

    expect(asked).toMatchObject({
      code: -32000,
      message: expect.stringContaining(`(${advice})`) as string,
    });
    expect(failed).toMatchObject({ message: expect.stringContaining(advice) as string });
    expect(editor.proxy.stderr).toContain(advice);
    editor.proxy.child.stdin.end();
    await editor.proxy.ends();
  });
});
