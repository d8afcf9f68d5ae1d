import { requestLine, resultLine } from '../../../src/rpc/answer';
import { wantedIn } from '../../../src/rpc/json';
import { scanCall } from '../../../src/rpc/message';
import { joined } from '../../../src/rpc/splice';
import { CallBudget, type Call } from '../../../src/acp/sessions/editor-call';
import { settingsObserver } from '../../../src/acp/sessions/observer';
import { Session, type AgentSession } from '../../../src/acp/sessions/session';

let served: string[];
let session: Session;
/** What each step that holds the session waits for, by its name. */
let steps: Map<string, () => void>;

beforeEach(() => {
  served = [];
  steps = new Map();
  session = new Session('e', new CallBudget(10_240), (call) => serve(call.message.method));
});

/** The editor sends a call: `load` and the like hold the session until `end` is called for them. */
function send(name: string): void {
  if (session.isHeld) session.wait(callOf(name));
  else serve(name);
}

function serve(name: string): void {
  served.push(name);
  if (!name.startsWith('load')) return;
  const step = async (): Promise<void> => await new Promise((resolve) => steps.set(name, resolve));
  session.hold(step).catch(() => undefined);
}

async function end(name: string): Promise<void> {
  steps.get(name)!();
  await new Promise((resolve) => setImmediate(resolve));
}

function callOf(method: string): Call {
  return { message: { method, line: Buffer.alloc(0) } } as unknown as Call;
}

describe('calls for a session that is held', () => {
  test('wait behind a call among them that holds it as well', async () => {
    for (const name of ['load 1', 'set_mode', 'load 2', 'prompt']) send(name);

    await end('load 1');
    expect(served).toEqual(['load 1', 'set_mode', 'load 2']);
    send('cancel');
    await end('load 2');

    expect(served).toEqual(['load 1', 'set_mode', 'load 2', 'prompt', 'cancel']);
  });

  test('follow a step that fails, whose failure is told', async () => {
    const failing = session.hold(() => Promise.reject(new Error('no')));
    send('prompt');

    await expect(failing).rejects.toThrow('no');

    expect(served).toEqual(['prompt']);
  });

  test('find no room when too many wait, and room again once those have gone on', async () => {
    send('load 1');
    expect(Array.from({ length: 11 }, () => session.wait(callOf('prompt'))).lastIndexOf(true)).toBe(9);

    await end('load 1');
    send('load 2');

    expect(session.wait(callOf('prompt'))).toBe(true);
  });
});

test('what its agent never answered is not taken for a setting', () => {
  const owner = new Session('e', new CallBudget(1_024), () => undefined);
  const session = { owner } as AgentSession;
  const params = '{"sessionId":"s","modeId":"m"}';
  const call = scanCall(joined(requestLine('1', 'session/set_mode', params)), wantedIn({}));
  const answer = scanCall(joined(resultLine('1', '{}')), wantedIn({}));

  settingsObserver.onCall!(session, call);
  settingsObserver.onLost!(session, call);
  settingsObserver.onAnswer!(session, 'session/set_mode', answer);

  expect(owner.settings.all()).toEqual([]);
});
