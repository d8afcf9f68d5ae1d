/** Turns and what agents ask in them, as tests play them. */
import type { Json } from './inbox';
import type { Puppet } from './puppet';
import type { World } from './world';

/** A session that a test has opened. */
export interface OpenSession {
  /** Its id on the editor's side. */
  readonly id: string;
  /** Its id on the agent's side. */
  readonly agentId: string;
  /** The agent that serves it. */
  readonly agent: Puppet;
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
