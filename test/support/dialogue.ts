/** What repeats in the dialogues that tests play. */
import type { Json } from './inbox';
import type { Puppet } from './puppet';
import type { World } from './world';

let lastMark = 0;

/** One request of the editor that an agent answers: what the agent got, and what the editor got back. */
export async function exchange(
  world: World,
  agent: Puppet,
  method: string,
  params: unknown,
  outcome: { readonly result: unknown } | { readonly error: unknown },
): Promise<{ request: Json; response: Json }> {
  const id = world.ask(method, params);
  const request = await agent.inbox.next(method);
  agent.send({ id: request.id, ...outcome });
  return { request, response: await world.editor.response(id) };
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

function isMark(message: Json, mark: number): boolean {
  return message.method === '_mark' && (message.params as { mark: number }).mark === mark;
}
