import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { signInToken } from '../../src/agent/sign-in-argument';
import type { Json } from '../support/inbox';
import { isOpen } from '../support/ports';
import { Editor } from './editor';
import { containerOf, processesIn, untilOnly } from './inside';
import { agent, cai, made, runIn } from './own-agent';
import type { Running } from './running';
import { patienceMs } from '../support/patience';
import { newWorkspace, ownFile } from './support';

const program = 'signs-in.mjs';
const source = readFileSync(resolve(__dirname, '../../fixtures/agents', program), 'utf8');
const config = `[agents.${agent}]\ncommand = ["node", "${program}", "--acp"]\n[agent]\ndefault = "${agent}"\n`;
const sharingConfig = `${config}data = "shared"\n`;

/** What an editor says that can run sign-ins. */
const editorHello = {
  protocolVersion: 1,
  clientCapabilities: { auth: { terminal: true }, _meta: { 'terminal-auth': true } },
};

interface Method {
  readonly args: string[];
  readonly env: Json;
  readonly _meta: { readonly 'terminal-auth': { command: string; args: string[]; env: Json; label: string } };
}

beforeEach(() => cai.configure(config));

/** A workspace that has the agent. */
function workspaceWithAgent(): string {
  const workspace = newWorkspace();
  ownFile(join(workspace, program), source);
  return workspace;
}

/** The port that a sign-in in that workspace listens on, once it is on this machine. */
async function portOf(login: Running, workspace: string): Promise<number> {
  await login.says('open http://localhost:');
  const port = Number(readFileSync(join(workspace, 'port'), 'utf8'));
  const deadline = Date.now() + patienceMs;
  while (!(await isOpen(port))) {
    if (Date.now() > deadline) throw new Error(`port ${port} is not here: ${login.stderr}`);
    await pause(20);
  }
  return port;
}

/** What a browser does at the end of a sign-in; resolves with the page. */
async function callBack(port: number, code: string): Promise<string> {
  const asked = request({ host: '127.0.0.1', port, path: `/callback?code=${code}` }).end();
  const [answer] = (await once(asked, 'response')) as [NodeJS.ReadableStream];
  return await text(answer);
}

/** What the agent has kept of the sign-in, as the container of that workspace finds it. */
async function keptIn(workspace: string): Promise<string> {
  const { stdout, stderr } = await runIn(workspace, ['exec', '--quiet', '--', 'cat', '/home/agent/.config/signs-in/credentials']); // prettier-ignore
  return stdout + stderr;
}

describe('a sign-in that an editor runs', () => {
  /** What an editor that starts us in `cwd` is told, by `initialize` and by the refusal of a session. */
  async function offered(workspace: string, cwd = workspace): Promise<{ editor: Editor; methods: Method[] }> {
    const editor = Editor.start(cai, agent, { cwd });
    const hello = (await editor.request('initialize', editorHello)).result as { authMethods: Method[] };
    const { error } = await editor.request('session/new', { cwd: workspace, mcpServers: [] });
    expect(error).toMatchObject({ code: -32000, message: 'Sign in first' });
    const { data } = error as { data: { authMethods: Method[] } };
    return { editor, methods: [...hello.authMethods, ...data.authMethods] };
  }

  test('is offered with nothing of the agent’s to run', async () => {
    const { methods } = await offered(workspaceWithAgent());

    expect(methods).toHaveLength(2);
    for (const { args, env, _meta, ...rest } of methods) {
      expect(rest).toEqual({ id: 'login', name: 'Log in', type: 'terminal' });
      expect([signInToken(args), env]).toEqual([expect.any(String), {}]);
      expect(_meta['terminal-auth']).toEqual({
        ...{ label: 'Log in here', command: process.execPath, env: {} },
        args: [expect.stringMatching(/^\/.*\/bin\/cai$/), 'terminal', expect.stringMatching(/^[\w-]+$/)],
      });
    }
  });

  test.each([
    [
      'by arguments behind those of the editor’s own',
      'by arguments',
      ({ args }: Method) => ['--acp', agent, ...args],
    ],
    [
      'by the command that it is given',
      'by command',
      ({ _meta }: Method) => _meta['terminal-auth'].args.slice(1),
    ],
  ])('signs in within the container, for all workspaces that share data: %s', async (_, hint, argsOf) => {
    cai.configure(sharingConfig);
    const [workspace, other] = [workspaceWithAgent(), workspaceWithAgent()];
    const { editor, methods } = await offered(workspace);

    const login = cai.startInTerminal(argsOf(methods.at(-1)!));
    const page = await callBack(await portOf(login, workspace), 'abc');
    const { status, stdout } = await login.ends();

    expect({ status, page }).toEqual({ status: 0, page: 'You can close this page.' });
    expect(stdout.toString()).toContain('on a terminal');
    // For the agent that has refused before, for another workspace, and for a container that is new.
    const opened = await editor.request('session/new', { cwd: workspace, mcpServers: [] });
    expect(opened).toHaveProperty('result.sessionId');
    expect(await keptIn(other)).toBe(`abc ${hint}`);
    await runIn(workspace, ['rm', '--all', '--agent', agent, '--force']);
    expect(await keptIn(other)).toBe(`abc ${hint}`);
  });

  test('signs in to the workspace alone, from any folder of it, at the first start and at later ones', async () => {
    const [workspace, other] = [workspaceWithAgent(), workspaceWithAgent()];
    const folder = join(workspace, 'src');
    mkdirSync(folder);

    for (const code of ['first', 'later']) {
      await runIn(workspace, [
        'exec',
        '--',
        'rm',
        '-rf',
        join(workspace, 'port'),
        '/home/agent/.config/signs-in',
      ]);
      const { editor, methods } = await offered(workspace, folder);
      const login = cai.startInTerminal(['--acp', agent, ...methods[0]!.args]);
      await callBack(await portOf(login, workspace), code);
      expect((await login.ends()).status).toBe(0);

      expect(await editor.newSession(workspace)).toEqual(expect.any(String));
      expect(await keptIn(workspace)).toBe(`${code} by arguments`);
      expect(await keptIn(other)).toMatch(/No such file/);
      editor.proxy.child.stdin.end();
      await editor.proxy.ends();
    }
  });

  test('can be run again with the same token, and gives its status', async () => {
    const workspace = workspaceWithAgent();
    const { methods } = await offered(workspace);
    const args = ['--acp', agent, ...methods.at(-1)!.args];

    for (const [code, status] of [
      ['wrong', 7],
      ['right', 0],
    ] as const) {
      rmSync(join(workspace, 'port'), { force: true });
      const login = cai.start(args);
      await callBack(await portOf(login, workspace), code);
      expect((await login.ends()).status).toBe(status);
    }
  });
});

describe('cai login', () => {
  test('signs in by the command that is named, and closes the port with it', async () => {
    const workspace = workspaceWithAgent();
    const login = cai.start(['login', agent, '-q', '-w', workspace, '--', 'node', program, 'login', 'port']);
    const port = await portOf(login, workspace);

    const page = await callBack(port, 'abc');
    const { status, stderr } = await login.ends();

    expect({ status, page }).toEqual({ status: 0, page: 'You can close this page.' });
    expect(stderr).toBe('');
    expect(await isOpen(port)).toBe(false);
    expect(await keptIn(workspace)).toBe('abc ');
    expect(await keptIn(newWorkspace())).toMatch(/No such file/);
  });

  test('shows a page that the command wants to show, in the browser of this machine', async () => {
    const [bin, shown] = [newWorkspace(), join(newWorkspace(), 'shown')];
    ownFile(
      join(bin, 'xdg-open'),
      `#!/bin/sh\nprintf '%s\\n' "$#" "$1" > '${shown}.new'; mv '${shown}.new' '${shown}'\n`,
    );
    chmodSync(join(bin, 'xdg-open'), 0o755);
    const env = { DISPLAY: ':0', PATH: `${bin}:${process.env.PATH}` };
    const opens =
      'for page in https://example.com/ "https://claude.com/a?b=\\$(c) d"; do "$BROWSER" "$page"; done; ls -l "$BROWSER"';

    const login = cai.startInTerminal(['login', 'claude', '--', 'sh', '-c', opens], {
      env,
      cwd: newWorkspace(),
    });
    const { status, stdout } = await login.ends();

    expect({ status, shown: readFileSync(shown, 'utf8') }).toEqual({
      status: 0,
      shown: '1\nhttps://claude.com/a?b=$(c)%20d\n',
    });
    // The terminal adds a CR once the command has ended, which may be before the page is told.
    expect(stdout.toString()).toMatch(
      /cai: opening in your browser: https:\/\/claude\.com\/a\?b=\$\(c\)%20d\r+\n/,
    );
    expect(stdout.toString()).not.toContain('browser: https://example.com');
    expect(stdout.toString()).toContain('-rwx------');
  });

  test('says where it has failed without a terminal that most agents need one', async () => {
    const failed = await runIn(newWorkspace(), ['login', agent, '--quiet', '--', 'false']);

    expect(failed).toMatchObject({ status: 1, stderr: expect.stringMatching(/^cai: this sign-in had no terminal/) as string }); // prettier-ignore
  });

  test('needs no workspace where all share their data', async () => {
    cai.configure(sharingConfig);
    const write = 'mkdir -p ~/.config/signs-in; echo done > ~/.config/signs-in/credentials';
    expect(await runIn(cai.home, ['login', agent, '--quiet', '--', 'sh', '-c', write])).toMatchObject({ status: 0, stderr: '' }); // prettier-ignore

    expect(await keptIn(newWorkspace())).toBe('done\n');
  });

  test('leaves nothing when it is ended', async () => {
    const workspace = workspaceWithAgent();
    await made(workspace);
    const container = await containerOf(workspace, agent);
    const idle = await processesIn(container);
    const login = cai.start(['login', agent, '-w', workspace, '--', 'node', program, 'login', 'port']);
    const port = await portOf(login, workspace);

    login.child.kill('SIGKILL');
    await login.ends();

    expect(await isOpen(port)).toBe(false);
    await untilOnly(container, idle, 10_000);
  });

  test.each([
    ['nobody', 2, 'Unsupported agent: nobody'],
    [agent, 2, `how to sign in to "${agent}" is not known: name its command`],
  ])('refuses "%s"', async (name, status, said) => {
    const ended = await runIn(cai.home, ['login', name]);

    expect(ended.status).toBe(status);
    expect(ended.stderr).toContain(said);
  });
});

describe('cai logout', () => {
  test('removes the files of an agent that has no command for it, if that is wanted', async () => {
    const put = 'echo x > ~/.gemini/oauth_creds.json; echo y > ~/.gemini/settings.json';
    const inGemini = ['exec', '--quiet', '--no-workspace', '--agent', 'gemini', '--', 'sh', '-c'];
    expect(await runIn(cai.home, [...inGemini, put])).toMatchObject({ status: 0 });

    const refused = await runIn(cai.home, ['logout', 'gemini', '--quiet']);
    const agreed = await runIn(cai.home, ['logout', 'gemini', '--quiet', '--yes']);

    expect(refused).toMatchObject({ status: 2, stdout: '' });
    expect(refused.stderr).toContain('Use --yes to agree.');
    expect(agreed).toEqual({ status: 0, stdout: '', stderr: '' });
    const left = await runIn(cai.home, [...inGemini, 'ls ~/.gemini']);
    expect(left.stdout).toContain('settings.json');
    expect(left.stdout).not.toContain('oauth_creds.json');
  });
});
