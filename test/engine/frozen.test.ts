/** What stands still while an editor serves a file, and goes on whatever ends that. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { killIfThere } from '../agents/leftovers';
import { agent, hostileAgent, hostileConfig, type Outcome, type Step } from '../escape/hostile-agent';
import type { Json } from '../support/inbox';
import { Editor } from './editor';
import { provideImages } from './model';
import { buildTimeoutMs, Place } from './place';
import { Cai, newWorkspace, ownFile } from './support';

const files = { fs: { readTextFile: true, writeTextFile: true } };

let cai: Cai;
let workspace: string;
let place: Place;
let editor: SlowEditor;

beforeAll(async () => await provideImages(agent), buildTimeoutMs);

beforeEach(async () => {
  cai = new Cai(hostileConfig());
  workspace = newWorkspace();
  ownFile(join(workspace, 'file'), 'text');
  place = new Place(cai, workspace, ['--agent', agent]);
  editor = await SlowEditor.open();
});

afterEach(async () => {
  editor.proxy.child.stdin.end();
  await editor.proxy.ends();
});

/** An editor that is asked for a file, and answers when the test says so. */
class SlowEditor {
  readonly proxy;
  readonly #asked: (() => void)[] = [];
  #onAsked: () => void = () => undefined;

  private constructor(
    readonly editor: Editor,
    private readonly session: string,
  ) {
    this.proxy = editor.proxy;
    for (const method of ['fs/read_text_file', 'fs/write_text_file']) {
      editor.serve(method, async () => {
        await new Promise<void>((answer) => {
          this.#asked.push(answer);
          this.#onAsked();
        });
        return { content: 'text' };
      });
    }
  }

  static async open(): Promise<SlowEditor> {
    const editor = Editor.start(cai, agent, { cwd: workspace });
    await editor.initialize(files);
    return new SlowEditor(editor, await editor.newSession(workspace));
  }

  /** Has the agent take steps; resolves with what came of them. */
  async take(...steps: Step[]): Promise<Outcome[]> {
    const before = this.editor.said(this.session).length;
    await this.editor.prompt(this.session, JSON.stringify(steps));
    const said = this.editor.said(this.session).slice(before);
    return (JSON.parse(said.slice(said.lastIndexOf('{"capabilities":'))) as { outcomes: Outcome[] }).outcomes;
  }

  /** Has the agent take a step for which it is asked; resolves when it is, and what came of it does not matter. */
  async begin(step: Step): Promise<void> {
    void this.take(step).catch(() => undefined);
    await this.isAsked();
  }

  /** Resolves when it has been asked and has not answered. */
  async isAsked(): Promise<void> {
    while (this.#asked.length === 0) await new Promise<void>((done) => (this.#onAsked = done));
  }

  answer(): void {
    this.#asked.shift()!();
  }
}

const read = (): Step => ({ ask: 'fs/read_text_file', params: { path: join(workspace, 'file') } });
const isPaused = async (): Promise<boolean> => (await place.inspect('{{.State.Paused}}')) === 'true';

/** Resolves when the container goes on. */
async function untilThawed(): Promise<void> {
  while (await isPaused()) await pause(20);
}

/** The process on this machine that runs a command for that workspace. */
function execOf(folder: string): number {
  const found = readdirSync('/proc').filter((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return command.includes('/bin/cai\0exec\0') && command.includes(`\0${folder}\0`);
    } catch {
      return false;
    }
  });
  expect(found).toHaveLength(1);
  return Number(found[0]);
}

test('the container stands still until the editor has answered, and what the agent says comes in its order', async () => {
  const turn = editor.take({ tell: '_test/before' }, read(), { tell: '_test/after' });
  await editor.isAsked();
  expect(await isPaused()).toBe(true);

  editor.answer();

  expect((await turn)[1]).toEqual({ result: { content: 'text' } });
  await untilThawed();
  const methods = editor.editor.messages.map(({ method }: Json) => method);
  expect(methods.filter((each) => /^_test|^fs/.test(String(each)))).toEqual([
    '_test/before',
    'fs/read_text_file',
    '_test/after',
  ]);
});

test('an agent whose editor does not write in 5 s gets an error, goes on, and gets no more files', async () => {
  const began = Date.now();
  const write = { ask: 'fs/write_text_file', params: { path: join(workspace, 'file'), content: 'new' } };
  const turn = editor.take(write, read());
  await editor.isAsked();

  const [late, next] = await turn;

  expect(Date.now() - began).toBeGreaterThan(4_900);
  expect(late!.error).toMatchObject({ code: -32603, message: 'fs/write_text_file: the editor has not answered in 5 s' }); // prettier-ignore
  expect(next!.error).toMatchObject({ code: -32601 });
  expect(editor.editor.messages.filter(({ method }) => method === '$/cancel_request')).toHaveLength(1);
  expect(await isPaused()).toBe(false);
});

test('after cai exec was killed meanwhile, the next command works', async () => {
  await editor.begin(read());

  killIfThere(execOf(workspace));

  expect(await place.prints(['echo', 'works'])).toBe('works');
  expect(await isPaused()).toBe(false);
});

test('when the proxy is killed meanwhile, the container goes on by itself', async () => {
  await editor.begin(read());

  editor.proxy.child.kill('SIGKILL');

  await untilThawed();
  expect(await place.prints(['echo', 'works'])).toBe('works');
});

test('a command in the same container waits until it goes on', async () => {
  const turn = editor.take(read());
  await editor.isAsked();
  const command = place.start(['echo', 'works']);
  // It takes longer than any look.
  await pause(500);
  expect(command.stdout.toString()).toBe('');

  editor.answer();

  await command.says('works');
  await turn;
});

test('two proxies have files served in one container, each without an error', async () => {
  const other = await SlowEditor.open();
  const serve = async (each: SlowEditor, steps: number): Promise<void> => {
    for (let step = 0; step < steps; step++) {
      await each.isAsked();
      each.answer();
    }
  };
  const steps = Array.from({ length: 20 }, read);

  const [mine, others] = await Promise.all([
    editor.take(...steps),
    other.take(...steps),
    serve(editor, steps.length),
    serve(other, steps.length),
  ]);

  expect([...mine, ...others].filter(({ error }) => error !== undefined)).toEqual([]);
  other.proxy.child.stdin.end();
  await other.proxy.ends();
});

test('cai ps lists the container meanwhile, and cai stop and cai rm end it', async () => {
  await editor.begin(read());

  const { status, stdout } = await cai.run(['ps', '--json']);
  const listed = JSON.parse(stdout.toString()) as { workspace: string; commands: number }[];
  expect([status, listed.find((each) => each.workspace === workspace)?.commands]).toEqual([0, 1]);

  const stop = cai.start(['stop', '--force', '--workspace', workspace]);
  editor.answer();
  await stop.succeeds();
  expect(await place.inspect('{{.State.Running}}')).toBe('false');

  const again = await SlowEditor.open();
  await again.begin(read());
  expect(await cai.run(['rm', '--force', '--workspace', workspace])).toMatchObject({ status: 0 });
  expect(await place.containers()).toEqual([]);
  again.proxy.child.stdin.end();
  await again.proxy.ends();
});

test('unless the user wants it, an agent in a container is told of no files, and gets none', async () => {
  const byDefault = Editor.start(new Cai(hostileAgent()), agent, { cwd: workspace });
  await byDefault.initialize(files);
  const session = await byDefault.newSession(workspace);

  await byDefault.prompt(session, JSON.stringify([read()]));

  expect(JSON.parse(byDefault.said(session))).toMatchObject({
    capabilities: { fs: { readTextFile: false, writeTextFile: false } },
    outcomes: [{ error: { code: -32601 } }],
  });
  expect(JSON.stringify(byDefault.messages)).not.toContain('"method":"fs/');
  byDefault.proxy.child.stdin.end();
  await byDefault.proxy.ends();
});
