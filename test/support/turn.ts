/** Turns and what agents ask in them, as tests play them. */
import type { Json } from './inbox';
import { success } from './messages';
import type { Puppet } from './puppet';
import { World, type WorldOptions } from './world';

/** A session that a test has opened. */
export interface OpenSession {
  /** Its id on the editor's side. */
  readonly id: string;
  /** Its id on the agent's side. */
  readonly agentId: string;
  /** The agent that serves it. */
  readonly agent: Puppet;
}

/** Starts a proxy, as the usual editor, with a session in its workspace `own`. */
export async function openWorld(
  options?: WorldOptions,
  agentId = 's1',
): Promise<{ world: World; session: OpenSession }> {
  const world = await World.initialized(options);
  return { world, session: await world.session(world.workspace('own'), agentId) };
}

/** Starts one with a session in each of two workspaces, which agents of their own serve under the same id. */
export async function openTwo(
  options?: WorldOptions,
  agentId = 's1',
): Promise<{ world: World; first: OpenSession; second: OpenSession }> {
  const { world, session: first } = await openWorld(options, agentId);
  return { world, first, second: await world.session(world.workspace('b'), agentId) };
}

let lastWorkspace = 0;

/** Opens a session in a workspace of its own, for a test that shares the proxy with others. */
export async function openFresh(world: World, agentId = 's1'): Promise<OpenSession> {
  return await world.session(world.workspace(`fresh-${++lastWorkspace}`), agentId);
}

/** A prompt that its agent has received and not answered. */
export interface Turn {
  /** Id of the editor's request. */
  readonly id: number;
  /** The prompt as the agent got it. */
  readonly received: Json;
  /** Lets the agent answer; resolves with what the editor gets. */
  end(result?: Json): Promise<Json>;
}

/** Sends a prompt, of a text if no blocks are given; resolves when the agent has it. */
export async function startTurn(
  world: World,
  session: OpenSession,
  prompt: readonly Json[] = [{ type: 'text', text: 'go on' }],
): Promise<Turn> {
  const { agent } = session;
  const id = world.ask('session/prompt', { sessionId: session.id, prompt });
  const isIt = (message: Json): boolean => message.method === 'session/prompt' && message.id === id;
  const received = await agent.inbox.next(isIt);
  const end = async (result: Json = { stopReason: 'end_turn' }): Promise<Json> => {
    agent.send({ id: received.id, result });
    return await world.editor.response(id);
  };
  return { id, received, end };
}

/** Plays a turn as it has to go. */
export async function expectTurn(world: World, session: OpenSession): Promise<void> {
  const turn = await startTurn(world, session);
  expect(await turn.end()).toEqual(success(turn.id, { stopReason: 'end_turn' }));
}

/** Plays a first turn, before which no agent may have written a session down. */
export async function use(world: World, session: OpenSession): Promise<void> {
  await (await startTurn(world, session, [{ type: 'text', text: 'begin' }])).end();
}

/** Lets an agent send a request; resolves with it as the editor gets it. */
export async function askEditor(
  world: World,
  agent: Puppet,
  request: { readonly id: unknown; readonly method: string; readonly params: Json },
): Promise<Json> {
  agent.send(request);
  return await world.editor.next(request.method);
}

/** Params of a permission request of an agent for one of its sessions. */
export function permissionParams(sessionId: string, title = 'Do something'): Json {
  return {
    sessionId,
    toolCall: { toolCallId: 'call-1', title, kind: 'execute', status: 'pending' },
    options: [
      { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
      { optionId: 'no', name: 'Reject', kind: 'reject_once' },
    ],
  };
}

/** A text chunk, as an update. */
export function chunk(text: string): Json {
  return { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } };
}
