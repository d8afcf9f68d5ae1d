import { tellInThread } from '../../../src/acp/relay/thread';
import type { Child } from '../../../src/acp/child/child';
import type { AgentSession } from '../../../src/acp/sessions/session';
import type { Json } from '../../support/inbox';
import { newTable, openSession } from '../../support/sessions';

const note = { title: 'Something is new.', description: 'Look at `it`.' };

/** What the editor is sent, once `change` has been done to an open session. */
function told(
  editorCapabilities: Json = {},
  isEditorGone = false,
  change: (session: AgentSession) => void = () => undefined,
): Json[] {
  const sent: Json[] = [];
  const child = { deliver: (line: Buffer) => sent.push(JSON.parse(line.toString()) as Json) };
  const session = openSession(newTable(), child as unknown as Child, 'e', 'a');
  change(session);
  tellInThread({ isEditorGone, editorCapabilities }, session, note);
  return sent;
}

test('an editor without notices gets a message of its own, apart from what the agent says', () => {
  const text = '\n\ncai: Something is new. Look at `it`.\n\n';
  const update = {
    sessionUpdate: 'agent_message_chunk',
    messageId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    content: { type: 'text', text },
  };

  expect(told()).toEqual([
    {
      jsonrpc: '2.0',
      method: 'session/update',
      params: { sessionId: 'e', update, _meta: { containai: true } },
    },
  ]);
});

test.each([[{ session: { notices: {} } }], [{ session: { notices: { _meta: {} } } }]])(
  'an editor that offers notices gets one: %j',
  (capabilities) => {
    const [message, ...more] = told(capabilities);

    expect(more).toEqual([]);
    expect(message!.params).toEqual({
      sessionId: 'e',
      update: { sessionUpdate: 'notice', severity: 'warning', ...note },
      _meta: { containai: true },
    });
  },
);

test('nothing is said where nobody would read it', () => {
  expect(told({}, true)).toEqual([]);
  expect(told({}, false, (session) => session.owner.leave())).toEqual([]);
  expect(told({}, false, (session) => session.owner.enter({ ...session }, 'restoring'))).toEqual([]);
  expect(told({}, false, (session) => session.owner.enter({ ...session }, 'open'))).toEqual([]);
});

test('while a session is restored, it is said until the agent is there', () => {
  const sent: unknown[] = [];
  const child = { state: 'starting', deliver: (line: Buffer) => sent.push(line) };
  const session = openSession(newTable(), child as unknown as Child, 'e', 'a');
  const restored = { ...session };
  session.owner.enter(restored, 'restoring');
  const tell = () => tellInThread({ isEditorGone: false, editorCapabilities: {} }, restored, note);

  tell();
  expect(sent).toHaveLength(1);
  child.state = 'ready';
  tell();
  expect(sent).toHaveLength(1);
});
