/** Many sessions at once: whatever is asked and answered, it arrives where it belongs. */
import type { Json } from '../support/inbox';
import type { Puppet } from '../support/puppet';
import { chunk, permissionParams } from '../support/turn';
import { World } from '../support/world';

const workspaceCount = 10;
const sessionsPerWorkspace = 10;

/** A session of the test. All agents use the same ids: `s0`, `s1`, ..., and 0, 1, ... for their requests. */
interface Talk {
  /** What tells it from all others. */
  readonly name: string;
  readonly agent: Puppet;
  readonly agentId: string;
  /** Id of its requests on the agent's side. */
  readonly requestId: number;
  /** Its id on the editor's side. */
  readonly id: string;
}

describe('a hundred sessions over ten workspaces', () => {
  let world: World;
  beforeAll(async () => (world = await World.initialized()));
  afterAll(() => world.end());

  test('each gets its own answers, while all have a prompt and a permission request open', async () => {
    const talks = await openAll(world);

    const prompts = await promptAll(world, talks);
    const permissions = await askAll(world, talks);
    answerAll(world, permissions);
    await expectOutcomes(talks);
    endAll(talks, prompts);
    await expectEnds(world, talks, prompts);

    expect(world.editor.takeAll()).toEqual([]);
    expect(talks.flatMap(({ agent }) => agent.inbox.takeAll())).toEqual([]);
  });
});

/** Asks for all sessions at once; the agents answer in another order than they were asked. */
async function openAll(world: World): Promise<Talk[]> {
  const asked: number[] = [];
  const roots = range(workspaceCount).map((n) => world.workspace(`w${n}`));
  for (const cwd of range(sessionsPerWorkspace).flatMap(() => roots)) {
    asked.push(world.ask('session/new', { cwd, mcpServers: [] }));
  }
  const served = new Map<unknown, { agent: Puppet; index: number }>();
  for (const root of roots) {
    const agent = await world.agent(root);
    const requests: Json[] = [];
    for (const index of range(sessionsPerWorkspace)) {
      const request = await agent.inbox.next('session/new');
      served.set(request.id, { agent, index });
      requests.unshift({ id: request.id, result: { sessionId: `s${index}` } });
    }
    for (const response of requests) agent.send(response);
  }
  const talks: Talk[] = [];
  for (const id of asked) {
    const { agent, index } = served.get(id)!;
    const { result } = await world.editor.response(id);
    const name = `${agent.cwd} s${index}`;
    const ids = { agentId: `s${index}`, requestId: index, id: (result as { sessionId: string }).sessionId };
    talks.push({ name, agent, ...ids });
  }
  expect(new Set(talks.map(({ id }) => id)).size).toBe(workspaceCount * sessionsPerWorkspace);
  expect(new Set(talks.map(({ name }) => name)).size).toBe(workspaceCount * sessionsPerWorkspace);
  return talks;
}

/** Prompts all sessions at once; each prompt reaches its own. Returns the ids of the requests. */
async function promptAll(world: World, talks: readonly Talk[]): Promise<number[]> {
  const prompts = shuffled(talks).map(({ name, id }) => ({
    name,
    id: world.ask('session/prompt', { sessionId: id, prompt: [{ type: 'text', text: name }] }),
  }));
  const ids: number[] = [];
  for (const { name, agent, agentId } of talks) {
    const { id } = prompts.find((prompt) => prompt.name === name)!;
    const received = await agent.inbox.next((message) => message.id === id);
    expect(received.params).toEqual({ sessionId: agentId, prompt: [{ type: 'text', text: name }] });
    ids.push(id);
  }
  return ids;
}

/** Every session says something and asks for a permission; resolves with the requests by session. */
async function askAll(world: World, talks: readonly Talk[]): Promise<{ talk: Talk; request: Json }[]> {
  for (const { name, agent, agentId, requestId } of talks) {
    agent.say(agentId, name);
    const params = permissionParams(agentId, name);
    agent.send({ id: requestId, method: 'session/request_permission', params });
  }
  const asked: { talk: Talk; request: Json }[] = [];
  for (const talk of talks) {
    const isOfTalk = ({ method, params }: Json): boolean =>
      method === 'session/request_permission' && (params as Json).sessionId === talk.id;
    const request = await world.editor.next(isOfTalk);
    expect(request.params).toEqual(permissionParams(talk.id, talk.name));
    const update = await world.editor.next((message) => (message.params as Json).sessionId === talk.id);
    expect(update.params).toEqual({ sessionId: talk.id, update: chunk(talk.name) });
    asked.push({ talk, request });
  }
  expect(new Set(asked.map(({ request }) => request.id)).size).toBe(talks.length);
  return asked;
}

/** The editor answers every permission request with an option that names the session. */
function answerAll(world: World, asked: readonly { talk: Talk; request: Json }[]): void {
  for (const { talk, request } of shuffled(asked)) {
    world.send({ id: request.id, result: { outcome: { outcome: 'selected', optionId: talk.name } } });
  }
}

async function expectOutcomes(talks: readonly Talk[]): Promise<void> {
  for (const { name, agent, requestId } of talks) {
    const { result } = await agent.inbox.response(requestId);
    expect(result).toEqual({ outcome: { outcome: 'selected', optionId: name } });
  }
}

/** The agents end all turns, each with a result that names the session. */
function endAll(talks: readonly Talk[], prompts: readonly number[]): void {
  for (const { talk, id } of shuffled(talks.map((each, n) => ({ talk: each, id: prompts[n]! })))) {
    talk.agent.send({ id, result: { stopReason: 'end_turn', _meta: { name: talk.name } } });
  }
}

async function expectEnds(world: World, talks: readonly Talk[], prompts: readonly number[]): Promise<void> {
  for (const [n, { name }] of talks.entries()) {
    const { result } = await world.editor.response(prompts[n]);
    expect(result).toEqual({ stopReason: 'end_turn', _meta: { name } });
  }
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

/** The same order in every run, unlike the given one: every 37th, around and around. */
function shuffled<T>(all: readonly T[]): T[] {
  return all.map((_, n) => all[(n * 37 + 11) % all.length]!);
}
