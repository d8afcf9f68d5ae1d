/** The built `bin/cai-cursor` over the stand-in for Cursor's command line, and an editor made of ACP's SDK. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import {
  client,
  ndJsonStream,
  PROTOCOL_VERSION,
  type ClientCapabilities,
  type ClientConnection,
  type ContentBlock,
  type InitializeResponse,
  type NewSessionResponse,
  type PromptResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { patienceMs } from '../support/patience';
import { newFolder } from '../support/temp-folder';

const repository = resolve(__dirname, '../..');
/** The program under test. */
export const caiCursor = join(repository, 'bin/cai-cursor');
/** What stands in for Cursor's command line. */
export const cursorAgent = join(repository, 'fixtures/cursor/cursor-agent');

/** A start of the stand-in, as it has noted it. */
export interface Start {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly pid: number;
  readonly prompt?: string;
}

/** The folders of one user: what is kept, what the stand-in notes, a workspace. */
export class Place {
  readonly folder = newFolder();
  readonly cwd = newFolder();
  readonly standIn = join(this.folder, 'stand-in');
  readonly sessions = join(this.folder, 'state/containai/cursor');

  /** The starts of the stand-in for prompts. */
  get prompts(): Start[] {
    return this.starts.filter(({ prompt }) => prompt !== undefined);
  }

  /** All its starts. */
  get starts(): Start[] {
    const file = join(this.standIn, 'starts.ndjson');
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    return lines.map((line) => JSON.parse(line) as Start);
  }
}

/** How an editor differs from the usual. */
export interface EditorOptions {
  readonly args?: readonly string[];
  /** Another program than `cai-cursor`. */
  readonly program?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly capabilities?: ClientCapabilities;
}

/** One adapter with its editor. */
export class Editor {
  /** Every update so far, as it came. */
  readonly updates: SessionUpdate[] = [];
  /** The adapter's stderr so far. */
  stderr = '';
  readonly process: ChildProcessWithoutNullStreams;
  readonly connection: ClientConnection;
  hello!: InitializeResponse;
  readonly #wake = new Set<() => void>();

  private constructor(
    readonly place: Place,
    { args = ['--acp'], program = caiCursor, env }: EditorOptions,
  ) {
    this.process = spawn(process.execPath, [program, ...args], {
      env: {
        PATH: process.env.PATH,
        HOME: place.folder,
        XDG_STATE_HOME: join(place.folder, 'state'),
        CURSOR_AGENT_EXECUTABLE: cursorAgent,
        CURSOR_STAND_IN: place.standIn,
        ...env,
      },
    });
    this.process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
      for (const wake of this.#wake) wake();
    });
    this.process.stdin.on('error', () => undefined);
    const input = Readable.toWeb(this.process.stdout) as ReadableStream<Uint8Array>;
    this.connection = client()
      .onNotification('session/update', ({ params }) => {
        this.updates.push(params.update);
        for (const wake of this.#wake) wake();
      })
      .connect(ndJsonStream(Writable.toWeb(this.process.stdin), input));
  }

  /** Starts an adapter and greets it. */
  static async open(place = new Place(), options: EditorOptions = {}): Promise<Editor> {
    const editor = new Editor(place, options);
    const { capabilities: clientCapabilities = {} } = options;
    const params = { protocolVersion: PROTOCOL_VERSION, clientCapabilities };
    editor.hello = await editor.connection.agent.request('initialize', params);
    return editor;
  }

  /** Opens a session in the place's workspace. */
  async session(): Promise<NewSessionResponse> {
    return await this.connection.agent.request('session/new', { cwd: this.place.cwd, mcpServers: [] });
  }

  /** Sends a prompt, text or blocks. */
  async prompt(sessionId: string, prompt: string | ContentBlock[]): Promise<PromptResponse> {
    const blocks: ContentBlock[] = typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt;
    return await this.connection.agent.request('session/prompt', { sessionId, prompt: blocks });
  }

  /** Resolves when an update has come for which `is` holds. */
  async update(is: (update: SessionUpdate) => boolean): Promise<void> {
    await this.#until(() => this.updates.some(is));
  }

  /** Resolves when stderr has that. */
  async says(text: string): Promise<void> {
    await this.#until(() => this.stderr.includes(text));
  }

  async #until(isSo: () => boolean): Promise<void> {
    await new Promise<void>((done, fail) => {
      const late = setTimeout(() => fail(new Error(`that did not come: ${this.stderr}`)), patienceMs);
      const look = (): void => {
        if (!isSo()) return;
        clearTimeout(late);
        this.#wake.delete(look);
        done();
      };
      this.#wake.add(look);
      look();
    });
  }

  /** The text of all updates of a kind so far. */
  text(kind = 'agent_message_chunk'): string {
    return this.updates
      .map((update) =>
        'content' in update && update.sessionUpdate === kind ? JSON.stringify(update.content) : '""',
      )
      .map((content) => (JSON.parse(content) as { text?: string }).text ?? '')
      .join('');
  }

  /** Ends stdin; resolves with the exit status. */
  async close(): Promise<number | null> {
    if (this.process.exitCode !== null) return this.process.exitCode;
    const ended = once(this.process, 'exit') as Promise<[number | null]>;
    this.process.stdin.end();
    return (await ended)[0];
  }
}
