import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { askMs } from '../../../src/network/egress/ask';
import { Questions } from '../../../src/acp/observers/questions';
import { ChildRequests } from '../../../src/acp/child/child-requests';
import type { Child } from '../../../src/acp/child/child';
import { scan, type Message } from '../../../src/rpc/message';
import type { Core } from '../../../src/acp/relay/core';
import type { AgentSession } from '../../../src/acp/sessions/session';
import { Host } from '../../../src/system/host';
import type { Log } from '../../../src/system/log';
import { noLog } from '../../agent/agent-run';
import type { Json } from '../../support/inbox';
import { newCore, openSession } from '../../support/sessions';
import { newFolder } from '../../support/temp-folder';

const place = 'example.org:443';

let core: Core;
let questions: Questions;
/** What the editor was sent and no call of `told` has returned. */
let lines: Json[];
/** What was allowed for good: workspace and place. */
let allowed: string[];
/** Whether the user may allow for good. */
let isOwner: boolean;
/** Why nothing can be allowed for good. */
let fault: Error | undefined;
let logged: string[];
let child: Child;
/** The places of which agents were told that they may connect there no more. */
let ended: string[];
/** Whether the editor names the server of its session. */
let isNamed: boolean;

beforeEach(() => {
  jest.useFakeTimers();
  const note = (...what: unknown[]): void => void logged.push(JSON.stringify(what));
  const log: Log = { ...noLog, info: note, warn: note };
  core = newCore(new Host({ HOME: newFolder() }), log);
  lines = [];
  allowed = [];
  ended = [];
  isNamed = true;
  fault = undefined;
  isOwner = true;
  logged = [];
  questions = new Questions(core, {
    get allowAlways() {
      return isOwner ? allowAlways : undefined;
    },
    isNamed: (_root, what) => isNamed && what === 'mcp.example:443',
  });
  core.observers.push(questions);
  child = newChild();
});
afterEach(() => {
  jest.useRealTimers();
});

function allowAlways(root: string | undefined, what: string): void {
  allowed.push(`${root} ${what}`);
  if (fault !== undefined) throw fault;
}

/** An agent without a process. */
function newChild(): Child {
  const deliver = (line: Buffer): void => void lines.push(JSON.parse(line.toString()) as Json);
  const link = { endGrants: (places: readonly string[]) => ended.push(...places) };
  return {
    root: '/w',
    isUsable: true,
    requests: new ChildRequests(),
    deliver,
    link,
  } as unknown as Child;
}

/** An open session of an agent, with that id at the editor. */
const opened = (id: string, its = child): AgentSession => openSession(core.sessions, its, id, `agent-${id}`);

function message(body: Json): Message {
  const nothing = { params: () => undefined, result: () => undefined, error: undefined };
  return scan(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...body })), nothing);
}

let lastPrompt = 0;

/** Begins a turn; returns what ends it, as the agent's answer or without one. */
function begin(session: AgentSession): { answer(): void; lose(): void } {
  const id = String(++lastPrompt);
  const call = message({ id: lastPrompt, method: 'session/prompt', params: {} });
  questions.onCall(session, call);
  session.child.requests.add(id, {
    method: 'session/prompt',
    session,
    onAnswer: () => questions.onPromptOver(session),
    onFailure: () => questions.onPromptOver(session),
  });
  return {
    answer: () => void session.child.requests.settle(id, message({ id: Number(id), result: {} })),
    lose: () => void session.child.requests.fail(id, undefined as never),
  };
}

/** A session that is at a turn. */
function atTurn(id = 's'): AgentSession {
  const session = opened(id);
  begin(session);
  return session;
}

/** Params of what the editor is sent. */
interface Params {
  readonly sessionId: string;
  readonly update?: Readonly<Record<string, string>>;
  readonly toolCall?: Readonly<Record<string, string>>;
  readonly requestId?: number;
}

/** What the editor was sent since the last call, in short. */
function told(): string[] {
  return lines.splice(0).map(({ id, method, params }) => {
    const { sessionId, update, toolCall, requestId } = params as Params;
    if (method === '$/cancel_request') return `cancel ${requestId}`;
    const { title = '', status, sessionUpdate = `request ${String(id)}` } = update ?? toolCall!;
    return `${sessionId}: ${sessionUpdate} ${status} ${title}`.trim();
  });
}

/** The editor answers the request with that id. */
function answer(id: number, outcome: Json): boolean {
  return core.requests.settleOwn(String(id), message({ id, ...outcome }));
}

/** The user chooses an option. */
const choose = (id: number, optionId: string): boolean =>
  answer(id, { result: { outcome: { outcome: 'selected', optionId } } });

describe('a question in a turn', () => {
  test('is a card in the thread, as the schemas of ACP have it', async () => {
    atTurn();
    const asked = questions.ask(child, place);

    const [call, request] = lines as { id: unknown; method: string; params: Json & { update: Json } }[];
    expect(call).toMatchObject({ method: 'session/update', params: { sessionId: 's' } });
    const { sessionUpdate, ...announced } = call!.params.update;
    expect(sessionUpdate).toBe('tool_call');
    expect(request).toMatchObject({ id: 1, method: 'session/request_permission' });
    expect(request!.params).toEqual({
      sessionId: 's',
      _meta: { containai: true },
      toolCall: announced,
      options: [
        { optionId: 'turn', name: 'Allow in this turn', kind: 'allow_once' },
        { optionId: 'session', name: 'Allow in this session', kind: 'allow_always' },
        { optionId: 'workspace', name: 'Always allow in this workspace', kind: 'allow_always' },
        { optionId: 'no', name: 'No', kind: 'reject_once' },
      ],
    });
    const { toolCallId, ...rest } = announced;
    expect(toolCallId).toMatch(/^cai-./);
    expect(rest).toEqual({
      title: 'Connect to example.org:443',
      kind: 'fetch',
      status: 'pending',
    });
    choose(1, 'turn');
    expect(await asked).toBe(true);
    const file = require.resolve('@agentclientprotocol/sdk/schema/v1/schema.json');
    const schema = JSON.parse(readFileSync(file, 'utf8')) as { $defs: object };
    const fits = (type: string, value: unknown): boolean =>
      z.fromJSONSchema({ $ref: `#/$defs/${type}`, $defs: schema.$defs } as never).safeParse(value).success;
    expect(fits('RequestPermissionRequest', request!.params)).toBe(true);
    for (const { params } of [lines[0], lines[2]] as Json[])
      expect(fits('SessionNotification', params)).toBe(true);
  });

  test.each([
    ['turn', true, 'completed'],
    ['session', true, 'completed'],
    ['workspace', true, 'completed'],
    ['no', false, 'failed'],
  ])('is answered by the option "%s" with %s, and the card is %s', async (option, isAllowed, status) => {
    atTurn();
    const asked = questions.ask(child, place);
    told();

    choose(1, option);

    expect(await asked).toBe(isAllowed);
    expect(told()).toEqual([`s: tool_call_update ${status}`]);
    expect(await questions.ask(child, place)).toBe(isAllowed);
    expect(told()).toEqual([]);
  });

  test('offers no rule to whoever may not make one, and takes no answer that it did not offer', async () => {
    isOwner = false;
    atTurn();
    const asked = questions.ask(child, place);

    const { options } = lines[1]!.params as { options: { optionId: string }[] };
    expect(options.map(({ optionId }) => optionId)).toEqual(['turn', 'session', 'no']);
    choose(1, 'workspace');
    expect(await asked).toBeUndefined();
    expect(allowed).toEqual([]);
  });

  test('has a card of its own for each place, in order, up to a limit', async () => {
    atTurn();
    const asked = Array.from({ length: 8 }, (_, n) => questions.ask(child, `h${n}:1`));
    const titles = told().filter((each) => each.includes('request'));
    expect(titles).toEqual(asked.map((_, n) => `s: request ${n + 1} pending Connect to h${n}:1`));

    expect(await questions.ask(child, 'h8:1')).toBeUndefined();
    expect(told()).toEqual([]);
    choose(3, 'turn');
    void questions.ask(child, 'h8:1');

    expect(await asked[2]).toBe(true);
    expect(told().slice(1)).toEqual([
      's: tool_call pending Connect to h8:1',
      's: request 9 pending Connect to h8:1',
    ]);
  });

  test('shows a name as it is where the title is Markdown, and other letters beside their form', () => {
    atTurn();
    void questions.ask(child, '__registry.npmjs.org__.evil.example:443');
    void questions.ask(child, 'xn--e1afmkfd.example:443');

    const [first, , second] = told();

    expect(first).toMatch(/ Connect to \\_\\_registry\.npmjs\.org\\_\\_\.evil\.example:443$/);
    expect(second).toMatch(/ Connect to xn--e1afmkfd\.example:443 \(пример\.example\)$/);
  });

  test('offers No to all after three No, which ends all questions of the turn, also open ones', async () => {
    const session = opened('s');
    begin(session);
    const offered = (): string[] => {
      const { params } = lines.findLast(({ method }) => method === 'session/request_permission')!;
      return (params as { options: { optionId: string }[] }).options.map(({ optionId }) => optionId);
    };
    for (const n of [1, 2, 3]) {
      void questions.ask(child, `h${n}:1`);
      expect(offered()).toEqual(['turn', 'session', 'workspace', 'no']);
      choose(n, 'no');
    }
    const asked = ['h4:1', 'h5:1', 'h6:1'].map((each) => questions.ask(child, each));
    expect(offered()).toEqual(['turn', 'session', 'workspace', 'no', 'none']);
    told();

    choose(5, 'no');
    told();
    choose(4, 'none');

    expect(await Promise.all(asked)).toEqual([false, false, false]);
    expect(told()).toEqual(['cancel 6', 's: tool_call_update failed', 's: tool_call_update failed']);
    expect(await questions.ask(child, 'h7:1')).toBe(false);
    expect(told()).toEqual([]);
  });

  test('is logged with the place alone', async () => {
    const asked = questions.ask(child, place);
    atTurn('secret-session');
    void questions.ask(child, place);
    choose(1, 'no');
    await asked;

    expect(logged).toHaveLength(2);
    expect(logged.join('')).not.toMatch(/secret|\/w/);
    expect(logged[0]).toContain(place);
  });
});

describe('an answer', () => {
  test('for the session holds until it is closed, and outlives its agent', async () => {
    const session = opened('s');
    const turn = begin(session);
    void questions.ask(child, place);
    choose(1, 'session');
    turn.answer();
    begin(session);
    expect(await questions.ask(child, place)).toBe(true);

    Object.assign(child, { isUsable: false });
    core.sessions.lose({ ...session, openParams: '{}' });
    child = newChild();
    const restored = core.sessions.open('s', { ...session, child }, 'open');
    expect(restored.owner).toBe(session.owner);
    begin(restored);
    expect(await questions.ask(child, place)).toBe(true);

    core.sessions.close(restored);
    begin(opened('s'));
    told();
    void questions.ask(child, place);
    expect(told()).toHaveLength(2);
  });

  test('that cannot be written down counts for the session', async () => {
    fault = new Error('disk full');
    const session = opened('s');
    const turn = begin(session);
    const asked = questions.ask(child, place);
    choose(1, 'workspace');
    expect(await asked).toBe(true);
    turn.answer();
    begin(session);

    expect(await questions.ask(child, place)).toBe(true);
    expect(logged.join('')).toContain('disk full');
  });

  test('that comes late counts for the next try', async () => {
    atTurn();
    const asked = questions.ask(child, place);
    await jest.advanceTimersByTimeAsync(askMs);
    expect(await asked).toBeUndefined();
    const again = questions.ask(child, place);
    expect(told()).toHaveLength(2);

    choose(1, 'turn');

    expect(await again).toBe(true);
    expect(await questions.ask(child, place)).toBe(true);
    expect(told()).toEqual(['s: tool_call_update completed']);
  });

  test.each<[string, Json]>([
    ['an option that was not offered', { result: { outcome: { outcome: 'selected', optionId: 'yes' } } }],
    ['a name of every object', { result: { outcome: { outcome: 'selected', optionId: 'constructor' } } }],
  ])('that is %s allows nothing, and is not asked for again in the turn', async (_what, outcome) => {
    atTurn();
    const asked = questions.ask(child, place);
    told();
    answer(1, outcome);

    expect(await asked).toBeUndefined();
    expect(told()).toEqual(['s: tool_call_update failed']);
    expect(await questions.ask(child, place)).toBeUndefined();
    expect(told()).toEqual([]);
    void questions.ask(child, 'other:443');
    expect(told()).toHaveLength(2);
  });

  test.each<[string, () => void]>([
    ['an error', () => answer(1, { error: { code: -32601, message: 'Method not found' } })],
    ['a line that cannot be read', () => core.requests.settleOwn('1')],
  ])('that is %s ends the questions of the turn', async (_what, act) => {
    atTurn();
    const asked = questions.ask(child, place);
    told();
    act();

    expect(await asked).toBeUndefined();
    expect(told()).toEqual(['s: tool_call_update failed']);
    expect(await questions.ask(child, 'other:443')).toBeUndefined();
    expect(told()).toEqual([]);
  });
});

describe('what was allowed ends, and the agent is told,', () => {
  async function allowed(option: string): Promise<{ session: AgentSession; turn: ReturnType<typeof begin> }> {
    const session = opened('s');
    const turn = begin(session);
    const asked = questions.ask(child, place);
    choose(1, option);
    expect(await asked).toBe(true);
    return { session, turn };
  }

  test.each(['turn', 'workspace'])('with the turn: %s', async (option) => {
    const { turn } = await allowed(option);
    expect(ended).toEqual([]);

    turn.answer();

    expect(ended).toEqual([place]);
  });

  test('with a cancel of the turn', async () => {
    const { session } = await allowed('turn');

    questions.onCall(session, message({ method: 'session/cancel', params: {} }));

    expect(ended).toEqual([place]);
    expect(await questions.ask(child, place)).toBeUndefined();
  });

  test('with the session, not with its turn', async () => {
    const { session, turn } = await allowed('session');
    turn.answer();
    expect(ended).toEqual([]);

    core.sessions.close(session);

    expect(ended).toEqual([place]);
  });

  test('with the session for which the editor has named a server', async () => {
    const session = opened('s');
    await questions.ask(child, 'mcp.example:443');
    isNamed = false;

    core.sessions.close(session);

    expect(ended).toEqual(['mcp.example:443']);
  });

  test('before an answer that comes together with the end', async () => {
    const turn = begin(opened('s'));
    const asked = questions.ask(child, place);

    choose(1, 'turn');
    turn.answer();

    expect(await asked).toBeUndefined();
  });
});

describe('the open cards of a turn', () => {
  const takenBack = ['cancel 1', 's: tool_call_update failed'];

  test.each<[string, 'answer' | 'lose']>([
    ['is answered', 'answer'],
    ['is lost with its agent', 'lose'],
  ])('are over when its prompt %s, and a later answer means nothing', async (_what, how) => {
    const turn = begin(opened('s'));
    const asked = questions.ask(child, place);
    told();

    turn[how]();

    expect(told()).toEqual(takenBack);
    expect(await asked).toBeUndefined();
    expect(choose(1, 'session')).toBe(false);
    expect(await questions.ask(child, place)).toBeUndefined();
    expect(told()).toEqual([]);
  });

  test('stay while another prompt of the session is open', async () => {
    const session = opened('s');
    const [first, second] = [begin(session), begin(session)];
    const asked = questions.ask(child, place);
    told();
    first.answer();
    expect(told()).toEqual([]);
    choose(1, 'no');
    expect(await asked).toBe(false);

    void questions.ask(child, 'other:443');
    second.answer();

    expect(told().slice(3)).toEqual(['cancel 2', 's: tool_call_update failed']);
  });

  test('are over at a cancel, whether the editor answers them before it or behind it', async () => {
    const session = opened('s');
    const turn = begin(session);
    const asked = [questions.ask(child, place), questions.ask(child, 'other:443')];
    told();
    answer(2, { result: { outcome: { outcome: 'cancelled' } } });
    expect(told()).toEqual(['s: tool_call_update failed']);

    questions.onCall(session, message({ method: 'session/cancel', params: {} }));

    expect(told()).toEqual(takenBack);
    expect(answer(1, { result: { outcome: { outcome: 'cancelled' } } })).toBe(false);
    expect(await Promise.all(asked)).toEqual([undefined, undefined]);
    expect(await questions.ask(child, 'third:443')).toBeUndefined();
    expect(told()).toEqual([]);
    begin(session);
    turn.answer();
    void questions.ask(child, place);
    expect(told()).toHaveLength(2);
  });

  test('are taken back when the session is closed, without another word in it', async () => {
    const session = atTurn();
    const asked = questions.ask(child, place);
    told();

    core.sessions.close(session);

    expect(told()).toEqual(['cancel 1']);
    expect(await asked).toBeUndefined();
  });

  test('are over without a word when the editor goes', async () => {
    const turn = begin(opened('s'));
    const asked = questions.ask(child, place);
    told();
    core.isEditorGone = true;

    core.requests.failOwn();

    expect(await asked).toBeUndefined();
    turn.answer();
    expect(told()).toEqual([]);
  });
});

describe('nobody is asked, and the answer comes at once', () => {
  test('outside of turns', async () => {
    const session = opened('s');
    expect(await questions.ask(child, place)).toBeUndefined();
    begin(session).answer();
    expect(await questions.ask(child, place)).toBeUndefined();
    questions.onCall(session, message({ method: 'session/prompt', params: {} }));
    questions.onCall(session, message({ id: 1, method: 'session/set_mode', params: {} }));

    expect(await questions.ask(child, place)).toBeUndefined();
    expect(told()).toEqual([]);
  });

  test('when the editor is gone', async () => {
    atTurn();
    core.isEditorGone = true;

    expect(await questions.ask(child, place)).toBeUndefined();
    expect(told()).toEqual([]);
  });

  test('in a turn that has asked about very many places', async () => {
    atTurn();
    for (let n = 0; n < 1_000; n++) {
      void questions.ask(child, `h${n}:1`);
      choose(n + 1, 'turn');
    }
    told();

    expect(await questions.ask(child, place)).toBeUndefined();
    expect(told()).toEqual([]);
    expect(await questions.ask(child, 'h0:1')).toBe(true);
  });
});

describe('of two sessions of one agent', () => {
  test('the one is asked whose prompt began last', () => {
    const [first] = [opened('a'), opened('b')].map((session) => {
      begin(session);
      return session;
    });
    void questions.ask(child, place);
    expect(told()[0]).toMatch(/^b: /);

    begin(first!);
    void questions.ask(child, 'other:443');

    expect(told()[0]).toMatch(/^a: /);
  });

  test('the other goes on when one ends, and another agent is not concerned', async () => {
    begin(opened('a'));
    const turn = begin(opened('b'));
    const asked = questions.ask(child, place);
    turn.answer();
    expect(await asked).toBeUndefined();
    told();

    void questions.ask(child, place);
    expect(told()[0]).toMatch(/^a: /);
    expect(await questions.ask(newChild(), place)).toBeUndefined();
  });
});
