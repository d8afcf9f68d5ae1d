import { once } from 'node:events';
import { Inbox, type Json } from '../support/inbox';
import type { Running } from './running';
import { patienceMs } from '../support/patience';
import type { Cai, RunOptions } from './support';

/** What an editor does when an agent asks something: gives the result, or throws. */
export type Served = (params: Json) => unknown;

/**
 * An editor with a `cai --acp` or `cai connect` of its own, which allows whatever an agent asks permission for, unless
 * it serves that.
 */
export class Editor {
  readonly #inbox = new Inbox('editor', patienceMs);
  readonly #served = new Map<string, Served>();
  #lastId = 0;
  #seen = 0;

  private constructor(
    /** What it has started. */
    readonly proxy: Running,
  ) {
    proxy.child.stdout.on('data', (chunk: Buffer) => {
      this.#inbox.push(chunk);
      for (const line of this.#inbox.lines.slice(this.#seen)) this.#see(JSON.parse(line.toString()) as Json);
    });
    proxy.child.stdout.on('end', () => this.#inbox.end(`cai has ended: ${proxy.stderr}`));
  }

  /** Starts `cai --acp` for an agent; nothing is said yet. */
  static start(cai: Cai, agent: string, options?: RunOptions): Editor {
    return new Editor(cai.start(['--acp', agent], options));
  }

  /** Starts `cai --acp` for an agent, and initializes it. */
  static async open(cai: Cai, agent: string, options?: RunOptions): Promise<Editor> {
    const editor = Editor.start(cai, agent, options);
    await editor.initialize();
    return editor;
  }

  /** Starts `cai connect` for a server, and initializes it. */
  static async connect(cai: Cai, url: string, args: readonly string[] = []): Promise<Editor> {
    const editor = new Editor(cai.start(['connect', ...args, url]));
    await editor.initialize();
    return editor;
  }

  /** Everything that it was told, in order. */
  get messages(): Json[] {
    return this.#inbox.lines.map((line) => JSON.parse(line.toString()) as Json);
  }

  /** Initializes; resolves with the response. */
  async initialize(clientCapabilities: Json = {}): Promise<Json> {
    const clientInfo = { name: 'engine-tests', version: '1' };
    return await this.request('initialize', { protocolVersion: 1, clientInfo, clientCapabilities });
  }

  /** From now on answers what agents ask with that method. */
  serve(method: string, served: Served): void {
    this.#served.set(method, served);
  }

  /** Sends a request; resolves with its response. */
  async request(method: string, params: Json): Promise<Json> {
    const id = ++this.#lastId;
    this.#send({ id, method, params });
    return await this.#inbox.response(id);
  }

  /** Sends a notification. */
  notify(method: string, params: Json): void {
    this.#send({ method, params });
  }

  /** Opens a session in a folder; resolves with its id. */
  async newSession(cwd: string): Promise<string> {
    const { result, error } = await this.request('session/new', { cwd, mcpServers: [] });
    if (error !== undefined) throw new Error(`session/new: ${JSON.stringify(error)}`);
    return (result as { sessionId: string }).sessionId;
  }

  /** Sends a prompt; resolves with the response to it. */
  async prompt(sessionId: string, text: string): Promise<Json> {
    return await this.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
  }

  /** The texts of one kind that came so far for a session, one after the other. */
  said(sessionId: string, kind = 'agent_message_chunk'): string {
    return this.messages
      .map(({ params }) => params as UpdateParams | undefined)
      .filter((params) => params?.sessionId === sessionId && params.update?.sessionUpdate === kind)
      .map((params) => params!.update!.content?.text ?? '')
      .join('');
  }

  /** Resolves when an agent has said that in a session, also if it has already. */
  async hears(sessionId: string, text: string): Promise<void> {
    while (!this.said(sessionId).includes(text)) await once(this.proxy.child.stdout, 'data');
  }

  #send(message: Json): void {
    this.proxy.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  async #answer({ id, params }: Json, served: Served): Promise<void> {
    try {
      this.#send({ id, result: (await served(params as Json)) ?? null });
    } catch (error) {
      this.#send({ id, error: { code: -32603, message: String(error) } });
    }
  }

  #see(message: Json): void {
    this.#seen++;
    const served = this.#served.get(String(message.method));
    if (served !== undefined) void this.#answer(message, served);
    if (served !== undefined || message.method !== 'session/request_permission') return;
    const { options } = message.params as { options: { kind: string; optionId: string }[] };
    const { optionId } = options.find(({ kind }) => kind === 'allow_once')!;
    this.#send({ id: message.id, result: { outcome: { outcome: 'selected', optionId } } });
  }
}

interface UpdateParams {
  readonly sessionId?: string;
  readonly update?: { readonly sessionUpdate?: string; readonly content?: { readonly text?: string } };
}
