import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Json } from '../support/inbox';
import { Editor } from './editor';
import { containerOf, measured } from './inside';
import { provideImages } from './model';
import { buildTimeoutMs } from './place';
import { Cai, docker, newWorkspace, type RunOptions } from './support';

/** From the request to the error, in milliseconds: everything is known at once in these cases. */
const secondsMs = 10_000;
const mock = '[agents.claude]\ncommand = ["node", "mock-acp-server", "--acp"]\n';
/** An agent that has no image. */
const absent = '[agents.absent]\ncommand = ["absent"]\n';

let cai: Cai;
let workspace: string;
beforeAll(() => provideImages('claude'), buildTimeoutMs);
beforeEach(() => {
  cai = new Cai();
  workspace = newWorkspace();
});

describe('an agent that cannot be started: initialize is answered, and session/new gets the cause', () => {
  test('the agent is not in the image', async () => {
    cai.configure('[agents.claude]\ncommand = ["no-such-agent"]\n');

    expect(await causeOf('claude')).toBe(
      'agent "claude": no-such-agent: command not found: install it in the image, or give its path',
    );
  });

  test('the base image does not exist', async () => {
    cai.configure(`${absent}[image]\nbase = "localhost:1/no-such-base:1"\n`);

    const message = await causeOf('absent');

    expect(message).toContain('cannot pull the image localhost:1/no-such-base:1');
    expect(message).toContain('connection refused');
    expect(message).toContain('name another one as "base" in [image]');
  });

  test('the build fails', async () => {
    const empty = `cai-test-empty-${process.pid}`;
    execFileSync('sh', ['-c', `tar -c -T /dev/null | docker import - ${empty}`]);
    cai.configure(`${absent}[image]\nbase = "${empty}"\n`);

    const message = await causeOf('absent');
    await docker('rmi', empty);

    const [first, ...rest] = message.split('\n');
    expect(first).toMatch(/^agent "absent": cannot build the image containai-environment:[0-9a-f]{12}: \S/);
    expect(rest.join('\n')).toMatch(/^(?:\[1\/2\] )?step \d+\/\d+ ?: RUN /im);
    expect(rest.length).toBeLessThanOrEqual(20);
  });
});

describe('an agent that is ended in the middle of a turn: the prompt gets the cause, the next session works', () => {
  beforeEach(() =>
    cpSync(resolve(__dirname, '../../fixtures/mock-acp-server'), join(workspace, 'mock-acp-server')),
  );

  test('the memory of its container was all used', async () => {
    cai.configure(`${mock}[container]\nmemory = "128MiB"\n`);
    const { editor, session } = await opened();

    const answer = await inTime('killed for memory', () => editor.prompt(session, 'hoard'));

    expect(textOf(answer)).toMatch(/memory.*container\.memory/);
    await expectWorking(editor);
  });

  test.each([
    ['killed', ['kill'], 'was killed by SIGKILL'],
    ['removed', ['rm', '--force'], '(was removed|was killed by SIGKILL)'],
  ])('its container was %s', async (what, end, cause) => {
    cai.configure(mock);
    const { editor, session } = await opened();
    const container = await containerOf(workspace, 'claude');
    const answer = editor.prompt(session, 'say begun; wait');
    await editor.hears(session, 'begun');

    const ending = docker(...end, container);
    const [error] = await Promise.all([inTime(`container ${what}`, () => answer), ending]);

    expect(textOf(error)).toMatch(new RegExp(`^agent "claude": the container ${container} ${cause}$`));
    await expectWorking(editor);
  });
});

/** The message of the error that `session/new` gets, in time, from a proxy that has answered `initialize`. */
async function causeOf(agent: string, options: RunOptions = {}): Promise<string> {
  const editor = Editor.start(cai, agent, { cwd: workspace, ...options });
  const hello = await inTime('initialize', () => editor.initialize());
  expect(hello).toMatchObject({ result: { protocolVersion: 1 } });
  const params = { cwd: workspace, mcpServers: [] };
  return textOf(await inTime('session/new', () => editor.request('session/new', params)));
}

async function opened(): Promise<{ editor: Editor; session: string }> {
  const editor = await Editor.open(cai, 'claude', { cwd: workspace });
  return { editor, session: await editor.newSession(workspace) };
}

async function expectWorking(editor: Editor): Promise<void> {
  const session = await editor.newSession(workspace);
  expect(await editor.prompt(session, 'say it works')).toMatchObject({ result: { stopReason: 'end_turn' } });
  expect(editor.said(session)).toBe('it works');
}

async function inTime(what: string, request: () => Promise<Json>): Promise<Json> {
  const { result, tookMs } = await measured(what, request);
  expect(tookMs).toBeLessThan(secondsMs);
  return result;
}

function textOf(answer: Json): string {
  const error = answer.error as { code: number; message: string };
  expect(error).toMatchObject({ code: -32603 });
  return error.message;
}
