import { tellInThread } from '../../src/relay/thread';
import type { Session, WorkspaceChild } from '../../src/child/workspace-child';
import type { Json } from '../support/inbox';

const note = { title: 'Something is new.', description: 'Look at `it`.' };

/** What the editor is sent, with a session that differs so from an open one. */
function told(changes: Partial<Session> = {}, editorCapabilities: Json = {}, isEditorGone = false): Json[] {
  const sent: Json[] = [];
  const child = {
    sessions: new Map<string, Session>(),
    deliver: (line: Buffer) => sent.push(JSON.parse(line.toString()) as Json),
  };
  const session = { editorId: 'e', agentId: 'a', child: child as unknown as WorkspaceChild, ...changes };
  child.sessions.set('a', session as Session);
  tellInThread({ isEditorGone, editorCapabilities }, session as Session, note);
  return sent;
}

test('an editor without notices gets a message of its own, apart from what the agent says', () => {
  const text = '\n\ncai: Something is new. Look at `it`.\n\n';
  const update = {
    sessionUpdate: 'agent_message_chunk',
    messageId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    content: { type: 'text', text },
  };

  expect(told()).toEqual([{ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 'e', update } }]);
});

test.each([[{ session: { notices: {} } }], [{ session: { notices: { _meta: {} } } }]])(
  'an editor that offers notices gets one: %j',
  (capabilities) => {
    const [message, ...more] = told({}, capabilities);

    expect(more).toEqual([]);
    expect(message!.params).toEqual({
      sessionId: 'e',
      update: { sessionUpdate: 'notice', severity: 'warning', ...note },
    });
  },
);

test('nothing is said where nobody would read it', () => {
  expect(told({}, {}, true)).toEqual([]);
  expect(told({ isRestoring: true })).toEqual([]);
  expect(told({ agentId: 'of another session' })).toEqual([]);
});
