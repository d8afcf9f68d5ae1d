/** Two clients, each with a process of its own that the test plays. Who gets what in which order: `traffic.property.test.ts`. */
import { OpenRequests } from '../../../../src/rpc/open-requests';
import type { Line } from '../../../../src/rpc/splice';
import type { LiveSession } from '../../../../src/served/server/traffic/live-session';
import { Keeper } from '../../../../src/served/server/kept-lines';
import { SessionClaims } from '../../../../src/served/server/traffic/session-claims';
import { Traffic } from '../../../../src/served/server/traffic/traffic';
import { newFolder } from '../../../support/temp-folder';

type Json = Readonly<Record<string, unknown>>;

/** One connection: what its client and its process have got, and a way to speak as either. */
class Side {
  readonly answered: string[] = [];
  /** The streams of what the client has got. */
  readonly streams: string[] = [];
  guestsLeft = 0;
  readonly traffic: Traffic;
  readonly keeper: Keeper;
  #toClient: string[] = [];
  #toProcess: string[] = [];

  constructor(
    sessions: Map<string, LiveSession>,
    limits = { bytes: Infinity, lines: Infinity },
    claims = new SessionClaims(newFolder()),
  ) {
    this.keeper = new Keeper(limits);
    this.traffic = new Traffic(
      {
        deliver: (line, stream) => {
          this.#toClient.push(line.toString());
          this.streams.push(stream);
        },
        toAgent: (line: Line) =>
          this.#toProcess.push((Buffer.isBuffer(line) ? line : Buffer.concat(line)).toString()),
        lastGuestLeft: () => this.guestsLeft++,
        answered: (method) => this.answered.push(method),
      },
      sessions,
      claims,
      this.keeper,
    );
  }

  client(message: Json): void {
    this.traffic.fromClient(Buffer.from(JSON.stringify(rpc(message))));
  }

  process(message: Json): void {
    this.traffic.fromAgent(Buffer.from(JSON.stringify(rpc(message))));
  }

  /** What the client has got since the last call. */
  got(): Json[] {
    return this.gotTexts().map((line) => JSON.parse(line) as Json);
  }

  gotTexts(): string[] {
    return this.#toClient.splice(0);
  }

  /** What the process has got since the last call. */
  sent(): Json[] {
    return this.sentTexts().map((line) => JSON.parse(line) as Json);
  }

  sentTexts(): string[] {
    return this.#toProcess.splice(0);
  }
}

const text = (said: string) => ({ type: 'text', text: said });
const update = (sessionUpdate: string, said: string, sessionId = 's') => ({
  method: 'session/update',
  params: { sessionId, update: { sessionUpdate, content: text(said) } },
});
const says = (said: string) => update('agent_message_chunk', said);
const prompts = (id: unknown, said: string) => ({
  id,
  method: 'session/prompt',
  params: { sessionId: 's', prompt: [text(said)] },
});
const asks = (id: unknown) => ({
  id,
  method: 'session/request_permission',
  params: { sessionId: 's', options: [{ optionId: 'yes' }] },
});
const reads = (id: unknown) => ({ id, method: 'fs/read_text_file', params: { sessionId: 's', path: '/f' } });
const loads = (id: unknown, method = 'session/load') => ({
  id,
  method,
  params: { sessionId: 's', cwd: '/w', mcpServers: [] },
});
const rpc = (message: Json) => ({ jsonrpc: '2.0', ...message });

/** A home with an open session `s`, and another connection of the same visitor. */
function two(limits?: { bytes: number; lines: number }): { home: Side; guest: Side } {
  const sessions = new Map<string, LiveSession>();
  const [home, guest] = [new Side(sessions, limits), new Side(sessions)];
  home.client({ id: 1, method: 'session/new', params: { cwd: '/w', mcpServers: [] } });
  home.process({ id: 1, result: { sessionId: 's', modes: { currentModeId: 'm' } } });
  home.got();
  home.sent();
  return { home, guest };
}

/** As `two`, and the other has joined. */
function joined(): { home: Side; guest: Side } {
  const both = two();
  both.guest.client(loads('j', 'session/resume'));
  both.guest.got();
  return both;
}

test.each([
  [
    'that is closed',
    ({ home }: ReturnType<typeof two>) => {
      home.client({ id: 2, method: 'session/close', params: { sessionId: 's' } });
      home.process({ id: 2, result: {} });
    },
  ],
  ['whose process has ended', ({ home }: ReturnType<typeof two>) => home.traffic.end()],
])('nothing is kept of a session %s, also if another follows it', (_, end) => {
  const both = joined();
  both.home.process(says('long'));
  const forgotten = jest.spyOn(both.home.keeper, 'forget');
  end(both);

  expect(forgotten.mock.calls.flatMap(([kept]) => kept.lines.map(String))).toEqual([
    JSON.stringify(rpc(says('long'))),
  ]);
});

describe('one client', () => {
  test('gives and gets every byte as it is, whatever it is', () => {
    const { home } = two();
    const lines = [
      '{"jsonrpc":"2.0" , "id":5.0,"method":"x/y","params":{"sessionId":"s","a":[1e2]}}',
      '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"none"}}',
      '{"jsonrpc":"2.0","id":"q","result":{}}',
      'no JSON',
      '[1]',
    ];
    for (const line of lines) home.traffic.fromClient(Buffer.from(line));
    for (const line of lines) home.traffic.fromAgent(Buffer.from(line));

    expect(home.sentTexts()).toEqual(lines.map((line) => `${line}\n`));
    expect(home.gotTexts()).toEqual(lines);
  });

  test('is counted: what was asked, and the sessions that are open', () => {
    const { home } = two();
    home.client(prompts(2, 'hi'));
    expect(home.traffic.isWorking).toBe(true);
    home.process({ id: 2, result: { stopReason: 'end_turn' } });
    home.client({ id: 3, method: 'session/close', params: { sessionId: 's' } });

    expect(home.traffic.isWorking).toBe(true);
    expect(home.traffic.own).toHaveLength(1);
    home.process({ id: 3, result: {} });
    expect(home.traffic.own).toHaveLength(0);
    expect(home.answered).toEqual(['session/new', 'session/prompt', 'session/close']);
  });

  test('hears what an extension says of any number of sessions while one is opened, and none begins by that', () => {
    const sessions = new Map<string, LiveSession>();
    const side = new Side(sessions);
    side.client({ id: 1, method: 'session/new', params: { cwd: '/w', mcpServers: [] } });
    const told = ['_x/y', 'constructor'].map((method) => ({ method, params: { sessionId: `of ${method}` } }));
    for (const each of told) side.process(each);

    expect(side.got()).toEqual(told.map(rpc));
    expect([...sessions.keys()]).toEqual([]);
    side.process(says('first'));
    expect([...sessions.keys()]).toEqual(['s']);
  });

  test('opens any number of sessions at once: the answer to one is no look at the calls for each of the others', () => {
    const sessions = new Map<string, LiveSession>();
    const side = new Side(sessions);
    const open = (id: number) => ({ id, method: 'session/load', params: { sessionId: `s${id}`, cwd: '/w' } });
    for (let id = 0; id < 50; id++) side.client(open(id));
    const looks = jest.spyOn(OpenRequests.prototype, 'all', 'get');
    const walks = jest.spyOn(sessions, 'values');
    side.process({ id: 7, error: { code: -32602, message: 'there is none' } });

    expect(looks).not.toHaveBeenCalled();
    looks.mockRestore();
    expect(walks).not.toHaveBeenCalled();
    expect(side.got()).toMatchObject([{ id: 7 }]);
  });

  test('hears of what its agent says late of a closed session, which does not come back by that', () => {
    const { home, guest } = two();
    home.client({ id: 3, method: 'session/close', params: { sessionId: 's' } });
    home.process({ id: 3, result: {} });
    home.got();
    home.process(says('late'));
    guest.client(loads(1));

    expect(home.got()).toEqual([rpc(says('late'))]);
    expect(guest.sent()).toEqual([rpc(loads(1))]);
  });
});

describe('a client that loads a session of another connection', () => {
  test('gets all of the past, the answer that opened it, and what is open', () => {
    const { home, guest } = two();
    home.client(prompts(2, 'hi'));
    home.process(says('hello'));
    home.process(asks('p'));

    guest.client(loads('j'));

    const got = guest.got();
    expect(guest.sent()).toEqual([]);
    expect(got.slice(0, 2)).toEqual([rpc(update('user_message_chunk', 'hi')), rpc(says('hello'))]);
    expect(got[2]).toEqual({
      jsonrpc: '2.0',
      id: 'j',
      result: { sessionId: 's', modes: { currentModeId: 'm' } },
    });
    expect(got[3]).toEqual({ ...rpc(asks('p')), id: expect.stringMatching(/./) as string });
    expect(got).toHaveLength(4);
  });

  test('gets the past from the agent alone, where it is not kept and no turn is open', () => {
    const { home, guest } = two({ bytes: 300, lines: Infinity });
    for (const part of ['a', 'b', 'c', 'd']) home.process(says(part.repeat(50)));
    home.got();
    guest.client(loads('j'));

    const [load] = home.sent();
    expect(load).toEqual({ ...rpc(loads('j')), id: expect.stringMatching(/./) as string });
    home.process(says('the past'));
    home.process({ id: load!.id, result: {} });
    expect(home.got()).toEqual([]);
    expect(guest.got()).toEqual([rpc(says('the past')), rpc({ id: 'j', result: {} })]);
    home.process(says('now'));
    expect([home.got(), guest.got()]).toEqual([[rpc(says('now'))], [rpc(says('now'))]]);
  });

  test('is told that a part is missing, where a turn is open', () => {
    const { home, guest } = two({ bytes: 200, lines: Infinity });
    home.client(prompts(2, 'hi'));
    for (const part of ['a', 'b', 'c']) home.process(says(part.repeat(50)));
    home.sent();
    guest.client(loads('j'));

    const got = guest.got();
    expect(home.sent()).toEqual([]);
    expect(JSON.stringify(got[0])).toContain('Earlier messages of this session are not kept');
    expect(got[1]).toEqual(rpc(says('c'.repeat(50))));
    expect(got[2]).toMatchObject({ id: 'j' });
  });
});

describe('two clients of one session', () => {
  test('both prompt, see what the other has prompted, and when its turn is over', () => {
    const { home, guest } = joined();
    guest.client(prompts('g', 'from the phone'));

    const [prompt] = home.sent();
    expect(prompt).toEqual({
      ...rpc(prompts('g', 'from the phone')),
      id: expect.stringMatching(/./) as string,
    });
    expect(home.got()).toEqual([rpc(update('user_message_chunk', 'from the phone'))]);
    home.process({ id: prompt!.id, result: { stopReason: 'end_turn' } });
    expect(guest.got()).toEqual([rpc({ id: 'g', result: { stopReason: 'end_turn' } })]);
    expect(home.got()).toEqual([rpc({ method: '_containai/turn_ended', params: { sessionId: 's' } })]);

    home.client(prompts('g', 'from the desk'));
    expect(guest.got()).toEqual([rpc(update('user_message_chunk', 'from the desk'))]);
    home.process({ id: 'g', result: { stopReason: 'end_turn' } });
    expect(home.got()).toMatchObject([{ id: 'g' }]);
    expect(guest.got()).toMatchObject([{ method: '_containai/turn_ended' }]);
  });

  test('the first answer counts, and the other is told: the guest is first', () => {
    const { home, guest } = joined();
    home.process(asks(7));
    const [asked] = guest.got();
    expect(home.got()).toEqual([rpc(asks(7))]);
    guest.client({ id: asked!.id, result: { outcome: 'guest' } });

    expect(home.sent()).toEqual([rpc({ id: 7, result: { outcome: 'guest' } })]);
    expect(home.got()).toEqual([rpc({ method: '$/cancel_request', params: { requestId: 7 } })]);
    home.client({ id: 7, result: { outcome: 'home' } });
    expect(home.sent()).toEqual([]);
    expect(guest.sent()).toEqual([]);
  });

  test('the first answer counts, and the other is told: the home is first', () => {
    const { home, guest } = joined();
    home.process(asks(7));
    const [asked] = guest.got();
    home.client({ id: 7, result: { outcome: 'home' } });

    expect(home.sent()).toEqual([rpc({ id: 7, result: { outcome: 'home' } })]);
    expect(guest.got()).toEqual([rpc({ method: '$/cancel_request', params: { requestId: asked!.id } })]);
    guest.client({ id: asked!.id, result: { outcome: 'guest' } });
    expect(home.sent()).toEqual([]);
  });

  test('what an agent asks is kept up to 16 MiB: beyond that it is refused, until something is answered', () => {
    const { home, guest } = joined();
    const long = (id: number) => {
      const { params, ...rest } = asks(id);
      return { ...rest, params: { ...params, padding: 'x'.repeat(6 * 2 ** 20) } };
    };
    for (const id of [7, 8, 9]) home.process(long(id));

    expect(home.got().map(({ id }) => id)).toEqual([7, 8]);
    expect(guest.got()).toHaveLength(2);
    expect(home.sent()).toMatchObject([{ id: 9, error: { code: -32603 } }]);
    home.client({ id: 7, result: {} });
    home.sent();
    home.process(long(10));
    expect(home.got().map(({ id }) => id)).toEqual([10]);
  });

  test('both are told what the agent withdraws', () => {
    const { home, guest } = joined();
    home.process(asks(7));
    const [asked] = guest.got();
    home.got();
    home.process({ method: '$/cancel_request', params: { requestId: 7 } });

    expect(home.got()).toEqual([rpc({ method: '$/cancel_request', params: { requestId: 7 } })]);
    expect(guest.got()).toEqual([rpc({ method: '$/cancel_request', params: { requestId: asked!.id } })]);
  });

  test('the guest cancels its own request, and the turn', () => {
    const { home, guest } = joined();
    guest.client(prompts('g', 'x'));
    const [prompt] = home.sent();
    guest.client({ method: '$/cancel_request', params: { requestId: 'g' } });
    guest.client({ method: 'session/cancel', params: { sessionId: 's' } });

    expect(home.sent()).toEqual([
      rpc({ method: '$/cancel_request', params: { requestId: prompt!.id } }),
      rpc({ method: 'session/cancel', params: { sessionId: 's' } }),
    ]);
    expect(guest.sent()).toEqual([]);
  });

  test('the guest closes it for itself alone', () => {
    const { home, guest } = joined();
    guest.client({ id: 'c', method: 'session/close', params: { sessionId: 's' } });
    home.process(says('more'));

    expect(guest.got()).toEqual([rpc({ id: 'c', result: {} })]);
    expect(home.sent()).toEqual([]);
    expect(home.traffic.own).toHaveLength(1);
    expect(home.guestsLeft).toBe(1);
  });

  test('a fork belongs to whoever has asked for it', () => {
    const { home, guest } = joined();
    const fork = { id: 'f', method: 'session/fork', params: { sessionId: 's', cwd: '/w' } };
    guest.client(fork);

    expect(home.sent()).toEqual([]);
    expect(guest.sent()).toEqual([rpc(fork)]);
  });

  test('when the client of the home is gone, what only it could answer is refused', () => {
    const { home, guest } = joined();
    home.process(reads(8));
    home.process(asks(9));
    const [asked] = guest.got();
    home.got();
    home.sent();
    home.traffic.clientGone();
    expect(home.sent()).toMatchObject([{ id: 8, error: { code: -32603 } }]);

    home.process(reads(10));
    expect(home.sent()).toMatchObject([{ id: 10, error: { code: -32603 } }]);
    guest.client({ id: asked!.id, result: { outcome: 'guest' } });
    expect(home.sent()).toEqual([rpc({ id: 9, result: { outcome: 'guest' } })]);
    home.process(says('more'));
    expect(home.got()).toEqual([]);
    expect(guest.got()).toEqual([rpc(says('more'))]);
    guest.traffic.end();
    expect(home.guestsLeft).toBe(1);
  });
});

test('what one client sets, the others see, also those that come later', () => {
  const { home, guest } = joined();
  const configOptions = [{ id: 'mode', currentValue: 'code' }];
  const told = {
    method: 'session/update',
    params: { sessionId: 's', update: { sessionUpdate: 'config_option_update', configOptions } },
  };
  home.sent();
  guest.client({
    id: 'o',
    method: 'session/set_config_option',
    params: { sessionId: 's', configId: 'mode', value: 'code' },
  });
  home.process({ id: home.sent()[0]!.id, result: { configOptions } });

  expect(home.got()).toEqual([rpc(told)]);
  expect(guest.got()).toEqual([rpc({ id: 'o', result: { configOptions } })]);
  guest.client(loads('again'));
  const [past, answer] = guest.got();
  expect(past).toEqual(rpc(told));
  expect(answer).toMatchObject({ id: 'again', result: { configOptions } });
});

test('the mode that one client sets, the others see, also those that come later', () => {
  const { home, guest } = joined();
  const told = {
    method: 'session/update',
    params: { sessionId: 's', update: { sessionUpdate: 'current_mode_update', currentModeId: 'plan' } },
  };
  home.client({ id: 'm', method: 'session/set_mode', params: { sessionId: 's', modeId: 'plan' } });
  home.process({ id: 'm', error: { code: -32602, message: 'no such mode' } });
  expect(guest.got()).toEqual([]);

  home.client({ id: 'n', method: 'session/set_mode', params: { sessionId: 's', modeId: 'plan' } });
  home.process({ id: 'n', result: {} });
  expect(guest.got()).toEqual([rpc(told)]);
  expect(home.got()).toMatchObject([{ id: 'm' }, rpc({ id: 'n', result: {} })]);
});

test.each([
  ['that is none', '"x"'],
  ['without options', '{"configOptions":null}'],
  ['that is too long to be parsed', `{"configOptions":["${'x'.repeat(2 ** 20)}"]}`],
  ['that is nested too deeply', `{"configOptions":[${'['.repeat(200_000)}${']'.repeat(200_000)}]}`],
])('an answer to an option %s passes as it is', (_, result) => {
  const { home, guest } = joined();
  const params = { sessionId: 's', configId: 'c', value: 'v' };
  home.client({ id: 'o', method: 'session/set_config_option', params });
  home.traffic.fromAgent(Buffer.from(`{"jsonrpc":"2.0","id":"o","result":${result}}`));

  expect(home.gotTexts()).toEqual([`{"jsonrpc":"2.0","id":"o","result":${result}}`]);
  expect(guest.gotTexts()).toEqual([]);
});

test('a mode is set where the session was opened with null', () => {
  const sessions = new Map<string, LiveSession>();
  const [home, guest] = [new Side(sessions), new Side(sessions)];
  home.client(loads(1));
  home.traffic.fromAgent(Buffer.from('{"jsonrpc":"2.0","id":1,"result":null}'));
  home.client({ id: 'm', method: 'session/set_mode', params: { sessionId: 's', modeId: 'plan' } });
  home.process({ id: 'm', result: {} });
  guest.client(loads(2, 'session/resume'));

  expect(guest.got()).toEqual([rpc({ id: 2, result: {} })]);
});

test('a client cancels the telling of the past, at the agent that tells it', () => {
  const { home, guest } = two({ bytes: 0, lines: 1 });
  home.process(says('a'));
  home.process(says('b'));
  guest.client(loads('j'));
  const [load] = home.sent();
  guest.client({ method: '$/cancel_request', params: { requestId: 'j' } });

  expect(home.sent()).toEqual([rpc({ method: '$/cancel_request', params: { requestId: load!.id } })]);
  expect(guest.sent()).toEqual([]);
});

describe('while the past is told to one client', () => {
  /** A home that has nothing of the past, and a guest for whom its agent tells it. */
  function telling() {
    const { home, guest } = two({ bytes: 0, lines: 1 });
    home.process(says('a'));
    home.process(says('b'));
    home.got();
    guest.client(loads('j'));
    const [{ id }] = home.sent() as [Json];
    home.process(says('past 1'));
    return { home, guest, id };
  }

  test('a prompt makes everybody hear all that follows', () => {
    const { home } = telling();
    home.client(prompts(2, 'hi'));
    home.process(says('answer'));

    expect(home.got()).toEqual([rpc(says('answer'))]);
  });

  test('another waits, and then gets it as well', () => {
    const { sessions, ...both } = second();
    const { home, guest, id } = both;
    const third = new Side(sessions);
    third.client(loads('k'));
    expect([third.got(), home.sent()]).toEqual([[], []]);
    home.process({ id, result: {} });

    expect(guest.got()).toMatchObject([rpc(says('past 1')), { id: 'j' }]);
    expect(third.got()).toMatchObject([rpc(says('past 1')), { id: 'k' }]);
  });

  test('and it cannot be told, it is no guest, and the past is asked for again', () => {
    const { sessions, home, guest, id } = second();
    home.process({ id, error: { code: -32603, message: 'no' } });
    home.process(says('new'));
    expect(guest.got()).toMatchObject([rpc(says('past 1')), { id: 'j', error: { message: 'no' } }]);

    const third = new Side(sessions);
    third.client(loads('k'));
    expect(home.sent()).toMatchObject([{ method: 'session/load' }]);
    expect(third.got()).toEqual([]);
  });

  test('guests do not get it when it is the home that loads its session again', () => {
    const { home, guest } = joined();
    home.client(loads('again'));
    home.process(says('past'));
    home.process({ id: 'again', result: {} });
    home.process(says('new'));

    expect(home.got()).toMatchObject([rpc(says('past')), { id: 'again' }, rpc(says('new'))]);
    expect(guest.got()).toEqual([rpc(says('new'))]);
  });

  /** A session that a home has resumed, and a guest for whom its agent tells the past. */
  function second() {
    const sessions = new Map<string, LiveSession>();
    const [home, guest] = [new Side(sessions), new Side(sessions)];
    home.client(loads(1, 'session/resume'));
    home.process({ id: 1, result: {} });
    home.got();
    home.sent();
    guest.client(loads('j'));
    const [{ id }] = home.sent() as [Json];
    home.process(says('past 1'));
    return { sessions, home, guest, id };
  }
});

describe('a client that waits for another to load a session', () => {
  /** The second waits for the first, and has said more. */
  function waiting(...more: readonly Json[]) {
    const sessions = new Map<string, LiveSession>();
    const [first, second] = [new Side(sessions), new Side(sessions)];
    first.client(loads(1));
    for (const message of [loads(2), ...more]) second.client(message);
    return { first, second };
  }
  const closes = (id: unknown) => ({ id, method: 'session/close', params: { sessionId: 's' } });

  test('has what it says of it meanwhile passed on in its order', () => {
    const { first, second } = waiting(prompts(3, 'hi'), closes(4));
    expect(second.got()).toEqual([]);
    first.sent();
    first.process({ id: 1, result: {} });

    expect(first.sent()).toMatchObject([{ method: 'session/prompt' }]);
    expect(second.got()).toMatchObject([{ id: 2 }, { id: 4 }]);
  });

  test('cannot have any number of bytes wait', () => {
    const long = prompts(3, 'x'.repeat(9_000_000));
    const { first, second } = waiting(long, { ...long, id: 4 }, prompts(5, 'short'));

    expect(second.got()).toMatchObject([{ id: 4, error: { code: -32603 } }]);
    first.sent();
    first.process({ id: 1, result: {} });
    expect(first.sent()).toMatchObject([long, prompts(5, 'short')].map(({ params }) => ({ params })));
  });

  test('cannot have any number of messages wait', () => {
    const many = Array.from({ length: 1_000 }, (_, index) => prompts(3 + index, 'x'));
    const { second } = waiting(...many);

    expect(second.got()).toMatchObject([{ id: 1_002, error: { code: -32603 } }]);
  });
});

test('a turn counts that was begun before the session was open', () => {
  const sessions = new Map<string, LiveSession>();
  const [home, guest] = [new Side(sessions), new Side(sessions)];
  home.client(loads(1, 'session/resume'));
  home.client(prompts(2, 'hi'));
  home.process({ id: 1, result: {} });
  expect(home.traffic.own.map(({ isInTurn }) => isInTurn)).toEqual([true]);

  home.process({ id: 2, result: { stopReason: 'end_turn' } });
  home.client(prompts(3, 'more'));
  home.sent();
  guest.client(loads('j'));
  expect(home.sent()).toEqual([]);
  expect(JSON.stringify(guest.got()[0])).toContain('Earlier messages of this session are not kept');
});

test('when a process ends, guests hear that nothing is open any more', () => {
  const { home, guest } = joined();
  home.client(prompts(2, 'hi'));
  home.process(asks(7));
  const [, asked] = guest.got();
  home.traffic.end();

  expect(guest.got()).toEqual([
    rpc({ method: '_containai/turn_ended', params: { sessionId: 's' } }),
    rpc({ method: '$/cancel_request', params: { requestId: asked!.id } }),
  ]);
});

test('a session whose process is being stopped is opened once that has ended', () => {
  const { home, guest } = two();
  home.traffic.isStopping = true;
  guest.client(loads('j'));
  expect([guest.got(), guest.sent()]).toEqual([[], []]);

  home.traffic.end();
  expect(guest.sent()).toEqual([rpc(loads('j'))]);
});

test('a guest that closes the session for itself need not answer any more, until it loads it again', () => {
  const { home, guest } = joined();
  home.process(asks(7));
  const [{ id: requestId }] = guest.got() as [Json];
  guest.client({ id: 'c', method: 'session/close', params: { sessionId: 's' } });
  expect(guest.got()).toEqual([
    rpc({ method: '$/cancel_request', params: { requestId } }),
    rpc({ id: 'c', result: {} }),
  ]);

  home.process({ method: '$/cancel_request', params: { requestId: 7 } });
  expect(guest.got()).toEqual([]);
  home.process(asks(8));
  guest.client(loads('l', 'session/resume'));
  expect(guest.got()).toMatchObject([{ id: 'l' }, { method: 'session/request_permission' }]);
});

test('a guest is still one when the past could not be told again', () => {
  const { home, guest } = two({ bytes: 0, lines: 1 });
  guest.client(loads('r', 'session/resume'));
  home.process(says('a'));
  home.process(says('b'));
  guest.client(loads('j'));
  home.process({ id: home.sent()[0]!.id, error: { code: -32603, message: 'no' } });
  guest.got();
  home.process(says('c'));

  expect(guest.got()).toEqual([rpc(says('c'))]);
});

test('an agent that answers with a session that it has does not end the telling of its past', () => {
  const { home, guest } = two({ bytes: 0, lines: 1 });
  home.process(says('a'));
  home.process(says('b'));
  guest.client(loads('j'));
  home.client({ id: 2, method: 'session/new', params: { cwd: '/w', mcpServers: [] } });
  home.process({ id: 2, result: { sessionId: 's' } });
  home.got();
  home.process(says('past'));

  expect(home.got()).toEqual([]);
});

describe('a session that another server has open', () => {
  test.each(['session/load', 'session/resume'])(
    'is not opened by %s, which says so, until that server gives it back',
    (method) => {
      const folder = newFolder();
      const elsewhere = new Side(new Map(), undefined, new SessionClaims(folder));
      const here = new Side(new Map(), undefined, new SessionClaims(folder));
      elsewhere.client(loads(1));
      elsewhere.process({ id: 1, result: {} });

      here.client(loads('a', method));

      expect(here.sent()).toEqual([]);
      expect(here.got()).toMatchObject([
        { id: 'a', error: { message: expect.stringContaining('open in another server') as string } },
      ]);
      elsewhere.client({ id: 2, method: 'session/close', params: { sessionId: 's' } });
      elsewhere.process({ id: 2, result: {} });
      here.client(loads('b', method));
      here.process({ id: 'b', result: {} });
      expect(here.got()).toEqual([rpc({ id: 'b', result: {} })]);
    },
  );

  test('is given back when its process ends, or cannot open it', () => {
    const folder = newFolder();
    const [first, second] = [1, 2].map(() => new Side(new Map(), undefined, new SessionClaims(folder)));
    first!.client(loads(1));
    first!.process({ id: 1, error: { code: -32_603, message: 'no' } });
    second!.client(loads(1));
    expect(second!.sent()).toHaveLength(1);
    second!.traffic.end();

    first!.client(loads(2));

    expect(first!.sent().map(({ id }) => id)).toEqual([1, 2]);
  });
});

test('a client has streams for the sessions that it has named last, and for no name that is too long', () => {
  const { home } = two();
  const names = ['first', ...Array.from({ length: 10_000 }, (_, n) => String(n)), 'x'.repeat(2_000)];
  for (const sessionId of names) home.client({ method: 'session/cancel', params: { sessionId } });

  for (const id of ['first', '0', '9999', 'x'.repeat(2_000)])
    home.process(update('agent_message_chunk', 'hello', id));

  expect(home.streams.slice(-4)).toEqual(['', '0', '9999', '']);
});
