/** `cai --acp cursor`, whose agent is the adapter over the stand-in, with Zed's capabilities. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ClientCapabilities } from '@agentclientprotocol/sdk';
import { chooseAgent } from '../../src/commands/acp/common-options';
import { Host } from '../../src/system/host';
import { cai, runCli } from '../support/cli';
import { hastened } from '../support/hastened';
import { untilGone } from '../support/processes';
import { newFolder } from '../support/temp-folder';
import { zed } from '../support/zed';
import { caiCursor, cursorAgent, Editor, Place } from './editor';
import { zSessionUpdate } from '../../node_modules/@agentclientprotocol/sdk/dist/v1/schema/zod.gen.js';

let editor: Editor;
afterEach(async () => {
  await editor.close();
  for (const update of editor.updates) expect(zSessionUpdate.safeParse(update).error).toBeUndefined();
});

async function open(place = new Place(), args = ['--acp', 'cursor', '--trust'], config = ''): Promise<void> {
  const folder = join(place.folder, '.config/containai');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.toml'), config);
  editor = await Editor.open(place, {
    ...{ program: cai, args },
    env: args[0] === 'cursor' ? {} : { CAI_ACP_DIRECT_SPAWN: '1' },
    capabilities: zed.clientCapabilities as ClientCapabilities,
  });
}

/** The adapter that has started the last turn. */
const adapterPid = (): number => {
  const { pid } = editor.place.prompts.at(-1)!;
  return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
};

test('cai --acp cursor has turns with their tools and tokens, and a cancelled one ends', async () => {
  await open();
  const { sessionId } = await editor.session();

  const answer = await editor.prompt(sessionId, 'play hello');
  await editor.prompt(sessionId, 'play tools');
  const turn = editor.prompt(sessionId, 'wait');
  await editor.update((update) => JSON.stringify(update).includes('This takes long.'));
  await editor.connection.agent.notify('session/cancel', { sessionId });

  expect(answer).toMatchObject({ stopReason: 'end_turn', usage: { totalTokens: 120 } });
  expect(editor.updates.some((update) => 'title' in update && update.title === 'npm test')).toBe(true);
  expect(await turn).toEqual({ stopReason: 'cancelled' });
  expect(editor.text()).toMatch(/Last words\.$/);
  expect(editor.place.prompts[0]!.args).toContain('--trust');
});

test('a session goes on in its chat after the adapter was killed, and after a restart of all', async () => {
  await open();
  const { place } = editor;
  const { sessionId } = await editor.session();
  await editor.prompt(sessionId, 'one');
  const lost = editor.prompt(sessionId, 'wait');
  await editor.update((update) => JSON.stringify(update).includes('This takes long.'));
  const pid = adapterPid();
  process.kill(pid, 'SIGKILL');
  await expect(lost).rejects.toMatchObject({ code: -32603 });
  await untilGone(pid);
  // What it had started ends when it next writes, which the stand-in does not.
  process.kill(-editor.place.prompts.at(-1)!.pid, 'SIGKILL');

  await editor.prompt(sessionId, 'three');

  expect(editor.text()).toMatch(/Prompt 3 of this chat\.$/);
  await editor.close();
  await open(place);
  await editor.connection.agent.request('session/load', { sessionId, cwd: place.cwd, mcpServers: [] });
  expect(editor.text('user_message_chunk')).toBe('onewaitthree');
  // As far as the turn had come when the adapter was killed.
  expect(editor.text()).toContain('This takes long.');
  await editor.prompt(sessionId, 'four');
  expect(editor.text()).toMatch(/Prompt 4 of this chat\.$/);
});

test('turns are in "cai usage" like those of any agent, with averages', async () => {
  await open();
  const { sessionId } = await editor.session();
  await editor.connection.agent.request('session/set_config_option', {
    ...{ sessionId, configId: 'model', value: 'some-model-2' },
  });
  for (const prompt of ['play hello', 'play tools']) await editor.prompt(sessionId, prompt);
  await editor.close();

  const env = { HOME: editor.place.folder, XDG_STATE_HOME: join(editor.place.folder, 'state') };
  const { stdout } = await runCli(['usage', '--by', 'model', '--json'], { env });

  expect(JSON.parse(stdout)).toMatchObject({
    rows: [{ key: 'some-model-2', turns: 2, tools: 7, tokens: { total: 120 } }],
    averagePerTurn: { tools: 3.5, tokens: { total: 60 } },
  });
});

describe('a command line with "acp" of its own', () => {
  /** What it was started with, besides short commands. */
  const starts = (place: Place) => place.starts.map(({ args }) => args.join(' '));

  function withAcp(): Place {
    const place = new Place();
    mkdirSync(place.standIn, { recursive: true });
    writeFileSync(join(place.standIn, 'has-acp'), '');
    return place;
  }

  test('is asked once, and then speaks itself', async () => {
    const place = withAcp();
    for (let count = 0; count < 2; count += 1) {
      await open(place);
      const { sessionId } = await editor.session();
      await editor.prompt(sessionId, 'hello');
      expect(await editor.close()).toBe(0);
    }

    expect(starts(place).filter((args) => args === 'acp --help')).toHaveLength(1);
    expect(new Set(starts(place))).toEqual(new Set(['acp --help', 'acp --trust']));
  });

  test.each([
    ['native', false, 'acp --trust'],
    ['stream-json', true, 'models'],
  ])('is not asked with adapter = "%s"', async (adapter, isThere, start) => {
    const place = isThere ? withAcp() : new Place();
    await open(place, undefined, `[restart]\nattempts = 1\n[agents.cursor]\nadapter = "${adapter}"\n`);

    await editor.session().catch(() => undefined);

    expect(starts(place)).toContain(start);
    expect(starts(place)).not.toContain('acp --help');
  });

  test('is asked again when another version is installed', async () => {
    const place = new Place();
    const program = join(place.folder, 'cursor-agent');
    const install = (version: string) =>
      writeFileSync(program, `#!/bin/sh\n# ${version}\nexec "${cursorAgent}" "$@"\n`, { mode: 0o755 });
    const asked = async () => {
      const env = {
        ...{ CURSOR_AGENT_EXECUTABLE: program, CURSOR_STAND_IN: place.standIn },
        HOME: place.folder,
      };
      await runCli(['--adapter', 'auto', '--acp'], { program: caiCursor, env });
      return starts(place).filter((args) => args === 'acp --help').length;
    };
    install('1');
    expect([await asked(), await asked()]).toEqual([1, 1]);

    install('2, longer');

    expect(await asked()).toBe(2);
  });
});

test('in a container it is one file, which needs no other', async () => {
  const { agent } = chooseAgent('cursor', ['--trust'], new Host({ HOME: newFolder() }));
  const [program, file, ...args] = agent.command;
  expect([program, file]).toEqual(['node', '/run/cai/cai-cursor']);
  const alone = join(newFolder(), 'cai-cursor');
  copyFileSync(join(dirname(cai), '../dist/cursor/main.js'), alone);

  editor = await Editor.open(undefined, { program: alone, args });
  const { sessionId } = await editor.session();
  await editor.prompt(sessionId, 'play hello');

  expect(editor.text()).toBe('Hello there.');
  expect(editor.place.prompts[0]!.args).toContain('--trust');
});

test('nothing is kept with persist = false', async () => {
  await open(undefined, undefined, '[sessions]\npersist = false\n');
  const { place } = editor;
  const { sessionId } = await editor.session();
  await editor.prompt(sessionId, 'one');
  await editor.prompt(sessionId, 'two');

  expect(editor.text()).toMatch(/Prompt 2 of this chat\.$/);
  expect(existsSync(place.sessions)).toBe(false);
  expect(editor.hello.agentCapabilities?.loadSession).toBeFalsy();
});

describe('cai cursor', () => {
  async function told(what: string, env: NodeJS.ProcessEnv = {}): Promise<unknown> {
    const { folder, standIn } = editor.place;
    const run = await runCli(['cursor', what, '--json'], {
      env: {
        ...{ HOME: folder, XDG_STATE_HOME: join(folder, 'state'), CURSOR_STAND_IN: standIn },
        ...{ CURSOR_AGENT_EXECUTABLE: cursorAgent, ...env },
      },
    });
    expect(run).toMatchObject({ status: 0, stderr: '' });
    return JSON.parse(run.stdout);
  }

  test('usage, status and models tell what the extension methods tell', async () => {
    await open(undefined, ['cursor']);
    const { sessionId } = await editor.session();
    await editor.prompt(sessionId, 'play hello');
    const { agent } = editor.connection;

    const questions = ['usage', 'status', 'models'] as const;
    const [usage, status, models] = await Promise.all(questions.map((what) => told(what)));

    for (const [index, answer] of [usage, status, models].entries())
      expect(answer).toEqual(await agent.request(`_cursor/${questions[index]!}`, {}));
    expect(status).toMatchObject({
      ...{ isHealthy: true, version: '2026.10.01-stand-in', isSignedIn: true, hasKey: false },
    });
    expect(usage).toMatchObject({
      ...{ total: { turns: 1, totalTokens: 120 }, averagePerTurn: { durationMs: 1_234 } },
      notTold: ['costs', 'rate limits'],
    });
  });

  test('a command line that does not answer is told after a time', async () => {
    await open(undefined, ['cursor']);
    mkdirSync(editor.place.standIn, { recursive: true });
    writeFileSync(join(editor.place.standIn, 'hangs'), '');

    expect(await told('status', { ...hastened, CAI_HASTEN_BY: '40' })).toMatchObject({
      ...{ isHealthy: false, version: null, isSignedIn: null },
      about: { error: expect.stringMatching(/^no answer in 20 s/) as string },
    });
  });
});
