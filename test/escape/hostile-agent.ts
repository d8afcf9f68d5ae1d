/** A hostile agent in a container, the editor that it talks to, and what the two are told to do. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Editor } from '../engine/editor';
import { provideImages } from '../engine/model';
import { buildTimeoutMs } from '../engine/place';
import { Cai, newWorkspace } from '../engine/support';
import type { Json } from '../support/inbox';
import { serveFiles } from './editor-files';

const program = readFileSync(resolve(__dirname, '../../fixtures/agents/obeys.mjs'), 'utf8');

/** The agent whose image and data volume the hostile one has. */
export const agent = 'claude';

/** What the agent claims about itself; see the head of its file. */
export interface Claims {
  /** What it answers `initialize` with, besides the usual. */
  readonly initialize?: Json;
  /** The ids of its sessions, the first one first. */
  readonly ids?: readonly string[];
  /** The error by which it refuses every session. */
  readonly refusal?: Json;
}

/** The user's configuration by which the agent is the hostile one, TOML. More can follow. */
export function hostileConfig(claims: Claims = {}): string {
  const command = ['node', '--input-type=module', '-e', program, JSON.stringify(claims)];
  return `[agents.${agent}]\ncommand = ${JSON.stringify(command)}\n`;
}

/** How a scene differs from the usual. */
export interface SceneOptions {
  /** The user; must have `hostileConfig`. Default: a new one. */
  readonly cai?: Cai;
  /** What else the user has configured, TOML; only for a new user. */
  readonly config?: string;
  /** Only for a new user. */
  readonly claims?: Claims;
  /** The workspace. Default: a new one. */
  readonly workspace?: string;
  /** The session's cwd. Default: the workspace. */
  readonly cwd?: string;
  readonly additionalDirectories?: readonly string[];
  /** Default: everything that an editor can offer. */
  readonly clientCapabilities?: Json;
}

/** What came of a step. */
export interface Outcome {
  readonly status?: number | string;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly result?: Json | null;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A step of the agent; see the head of its file. */
export type Step =
  | { readonly sh: string }
  | { readonly ask: string; readonly params?: Json }
  | { readonly tell: string; readonly params?: Json }
  | { readonly line: string }
  | { readonly bytes: string }
  | { readonly flood: number };

const everything: Json = { fs: { readTextFile: true, writeTextFile: true }, terminal: true };

/** An editor, `cai --acp`, and a session with the hostile agent in a container. */
export class Scene {
  /** It serves files by really opening them, as the user; and allows whatever it is asked. */
  editor!: Editor;
  /** The editor's session. */
  session = '';

  private constructor(
    readonly cai: Cai,
    readonly workspace: string,
    private readonly options: SceneOptions = {},
  ) {}

  /** One in which nothing is started yet. */
  static of(options: SceneOptions = {}): Scene {
    const cai = options.cai ?? new Cai(hostileConfig(options.claims) + (options.config ?? ''));
    return new Scene(cai, options.workspace ?? newWorkspace(), options);
  }

  /** Opens one. */
  static async open(options: SceneOptions = {}): Promise<Scene> {
    const scene = Scene.of(options);
    await scene.begin();
    return scene;
  }

  /** Starts the editor with its session. */
  async begin(): Promise<void> {
    const { clientCapabilities = everything, cwd, additionalDirectories } = this.options;
    this.editor = Editor.start(this.cai, agent, { cwd: this.workspace });
    serveFiles(this.cai, this.editor);
    await this.editor.initialize(clientCapabilities);
    await this.newSession(cwd, additionalDirectories);
  }

  /** A session of the same editor in another workspace, and so with another hostile agent. */
  async another(workspace = newWorkspace()): Promise<Scene> {
    const scene = new Scene(this.cai, workspace);
    scene.editor = this.editor;
    await scene.newSession();
    return scene;
  }

  /** Opens another session, which is the scene's from now on. */
  async newSession(cwd = this.workspace, additionalDirectories?: readonly string[]): Promise<void> {
    const params = { cwd, mcpServers: [], additionalDirectories };
    const { result, error } = await this.editor.request('session/new', params);
    if (error !== undefined) throw new Error(`session/new: ${JSON.stringify(error)}`);
    this.session = (result as { sessionId: string }).sessionId;
  }

  /** Has the agent take steps in one turn; resolves with what came of each. */
  async take(...steps: Step[]): Promise<Outcome[]> {
    const before = this.editor.said(this.session).length;
    const { error } = await this.editor.prompt(this.session, JSON.stringify(steps));
    if (error !== undefined) throw new Error(`session/prompt: ${JSON.stringify(error)}`);
    const said = this.editor.said(this.session).slice(before);
    // What `cai` adds begins on a line of its own.
    const [outcomes] = said.slice(said.lastIndexOf('{"capabilities":')).split('\n', 1);
    return (JSON.parse(outcomes!) as { outcomes: Outcome[] }).outcomes;
  }

  /** Has the agent run a script that must succeed, or else the attack cannot be tried; resolves with its stdout. */
  async sh(script: string): Promise<string> {
    const [{ status, stdout, stderr } = {}] = await this.take({ sh: script });
    if (status !== 0) throw new Error(`in the container, status ${status}: ${script}\n${stderr}`);
    return stdout!;
  }

  /** What the user is told by `cai` in the thread of a turn in which the agent runs a script. */
  async toldOf(script: string): Promise<string> {
    const before = this.editor.said(this.session).length;
    await this.sh(script);
    const said = this.editor.said(this.session).slice(before);
    return said.includes('\n\ncai: ') ? said.slice(said.indexOf('\n\ncai: ')) : '';
  }

  /** As `sh`, but the script may fail, which is then no more than an attack that is held. */
  async tries(script: string): Promise<Outcome> {
    return (await this.take({ sh: script }))[0]!;
  }

  /** Has the agent ask the editor something; resolves with the answer that the agent got. */
  async ask(method: string, params: Json = {}): Promise<Outcome> {
    return (await this.take({ ask: method, params }))[0]!;
  }

  /** Has the agent ask the editor for a file; resolves with its content, undefined if it got none. */
  async read(path: string): Promise<string | undefined> {
    const { result } = await this.ask('fs/read_text_file', { path });
    return result?.content as string | undefined;
  }

  /** Has the agent ask the editor to write a file. */
  async write(path: string, content: string): Promise<Outcome> {
    return await this.ask('fs/write_text_file', { path, content });
  }

  /** Ends the editor and with it the proxy. The container stays. */
  async close(): Promise<void> {
    this.editor.proxy.child.stdin.end();
    await this.editor.proxy.ends();
  }
}

/** The scene of a test file: opened before its first test, closed behind its last one. */
export function sceneFor(options: SceneOptions = {}): Scene {
  const scene = Scene.of(options);
  beforeAll(async () => {
    await provideImages(agent);
    await scene.begin();
  }, buildTimeoutMs);
  afterAll(() => scene.close());
  return scene;
}
