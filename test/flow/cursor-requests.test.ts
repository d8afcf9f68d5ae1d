/** Cursor's agent asks in words of its own, which the editor has not announced, and every request is answered. */
import { sentTo } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { lineOf } from '../support/messages';
import { SharedWorlds } from '../support/shared-worlds';
import { openFresh, startTurn, type OpenSession, type Turn } from '../support/turn';
import { fullEditor, type World } from '../support/world';
import {
  zCreateElicitationRequest,
  zRequestPermissionRequest,
  zSessionNotification,
} from '../../node_modules/@agentclientprotocol/sdk/dist/v1/schema/zod.gen.js';

let world: World;
let session: OpenSession;
let turn: Turn;
const worlds = new SharedWorlds();

async function open(capabilities: Json = {}): Promise<void> {
  world = await worlds.initialized({}, capabilities);
  session = await openFresh(world);
}

const questions = [
  {
    id: 'q1',
    prompt: 'Which database?',
    options: [
      { id: 'pg', label: 'Postgres' },
      { id: 'lite', label: 'SQLite' },
    ],
  },
  { id: 'q2', prompt: 'Which tests?', options: [{ id: 'a', label: 'All' }], allowMultiple: true },
];
const question = { toolCallId: 'c', title: 'Before we begin', questions };
const plan = {
  ...{ toolCallId: 'c', name: 'Build it', overview: 'In short.', plan: '1. Server' },
  todos: [{ id: 't1', content: 'Make the server', status: 'pending' }],
};

/** Lets the agent ask. */
function ask(id: number, what: string, params: Json): void {
  session.agent.send({ id, method: `cursor/${what}`, params });
}

const heard = async (id: number): Promise<unknown> => (await session.agent.inbox.response(id)).result;

/** Lets the editor choose in the next permission request; resolves with its params, which are by the schema. */
async function choose(optionId: string): Promise<Json> {
  const outcome = { outcome: { outcome: 'selected', optionId } };
  const { params } = await world.answer('session/request_permission', { result: outcome });
  expect(zRequestPermissionRequest.safeParse(params).error).toBeUndefined();
  return params as Json;
}

/** The next update of the thread, by the schema. */
async function update(): Promise<Json> {
  const { params } = await world.editor.next('session/update');
  expect(zSessionNotification.safeParse(params).error).toBeUndefined();
  expect((params as Json).sessionId).toBe(session.id);
  return (params as { update: Json }).update;
}

test('questions are a form, where the editor has forms', async () => {
  await open(fullEditor);
  await startTurn(world, session);
  ask(1, 'ask_question', question);

  const content = { question1: 'lite', question2: ['a'] };
  const { params } = await world.answer('elicitation/create', { result: { action: 'accept', content } });

  expect(zCreateElicitationRequest.safeParse(params).error).toBeUndefined();
  expect(params).toMatchObject({ sessionId: session.id, mode: 'form', message: 'Before we begin' });
  expect(await heard(1)).toEqual({
    outcome: {
      outcome: 'answered',
      answers: [
        { questionId: 'q1', selectedOptionIds: ['lite'] },
        { questionId: 'q2', selectedOptionIds: ['a'] },
      ],
    },
  });
});

test('elsewhere they are permissions, one after the other, each in a call of its own', async () => {
  await open();
  await startTurn(world, session);
  ask(1, 'ask_question', question);

  const { sessionUpdate, ...call } = await update();
  expect([sessionUpdate, call.title]).toEqual(['tool_call', 'Which database?']);
  const asked = await choose('1');
  expect(asked).toMatchObject({ sessionId: session.id, toolCall: call });
  expect((asked.options as Json[]).map(({ name }) => name)).toEqual([
    'Postgres',
    'SQLite',
    'Skip this question',
  ]);
  expect(await update()).toEqual({
    ...{ sessionUpdate: 'tool_call_update', toolCallId: call.toolCallId, status: 'completed' },
  });
  expect((await update()).title).toBe('Which tests?');
  await choose('skip');

  expect(await heard(1)).toEqual({
    outcome: { outcome: 'answered', answers: [{ questionId: 'q1', selectedOptionIds: ['lite'] }] },
  });
});

test.each([
  ['accept', { outcome: 'accepted' }],
  ['reject', { outcome: 'rejected', reason: 'the user has rejected the plan' }],
])('a plan is shown in a permission: %s', async (optionId, outcome) => {
  await open(fullEditor);
  turn = await startTurn(world, session);
  ask(1, 'create_plan', plan);
  expect(await update()).toMatchObject({
    title: 'Build it',
    content: [{ type: 'content', content: { type: 'text', text: 'In short.\n\n1. Server' } }],
  });

  await choose(optionId);

  expect(await heard(1)).toEqual({ outcome });
  expect(await update()).toMatchObject({ sessionUpdate: 'tool_call_update', status: 'completed' });
  const entries = [{ content: 'Make the server', priority: 'medium', status: 'pending' }];
  if (optionId === 'accept') expect(await update()).toEqual({ sessionUpdate: 'plan', entries });
  await turn.end();
  expect(world.editor.takeAll()).toEqual([]);
});

test('things to do are a plan, and answered at once, as a request and as a notification', async () => {
  await open();
  await startTurn(world, session);
  const todos = [
    { id: '1', content: 'Look', status: 'in_progress' },
    { id: '2', content: 'Edit', status: 'pending' },
  ];

  ask(1, 'update_todos', { toolCallId: 'c', todos, merge: false });
  expect(await heard(1)).toEqual({ outcome: { outcome: 'accepted' } });
  const merged = [{ id: '1', content: 'Look', status: 'completed' }];
  session.agent.send({ method: 'cursor/update_todos', params: { todos: merged, merge: true } });

  await update();
  expect(await update()).toEqual({
    sessionUpdate: 'plan',
    entries: [
      { content: 'Look', priority: 'medium', status: 'completed' },
      { content: 'Edit', priority: 'medium', status: 'pending' },
    ],
  });
  expect(await sentTo(world, session.agent)).toEqual([]);
});

test.each([
  ['by the name of the maker', { cursor: {} }],
  ['by its own name', { 'cursor/ask_question': true }],
])('an editor that has announced the method %s gets it as it is', async (_how, meta) => {
  await open({ ...fullEditor, _meta: meta });
  await startTurn(world, session);
  ask(1, 'ask_question', question);

  const result = { outcome: { outcome: 'cancelled' } };
  expect((await world.answer('cursor/ask_question', { result })).params).toEqual(question);

  expect(await heard(1)).toEqual(result);
});

test.each<[string, () => void]>([
  ['a cancel of the turn', () => world.send({ method: 'session/cancel', params: { sessionId: session.id } })],
  [
    'the end of the turn',
    () => session.agent.send({ id: turn.received.id, result: { stopReason: 'end_turn' } }),
  ],
  ['the end of the session', () => void world.ask('session/close', { sessionId: session.id })],
  ['the end of the editor', () => world.process.stdin.end()],
  ['the agent itself', () => session.agent.send({ method: '$/cancel_request', params: { requestId: 7 } })],
])('%s answers what is open', async (what, act) => {
  await open();
  turn = await startTurn(world, session);
  ask(7, 'create_plan', plan);
  const { id } = await world.editor.next('session/request_permission');

  act();

  expect(await heard(7)).toEqual({ outcome: { outcome: 'cancelled' } });
  if (what === 'the end of the editor') return;
  expect(await world.editor.next('$/cancel_request')).toMatchObject({ params: { requestId: id } });
});

test('a cancel of the turn that comes with an answer lets no further question follow', async () => {
  await open();
  await startTurn(world, session);
  ask(1, 'ask_question', question);
  const { id } = await world.editor.next('session/request_permission');

  const answer = { id, result: { outcome: { outcome: 'selected', optionId: '0' } } };
  const cancel = { method: 'session/cancel', params: { sessionId: session.id } };
  world.send(lineOf(answer) + lineOf(cancel));

  expect(await heard(1)).toEqual({ outcome: { outcome: 'cancelled' } });
});

test('an agent that has ended leaves no question open', async () => {
  await open();
  await startTurn(world, session);
  ask(7, 'create_plan', plan);
  const { id } = await world.editor.next('session/request_permission');

  session.agent.order({ exit: 1 });

  expect(await world.editor.next('$/cancel_request')).toMatchObject({ params: { requestId: id } });
});

test.each<[string, Json]>([
  ['an error', { error: { code: -32601, message: 'Method not found' } }],
  ['a cancel', { result: { outcome: { outcome: 'cancelled' } } }],
  ['something else', { result: null }],
])('%s of the editor is no choice', async (_what, answer) => {
  await open();
  await startTurn(world, session);
  ask(7, 'create_plan', plan);

  await world.answer('session/request_permission', answer);

  expect(await heard(7)).toEqual({ outcome: { outcome: 'cancelled' } });
});

test('nobody is asked outside of a turn, after a cancel, about nothing, or too often', async () => {
  await open();
  const cancelled = { outcome: { outcome: 'cancelled' } };
  ask(1, 'ask_question', question);
  expect(await heard(1)).toEqual(cancelled);
  ask(2, 'update_todos', { todos: [{ content: 'x' }] });
  expect(await heard(2)).toEqual({ outcome: { outcome: 'accepted' } });

  await startTurn(world, session);
  for (const [id, params] of [{}, { questions: [] }, { questions: { a: 1 } }].entries()) {
    ask(10 + id, 'ask_question', params);
    expect(await heard(10 + id)).toMatchObject({ outcome: { outcome: 'skipped' } });
  }
  for (let id = 20; id < 29; id += 1) ask(id, 'create_plan', plan);
  expect(await heard(28)).toEqual(cancelled);
  world.send({ method: 'session/cancel', params: { sessionId: session.id } });
  expect(await heard(27)).toEqual(cancelled);
  ask(30, 'create_plan', plan);
  expect(await heard(30)).toEqual(cancelled);
});

test('a question reaches the session whose turn has begun last, and no other agent', async () => {
  await open();
  const other = await world.session(world.workspace('b'), 's1');
  const second = await world.session(session.agent.cwd, 's2', session.agent);
  await startTurn(world, session);
  await startTurn(world, second);
  await startTurn(world, other);
  ask(1, 'create_plan', plan);

  const { params } = await world.editor.next('session/request_permission');

  expect((params as Json).sessionId).toBe(second.id);
  expect(await sentTo(world, other.agent)).toEqual([]);
});
