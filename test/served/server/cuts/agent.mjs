/*
 * An agent whose every message has a number. A prompt's first block is its order, JSON: `session` (a name), `turn`,
 * `updates`, `bytes` (of text in each), `permissions`, `waits` (until it is cancelled). What arrives here is appended to
 * the file that the first argument names, one JSON object a line: the record of what was lost or doubled on the way.
 */
import { appendFileSync } from 'node:fs';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const file = process.argv[2];
let lastSession = 0;
let lastRequest = 0;
/** By request id. */
const asked = new Map();
/** By session id: turns follow each other. */
const turns = new Map();
/** By session id and turn, which may be cancelled before it has begun. */
const cancels = new Map();

const record = (what) => appendFileSync(file, `${JSON.stringify(what)}\n`);

async function write(message) {
  const isTaken = process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  if (!isTaken) await once(process.stdout, 'drain');
}

function cancelOf(sessionId, turn) {
  const key = `${sessionId} ${turn}`;
  if (!cancels.has(key)) {
    let cancel;
    const done = new Promise((resolve) => (cancel = resolve));
    cancels.set(key, { done, cancel });
  }
  return cancels.get(key);
}

async function ask(sessionId, { session, turn }, number) {
  const id = lastRequest++;
  record({ session, turn, asked: number });
  const answered = new Promise((resolve) => asked.set(id, resolve));
  const options = [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }];
  const toolCall = { toolCallId: `${turn} ${number}` };
  await write({ id, method: 'session/request_permission', params: { sessionId, toolCall, options } });
  record({ session, turn, answered: number, answer: await answered });
}

async function play(id, { sessionId, prompt }) {
  const order = JSON.parse(prompt[0].text);
  const { session, turn, updates, bytes, permissions, waits } = order;
  record({ session, turn, prompt: prompt[1].text.length });
  for (let number = 1; number <= updates; number++) {
    const content = { type: 'text', text: `${turn} ${number} ${'x'.repeat(bytes)}` };
    await write({
      method: 'session/update',
      params: { sessionId, update: { sessionUpdate: 'agent_message_chunk', content } },
    });
    if (number <= permissions) await ask(sessionId, order, number);
  }
  if (waits) await cancelOf(sessionId, turn).done;
  await write({ id, result: { stopReason: waits ? 'cancelled' : 'end_turn', _meta: { turn } } });
}

const calls = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true }, authMethods: [] }),
  'session/new': () => ({ sessionId: `${process.pid}-${++lastSession}` }),
  'session/load': () => ({}),
};

for await (const line of createInterface(process.stdin)) {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === 'session/prompt') {
    const before = turns.get(params.sessionId);
    turns.set(
      params.sessionId,
      (async () => {
        await before;
        await play(id, params);
      })(),
    );
  } else if (method === 'session/cancel') {
    const { session, turn, cancel } = params._meta;
    record({ session, turn, cancel });
    cancelOf(params.sessionId, turn).cancel();
  } else if (method in calls) {
    await write({ id, result: calls[method](params) });
  } else if (method === undefined) {
    if (!asked.has(id)) record({ unasked: id });
    asked.get(id)?.(result?._meta?.answer ?? error ?? result);
    asked.delete(id);
  } else if (id !== undefined) {
    await write({ id, error: { code: -32601, message: 'not found' } });
  }
}
