/** A command in a container asks whether it may connect somewhere, and the editor is asked in the turn. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decisionsOf } from '../../src/network/egress/decisions';
import { readRecording } from '../../src/acp/recording/recording';
import { Host } from '../../src/system/host';
import { cai } from '../support/cli';
import { leave } from '../support/dialogue';
import type { Json } from '../support/inbox';
import { success } from '../support/messages';
import { StatusStage, type StandIn } from '../support/status-stage';
import { newFolder } from '../support/temp-folder';
import { startTurn, type OpenSession } from '../support/turn';
import type { World } from '../support/world';

const place = 'example.org:443';

let stage: StatusStage;
let world: World;
let session: OpenSession;
let command: StandIn;
beforeAll(async () => {
  stage = await StatusStage.start();
});
afterAll(() => {
  stage.end();
});
afterEach(() => world.end());

/** Starts a proxy with one session. */
async function open(args?: readonly string[]): Promise<void> {
  world = await stage.world(args === undefined ? {} : { args });
  session = await world.session(world.workspace('own'), 's1');
  command = await stage.standIn();
}

/** Lets the editor answer the open card with an option; resolves with its request. */
async function choose(optionId: string): Promise<Json> {
  const outcome = { outcome: { outcome: 'selected', optionId } };
  return await world.answer('session/request_permission', { result: outcome });
}

/** The next update of the thread. */
async function update(): Promise<Json> {
  const { params } = await world.editor.next('session/update');
  return (params as { update: Json }).update;
}

test('the answer goes back to the command, and holds until the turn ends', async () => {
  await open();
  const turn = await startTurn(world, session);
  const asked = command.ask(1, place);
  const { sessionUpdate, ...call } = await update();
  expect([sessionUpdate, call.title]).toEqual(['tool_call', 'Connect to example.org:443']);
  const { params } = await choose('turn');
  expect(params).toMatchObject({ sessionId: session.id, toolCall: call });

  expect(await asked).toBe(true);
  expect(await update()).toEqual({
    sessionUpdate: 'tool_call_update',
    toolCallId: call.toolCallId,
    status: 'completed',
  });
  expect(await command.ask(2, place)).toBe(true);
  await turn.end();

  await startTurn(world, session);
  const again = command.ask(3, place);
  await choose('no');
  expect(await again).toBe(false);
  // The agent has heard nothing of all this.
  expect(session.agent.inbox.takeAll()).toEqual([]);
});

test('"always" is written down for the workspace', async () => {
  await open();
  const turn = await startTurn(world, session);
  const asked = command.ask(1, place);
  await choose('workspace');
  expect(await asked).toBe(true);
  await turn.end();
  await leave(world);

  const { state } = new Host({ HOME: join(world.folder, 'home') }).folders;
  expect(decisionsOf(state, world.workspace('own')).allow).toEqual([place]);
});

test('the end of the turn takes the question back, before the answer to the prompt', async () => {
  await open();
  const turn = await startTurn(world, session);
  const asked = command.ask(1, place);
  const { id } = await world.editor.next('session/request_permission');
  await update();

  const answer = await turn.end();

  expect(await asked).toBeUndefined();
  expect(answer).toEqual(success(turn.id, { stopReason: 'end_turn' }));
  const [cancel, closed] = world.editor.takeAll();
  expect(cancel).toMatchObject({ method: '$/cancel_request', params: { requestId: id } });
  expect(closed).toMatchObject({ params: { update: { status: 'failed' } } });
  expect(world.editor.lines.at(-1)!.toString()).toBe(JSON.stringify(answer));
  world.send({ id, result: { outcome: { outcome: 'selected', optionId: 'session' } } });
  await startTurn(world, session);
  command.say({ kind: 'asks', id: 2, place });
  await world.editor.next('session/request_permission');
});

test.each<[string, (id: unknown) => void]>([
  ['a cancel of the turn', () => world.send({ method: 'session/cancel', params: { sessionId: session.id } })],
  [
    'an answer that is no message',
    (id) => world.send(`{"jsonrpc":"2.0","id":${String(id)},"result":{},"error":{}}\n`),
  ],
  ['an error', (id) => world.send({ id, error: { code: -32601, message: 'Method not found' } })],
  ['the end of the editor', () => world.process.stdin.end()],
])('%s answers without a verdict', async (_what, act) => {
  await open();
  await startTurn(world, session);
  const asked = command.ask(1, place);
  const { id } = await world.editor.next('session/request_permission');

  act(id);

  expect(await asked).toBeUndefined();
});

test('a recording has it, and plays it to an editor', async () => {
  const file = join(newFolder(), 'r.ndjson');
  await open(['--record', file, 'puppet']);
  const turn = await startTurn(world, session);
  const asked = command.ask(1, place);
  await choose('session');
  await asked;
  await turn.end();
  await leave(world);
  const lines = readRecording(readFileSync(file, 'utf8'), file);
  const of = (side: string): string =>
    lines
      .filter((line) => line.side === side)
      .map(({ bytes }) => `${bytes.toString()}\n`)
      .join('');

  const { status, stdout, stderr } = spawnSync(process.execPath, [cai, 'replay', file], {
    input: of('from editor'),
    env: { PATH: process.env.PATH, HOME: newFolder() },
    encoding: 'utf8',
  });

  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toBe(of('to editor'));
  expect(stdout).toContain('"method":"session/request_permission"');
});
