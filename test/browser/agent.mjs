/*
 * An agent for the tests of the page: `node agent.mjs FOLDER`. It obeys the first word of a prompt:
 *   play NAME   does the steps of FOLDER/NAME.json: { update, _meta }, { ask } for a permission, { wait } until it is stopped
 * and echoes anything else. Its sessions are kept in FOLDER, so that every process of it can load them.
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { basename, join } from 'node:path';

const folder = process.argv[2];
const asked = new Map();
const stops = new Map();
let lastId = 0;
let mode = 'ask';

const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const fileOf = (sessionId) => join(folder, `${sessionId}.session`);
const tell = (sessionId, update, _meta) =>
  write({ method: 'session/update', params: { sessionId, update, _meta } });

/** Says it, and keeps it. */
function say(sessionId, update, meta) {
  appendFileSync(fileOf(sessionId), `${JSON.stringify(update)}\n`);
  tell(sessionId, update, meta);
}

function text(sessionUpdate, words) {
  return { sessionUpdate, content: { type: 'text', text: words } };
}

async function ask(sessionId, params) {
  const id = lastId++;
  write({ id, method: 'session/request_permission', params: { sessionId, ...params } });
  const { outcome } = await new Promise((resolve) => asked.set(id, resolve));
  say(sessionId, text('agent_message_chunk', `permission: ${outcome.optionId ?? outcome.outcome}`));
}

async function turn({ sessionId, prompt }) {
  const words = prompt.map(({ text = '' }) => text).join('');
  for (const content of prompt) {
    const kept = { sessionUpdate: 'user_message_chunk', content };
    appendFileSync(fileOf(sessionId), `${JSON.stringify(kept)}\n`);
  }
  const [, name] = /^play (\w+)$/.exec(words) ?? [];
  if (name === undefined) say(sessionId, text('agent_message_chunk', `echo: ${words}`));
  const steps = name === undefined ? [] : JSON.parse(readFileSync(join(folder, `${name}.json`)));
  for (const step of steps) {
    if (step.update) say(sessionId, step.update, step._meta);
    if (step.ask) await ask(sessionId, step.ask);
    if (!step.wait) continue;
    await new Promise((resolve) => stops.set(sessionId, resolve));
    return { stopReason: 'cancelled' };
  }
  return { stopReason: 'end_turn' };
}

const settings = () => ({
  configOptions: [
    {
      ...{ id: 'mode', name: 'Mode', category: 'mode', type: 'select', currentValue: mode },
      options: [
        { value: 'ask', name: 'Ask first' },
        { value: 'code', name: 'Write code' },
      ],
    },
  ],
});

const methods = {
  initialize: () => ({
    protocolVersion: 1,
    agentCapabilities: {
      loadSession: true,
      sessionCapabilities: { list: {} },
      promptCapabilities: { image: true },
    },
    authMethods: [],
  }),
  'session/new': ({ cwd }) => {
    const sessionId = randomUUID();
    appendFileSync(fileOf(sessionId), `${JSON.stringify(cwd)}\n`);
    return { sessionId, ...settings() };
  },
  'session/load': ({ sessionId }) => {
    if (!existsSync(fileOf(sessionId))) throw new Error('no such session');
    const [, ...updates] = readFileSync(fileOf(sessionId), 'utf8').trim().split('\n');
    for (const line of updates) tell(sessionId, JSON.parse(line));
    return settings();
  },
  'session/list': () => ({
    sessions: readdirSync(folder)
      .filter((name) => name.endsWith('.session'))
      .map((name) => ({
        sessionId: basename(name, '.session'),
        cwd: JSON.parse(readFileSync(join(folder, name), 'utf8').split('\n')[0]),
        updatedAt: '2026-01-02T03:04:05Z',
      })),
  }),
  'session/set_config_option': ({ value }) => {
    mode = value;
    return settings();
  },
  'session/prompt': turn,
};

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) asked.get(id)?.(result);
  else if (method === 'session/cancel') stops.get(params.sessionId)?.();
  else if (id !== undefined) {
    try {
      if (!Object.hasOwn(methods, method)) throw new Error('Method not found');
      write({ id, result: await methods[method](params) });
    } catch ({ message }) {
      write({ id, error: { code: -32603, message } });
    }
  }
});
