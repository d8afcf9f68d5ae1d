/** What repeats in the dialogues that tests play. */
import type { Json } from './inbox';
import type { Puppet } from './puppet';
import type { World } from './world';

let lastMark = 0;

/** What a request comes to. */
export type Outcome = { readonly result: unknown } | { readonly error: unknown };

/** A request of the editor that an agent has received and not answered. */
export interface Call {
  /** The id that the editor has given it. */
  readonly id: number;
  /** The request as the agent got it. */
  readonly received: Json;
  /** Lets the agent answer, with an empty result unless told otherwise; resolves with what the editor gets. */
  readonly end: (outcome?: Outcome) => Promise<Json>;
}

/** Sends a request of the editor; resolves when the agent has it. */
export async function startCall(
  world: World,
  agent: Puppet,
  method: string,
  params?: unknown,
): Promise<Call> {
  const id = world.ask(method, params);
  const received = await agent.inbox.next(method);
  const end = async (outcome: Outcome = { result: {} }): Promise<Json> => {
    agent.send({ id: received.id, ...outcome });
    return await world.editor.response(id);
  };
  return { id, received, end };
}

/** One request of the editor that an agent answers: what the agent got, and what the editor got back. */
export async function exchange(
  world: World,
  agent: Puppet,
  method: string,
  params: unknown,
  outcome?: Outcome,
): Promise<{ request: Json; response: Json }> {
  const { received, end } = await startCall(world, agent, method, params);
  return { request: received, response: await end(outcome) };
}

/** All that the agents were sent until now and that was not waited for: a mark sent now comes after it. */
export async function sentTo(world: World, ...agents: readonly Puppet[]): Promise<Json[]> {
  const mark = ++lastMark;
  world.send({ method: '_mark', params: { mark } });
  for (const agent of agents) await agent.inbox.next((message) => isMark(message, mark));
  return agents.flatMap((agent) => agent.inbox.takeAll().filter((message) => message.method !== '_mark'));
}

/** All that the editor was sent before what the agent writes now, and that was not waited for. */
export async function sentBy(world: World, agent: Puppet): Promise<Json[]> {
  const mark = ++lastMark;
  agent.send({ method: '_mark', params: { mark } });
  await world.editor.next((message) => isMark(message, mark));
  return world.editor.takeAll();
}

/** Fails if these agents were sent, or have sent, anything that was not waited for. */
export async function expectNothingLeft(world: World, ...agents: readonly Puppet[]): Promise<void> {
  expect(await sentTo(world, ...agents)).toEqual([]);
  for (const agent of agents) expect(await sentBy(world, agent)).toEqual([]);
}

/** The editor leaves, and each agent ends when its input does; resolves with the proxy's exit status. */
export async function leave(world: World): Promise<number | null> {
  for (const agent of world.agents) void agent.sawEof.then(() => agent.order({ exit: 0 }));
  return await world.close();
}

/** Ends an agent; resolves when the proxy knows. */
export async function endAgent(world: World, agent: Puppet): Promise<void> {
  const open = world.request('_wait', { cwd: agent.cwd });
  await agent.inbox.next('_wait');
  agent.order({ exit: 0 });
  await open;
}

/** Ends those of the agents that have not ended, so that nothing that they have open is met by the next test. */
export async function endAgents(world: World, ...agents: readonly Puppet[]): Promise<void> {
  for (const agent of agents) if (!agent.isGone) await endAgent(world, agent);
  world.editor.takeAll();
}

function isMark(message: Json, mark: number): boolean {
  return message.method === '_mark' && (message.params as { mark: number }).mark === mark;
}
