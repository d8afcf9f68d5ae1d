/** Sessions of one repository, each in a worktree with a container of its own. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { hasDevcontainers, inside, marked, newProject, removeImages, trust } from './devcontainers';
import { Editor } from './editor';
import { provideImages } from './model';
import { buildTimeoutMs } from './place';
import { git, nameAuthor, newRepository } from './repository';
import { Cai, ownFile } from './support';

/** Runs each prompt in a shell, and says what that printed. */
const agent = `
const { execFileSync } = require('node:child_process');
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + String.fromCharCode(10));
require('node:readline').createInterface(process.stdin).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') send({ id, result: { protocolVersion: 1, agentCapabilities: { loadSession: true, sessionCapabilities: { close: {} } } } });
  else if (method === 'session/new') send({ id, result: { sessionId: require('node:crypto').randomUUID() } });
  else if (method === 'session/prompt') {
    const text = execFileSync('sh', ['-c', params.prompt[0].text + ' 2>&1 || true'], { encoding: 'utf8' });
    send({ method: 'session/update', params: { sessionId: params.sessionId, update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } } });
    send({ id, result: { stopReason: 'end_turn' } });
  } else if (id !== undefined) send({ id, result: {} });
});`;

let cai: Cai;
let repository: string;
let editor: Editor;
beforeAll(() => provideImages('claude'), buildTimeoutMs);
afterAll(removeImages);
beforeEach(async () => {
  const command = `command = ["node", "-e", ${JSON.stringify(agent)}]\n`;
  cai = new Cai(
    `[agent]\ndefault = "plain"\n[agents.claude]\n${command}[agents.plain]\n${command}[worktrees]\nper_session = true\ncopy = [".env"]\n`,
  );
  nameAuthor(cai);
  repository = newRepository(cai, 'shop');
  ownFile(join(repository, '.env'), 'KEY=1\n');
  ownFile(join(repository, '.git/info/exclude'), '.env\n');
  await enter();
});

/** The agent `plain` needs no packages in its image. */
async function enter(agent: 'claude' | 'plain' = 'claude'): Promise<void> {
  editor = Editor.start(cai, agent, { cwd: repository });
  // Notes are then no messages of the agent.
  await editor.initialize({ session: { notices: {} } });
}

async function leave(): Promise<void> {
  editor.proxy.child.stdin.end();
  await editor.proxy.ends();
}

/** What a session prints for a command. */
async function prints(session: string, command: string): Promise<string> {
  const before = editor.said(session).length;
  expect(await editor.prompt(session, command)).toHaveProperty('result.stopReason', 'end_turn');
  return editor.said(session).slice(before).trim();
}

test('neither sees what the other does; commits arrive as branches, and what is unchanged goes', async () => {
  const [one, two] = [await editor.newSession(repository), await editor.newSession(repository)];
  const folders = [await prints(one, 'pwd'), await prints(two, 'pwd')];
  await prints(one, 'echo of-one > file && git commit --quiet --all --message inside');

  expect(await prints(two, 'cat file .env')).toBe('text\nKEY=1');
  expect(await prints(two, `cat ${repository}/file ${folders[0]}/file`)).toMatch(/^cat: .*\ncat: /);
  // The configuration that all worktrees share, and the state of another one.
  expect(await prints(two, 'git config core.fsmonitor evil; git config --list')).not.toContain('evil');
  const other = `${repository}/.git/worktrees/${folders[0]!.split('/').at(-1)}/HEAD`;
  expect(await prints(two, `echo > ${other} && echo written`)).not.toContain('written');
  const branch = git(cai, '-C', folders[0]!, 'branch', '--show-current');
  const merged = await cai.run(['worktree', 'merge', branch, '--workspace', repository]);
  expect([merged.status, merged.stderr]).toEqual([0, '']);
  expect(git(cai, '-C', repository, 'log', '--format=%s')).toBe('inside\nfirst');

  await leave();
  expect(folders.map((folder) => existsSync(folder))).toEqual([true, false]);

  // Made again where the repository is by now, for the container that had the folder before.
  await enter();
  const again = await editor.request('session/load', { sessionId: two, cwd: repository, mcpServers: [] });
  expect(again).toHaveProperty('result');
  expect(await prints(two, 'pwd; cat file')).toBe(`${folders[1]}\nof-one`);
  await leave();
  expect(folders.map((folder) => existsSync(folder))).toEqual([true, false]);
});

(hasDevcontainers ? test : test.skip)(
  'each has the development container that the user trusts, with files of it that git ignores',
  async () => {
    await leave();
    const compose = { services: { app: { build: '.devcontainer', env_file: 'app.env' } } };
    const files = {
      ...marked,
      'compose.yml': compose,
      '.gitignore': 'app.env\n',
      'app.env': 'GREETING=hello\n',
    };
    newProject({ dockerComposeFile: '../compose.yml', service: 'app' }, files, repository);
    git(cai, '-C', repository, 'add', '.');
    git(cai, '-C', repository, 'commit', '--quiet', '--message', 'container');
    await trust(cai, repository);
    await inside(cai, repository, 'true');

    await enter('plain');
    const session = await editor.newSession(repository);

    expect(await prints(session, 'ls /from-devcontainer; echo $GREETING; git status --short')).toBe(
      '/from-devcontainer\nhello',
    );
    await leave();
  },
  buildTimeoutMs,
);
