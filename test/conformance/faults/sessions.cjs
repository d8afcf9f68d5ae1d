/** Faults in sessions: their ids, how they are opened, listed and ended. */
const { also, altered, fails, gives, is, isAnswer, overtaken } = require('./changes.cjs');

const isSuccess = (result) => (m) => {
  delete m.error;
  m.result = result;
};

module.exports = {
  'session-ids': [
    [
      "the editor gets an agent's own id",
      ['S1'],
      () => ({ toEditor: altered(gives('sessionId'), (m) => void (m.result.sessionId = '1')) }),
    ],
    [
      'an unknown session is not named',
      ['S16'],
      () => ({ toEditor: altered(fails(-32002), (m) => void delete m.error.data) }),
    ],
  ],
  session: [
    [
      'all sessions have the folder of the workspace',
      ['S3'],
      () => ({
        toAgent: altered(
          (m) => m.params?.cwd,
          (m) => void (m.params.cwd = m.params.cwd.replace(/\/a\/b$|\/c$/, '')),
        ),
      }),
    ],
    [
      'a relative folder is taken',
      ['S4'],
      () => ({ toEditor: altered(fails(-32602), isSuccess({ sessionId: 'x' })) }),
    ],
    [
      'a folder that is not mounted is dropped in silence',
      ['S5'],
      () => ({
        fromEditor: altered(
          (m) => m.params?.additionalDirectories,
          (m) => void delete m.params.additionalDirectories,
        ),
      }),
    ],
    [
      'MCP servers are sent in another order',
      ['S9'],
      () => ({
        toAgent: altered(
          (m) => m.params?.mcpServers,
          (m) => void m.params.mcpServers.reverse(),
        ),
      }),
    ],
  ],
  'session-order': [
    ['what follows a session/load overtakes it', ['P13'], () => ({ toAgent: overtaken(is('session/load')) })],
    [
      'the openings of one workspace overtake each other',
      ['P13'],
      () => ({ toAgent: overtaken(is('session/new')) }),
    ],
  ],
  'session-restart': [
    [
      'ids of an earlier process are unknown',
      ['S2'],
      () => ({
        fromEditor: altered(
          (m) => /load|resume|delete/.test(m.method),
          (m) => void (m.params.sessionId += 'x'),
        ),
      }),
    ],
    [
      'a session is open only when it was loaded',
      ['S6'],
      () => {
        let isOpen = false;
        return {
          toEditor: (line, m) => {
            isOpen ||= isAnswer(m) && m.result === null;
            return is('session/update')(m) && !isOpen ? [] : line;
          },
        };
      },
    ],
    [
      'a resumed session is replayed',
      ['S7'],
      () => ({
        toAgent: (line, m, put) => {
          if (is('session/resume')(m))
            put(
              'toEditor',
              JSON.stringify({
                jsonrpc: '2.0',
                method: 'session/update',
                params: { sessionId: m.params.sessionId, update: {} },
              }),
            );
          return line;
        },
      }),
    ],
  ],
  'session-list': [
    [
      "rows have the agent's folders",
      ['S10'],
      () => ({
        toEditor: altered(
          gives('sessions'),
          (m) => void m.result.sessions.forEach((row) => (row.cwd = '/home/agent/workspace')),
        ),
      }),
    ],
    [
      'a list ends with the first agent',
      ['S11'],
      () => ({ toEditor: altered(gives('nextCursor'), (m) => void delete m.result.nextCursor) }),
    ],
    [
      'a folder is not looked at',
      ['S12'],
      () => ({
        fromEditor: altered(
          (m) => is('session/list')(m) && m.params?.cwd,
          (m) => void delete m.params.cwd,
        ),
      }),
    ],
    [
      'what is listed is opened',
      ['S13'],
      () => ({
        toAgent: (line, m, put) => {
          if (is('session/list', 'session/status')(m))
            put('toAgent', '{"jsonrpc":"2.0","id":"x","method":"session/load","params":{}}');
          return line;
        },
      }),
    ],
  ],
  'session-close': [
    [
      'to delete an unknown session is an error',
      ['S14'],
      () => {
        const deletions = new Set();
        return {
          fromEditor: (line, m) => {
            if (is('session/delete')(m)) deletions.add(m.id);
            return line;
          },
          toEditor: altered(
            (m) => deletions.has(m.id) && JSON.stringify(m.result) === '{}',
            (m) => void ((m.error = { code: -32002, message: '' }), delete m.result),
          ),
        };
      },
    ],
    [
      'session/close is answered before the turn has ended',
      ['S15'],
      () => ({ toEditor: overtaken((m) => m.result?.stopReason === 'cancelled') }),
    ],
    [
      'a closed session goes on',
      ['S15'],
      () => ({ fromAgent: also((_, line) => line.includes('"late"'), 'toEditor') }),
    ],
  ],
  'session-fork': [
    [
      "a fork has the agent's own id",
      ['S17'],
      () => ({
        toEditor: altered(
          (m) => /fork/.test(m.result?.sessionId),
          () => undefined,
        ),
        fromEditor: altered(
          is('session/prompt', 'session/cancel', '_ask'),
          (m) => void (m.params.sessionId += 'x'),
        ),
      }),
    ],
  ],
};
