/** The agent that editors see: what each call of ACP does. */
import { existsSync } from 'node:fs';
import {
  agent,
  RequestError,
  type AgentApp,
  type AgentContext,
  type ContentBlock,
  type PromptResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { rpcCode } from '../errors';
import type { Account } from './account';
import { signInError } from './failures';
import { helloTo, modes, noModel, settingsOf, signInMethods, type Settings } from './offers';
import { promptText, titleOf } from './prompt-text';
import type { Program } from './program';
import type { SessionRecord, SessionStore } from './sessions';
import { firstText, shapeOf } from './output/shapes';
import type { Tokens } from './output/stream';
import { Todos } from './output/todos';
import { runTurn, type Turn } from './turn';
import { spentWith, usageOf } from './usage';

/** How long a sign-in may take, in milliseconds. */
const signInMs = 600_000;
interface OpenSession {
  record: SessionRecord;
  readonly todos: Todos;
  turn?: { readonly abort: AbortController; readonly done: Promise<unknown> };
}

export interface CursorAgentOptions {
  readonly program: Program;
  readonly account: Account;
  readonly store: SessionStore;
  /** The model of new sessions; undefined: Cursor decides. */
  readonly model: string | undefined;
  /** Further arguments of every turn. */
  readonly extraArgs: readonly string[];
  /** Says on stderr what the editor is not told. */
  readonly log: (line: string) => void;
}

/** Sessions, turns and the account of one connection. */
export class CursorAgent {
  readonly #open = new Map<string, OpenSession>();

  constructor(private readonly options: CursorAgentOptions) {}

  app(): AgentApp {
    const { account, store } = this.options;
    return agent({ name: 'cai-cursor' })
      .onRequest('initialize', ({ params }) => helloTo(params, store.isLasting))
      .onRequest('authenticate', async ({ params }) => await this.#signIn(params.methodId))
      .onRequest('logout', async () => await this.#signOut())
      .onRequest('session/new', async ({ params }) => await this.#new(params.cwd, params.mcpServers.length))
      .onRequest('session/load', async ({ params, client }) => {
        const session = this.#reopen(params.sessionId, params.cwd);
        for (const update of store.transcript(params.sessionId))
          await tell(client, params.sessionId, [update]);
        return await this.#settings(session.record);
      })
      .onRequest('session/resume', async ({ params }) => {
        return await this.#settings(this.#reopen(params.sessionId, params.cwd).record);
      })
      .onRequest('session/list', ({ params }) => ({
        sessions: store
          .list()
          .filter(({ chatId, cwd }) => chatId !== undefined && (params.cwd ?? cwd) === cwd)
          .map(({ id: sessionId, cwd, title = null, updatedAt }) => ({ sessionId, cwd, updatedAt, title })),
      }))
      .onRequest('session/close', async ({ params }) => await this.#close(params.sessionId))
      .onRequest('session/delete', async ({ params }) => {
        if (this.#open.has(params.sessionId)) await this.#close(params.sessionId);
        store.remove(params.sessionId);
      })
      .onRequest('session/set_mode', ({ params }) => {
        if (!modes.some(({ id }) => id === params.modeId))
          throw invalid(`"modeId" must be one of ${modes.map(({ id }) => id).join(', ')}`);
        this.#change(this.#session(params.sessionId), { mode: params.modeId });
      })
      .onRequest('session/set_config_option', async ({ params }) => {
        const session = this.#session(params.sessionId);
        if (
          params.configId !== 'model' ||
          typeof params.value !== 'string' ||
          !/^[^-\0\n][^\0\n]*$/.test(params.value)
        )
          throw invalid('the only option is "model", and its value the id of a model');
        this.#change(session, { model: params.value });
        const { configOptions } = await this.#settings(session.record);
        return { configOptions };
      })
      .onRequest('session/prompt', async ({ params, client, signal }) => {
        return await this.#prompt(this.#session(params.sessionId), params.prompt, client, signal);
      })
      .onNotification('session/cancel', ({ params }) => this.#open.get(params.sessionId)?.turn?.abort.abort())
      .onRequest('_cursor/usage', shapeOf, ({ params }) => usageOf(store, firstText(params.sessionId)))
      .onRequest('_cursor/status', shapeOf, async () => await account.status())
      .onRequest('_cursor/models', shapeOf, async () => ({ models: await account.models() }));
  }

  async end(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((id) => this.#close(id)));
    await this.options.program.stopAll();
  }

  async #new(cwd: string, mcpServers: number): Promise<{ sessionId: string } & Settings> {
    const { account, store, model, log } = this.options;
    if (!cwd.startsWith('/') || !existsSync(cwd))
      throw invalid('"cwd" must be the absolute path of a folder that exists');
    if (mcpServers > 0)
      log(`${mcpServers} MCP servers of the editor are left out: Cursor takes its own from .cursor/mcp.json`);
    if (!(await account.isSignedIn())) throw signInError();
    const record = store.create({ cwd, mode: 'agent', model: model ?? noModel });
    this.#open.set(record.id, { record, todos: new Todos() });
    return { sessionId: record.id, ...(await this.#settings(record)) };
  }

  #reopen(sessionId: string, cwd: string): OpenSession {
    const known = this.#open.get(sessionId);
    const record = known?.record ?? this.options.store.find(sessionId);
    if (record === undefined) throw RequestError.sessionNotFound(sessionId);
    if (record.cwd !== cwd)
      throw invalid(
        `this session belongs to ${record.cwd}: Cursor finds a chat only in the folder where it began`,
      );
    const session = known ?? { record, todos: new Todos() };
    this.#open.set(sessionId, session);
    return session;
  }

  async #settings(record: SessionRecord): Promise<Settings> {
    return settingsOf(record, await this.options.account.models());
  }

  #session(sessionId: string): OpenSession {
    const session = this.#open.get(sessionId);
    if (session === undefined) throw RequestError.sessionNotFound(sessionId);
    return session;
  }

  #change(session: OpenSession, fields: Partial<SessionRecord>): void {
    session.record = { ...session.record, ...fields };
    this.options.store.save(session.record);
  }

  async #close(sessionId: string): Promise<void> {
    const { turn } = this.#session(sessionId);
    turn?.abort.abort();
    await turn?.done;
    this.#open.delete(sessionId);
  }

  async #prompt(
    session: OpenSession,
    blocks: readonly ContentBlock[],
    client: AgentContext,
    signal: AbortSignal,
  ): Promise<PromptResponse & { usage?: Tokens }> {
    if (session.turn !== undefined)
      throw new RequestError(
        rpcCode.invalidRequest,
        'a turn of this session is running: cancel it, or wait for its end',
      );
    const prompt = promptText(blocks);
    const abort = new AbortController();
    const done = this.#turn(session, prompt, blocks, client, AbortSignal.any([signal, abort.signal]));
    session.turn = { abort, done: done.catch(() => undefined) };
    try {
      const turn = await done;
      if (turn.failure !== undefined) throw turn.failure;
      const tokens = turn.result?.tokens;
      // `usage` is not in the stable schema yet; `cai usage` and some editors read it.
      return {
        stopReason: turn.isCancelled ? 'cancelled' : 'end_turn',
        ...(tokens && { usage: tokens }),
      };
    } finally {
      delete session.turn;
    }
  }

  async #turn(
    session: OpenSession,
    prompt: string,
    blocks: readonly ContentBlock[],
    client: AgentContext,
    signal: AbortSignal,
  ): Promise<Turn> {
    const { program, extraArgs, store, log } = this.options;
    const { id, cwd, chatId, mode, model } = session.record;
    this.#change(session, {
      updatedAt: new Date().toISOString(),
      title: session.record.title ?? titleOf(blocks),
    });
    store.append(
      id,
      blocks.map((content) => ({ sessionUpdate: 'user_message_chunk', content })),
    );
    const turn = await runTurn({
      ...{ program, cwd, prompt, signal, log, chatId, todos: session.todos },
      args: [
        ...['-p', '--output-format', 'stream-json', '--stream-partial-output'],
        ...(model === noModel ? [] : ['--model', model]),
        ...(mode === 'agent' ? [] : ['--mode', mode]),
        ...extraArgs,
      ],
      onChat: (chatId) => this.#change(session, { chatId }),
      tell: async (updates) => {
        store.append(id, updates);
        await tell(client, id, updates);
      },
    });
    const spent = spentWith(session.record.spent, turn);
    this.#change(session, { spent, updatedAt: new Date().toISOString() });
    return turn;
  }

  async #signIn(methodId: string): Promise<void> {
    const { account } = this.options;
    if (methodId === signInMethods.key && !account.hasKey) throw signInError();
    if (methodId === signInMethods.login) {
      const said = await account.signIn(signInMs);
      if (said.status !== 0) throw signInError();
    }
    if (!(await account.isSignedIn())) throw signInError();
  }

  async #signOut(): Promise<void> {
    const { status, words } = await this.options.account.signOut();
    if (status === 0) return;
    throw new RequestError(
      rpcCode.internalError,
      `"cursor-agent logout" has failed${words === '' ? '' : `: ${words}`}: run it in a terminal`,
    );
  }
}

async function tell(
  client: AgentContext,
  sessionId: string,
  updates: readonly SessionUpdate[],
): Promise<void> {
  for (const update of updates) await client.notify('session/update', { sessionId, update });
}

function invalid(what: string): RequestError {
  return new RequestError(rpcCode.invalidParams, what);
}
