/** Faults in turns, in what agents ask of the editor, and in the life of agents. */
const { also, altered, answered, exchanged, fails, is, isAnswer, lost, twice } = require('./changes.cjs');

const isCancel = is('$/cancel_request');
const isOutcome = (m) => m.result?.outcome !== undefined;

module.exports = {
  concurrency: [
    [
      'nobody is served while an agent starts',
      ['P3'],
      () => {
        let isStarting = false;
        return {
          fromEditor: (line, m) => {
            isStarting ||= String(m.params?.cwd).endsWith('/slow');
            return isStarting && is('session/prompt')(m) ? [] : line;
          },
        };
      },
    ],
    [
      'a prompt waits for the one before it',
      ['P12'],
      () => {
        let count = 0;
        return { toAgent: lost((m) => is('session/prompt')(m) && ++count > 1) };
      },
    ],
  ],
  'cancel-turn': [
    ['session/cancel waits for the end of the turn', ['P5'], () => ({ toAgent: lost(is('session/cancel')) })],
    [
      'the proxy grants what is cancelled',
      ['P6'],
      () => ({
        toAgent: altered(
          isOutcome,
          (m) => void (m.result.outcome = { outcome: 'selected', optionId: 'yes' }),
        ),
      }),
    ],
    [
      'updates after session/cancel are dropped',
      ['P7'],
      () => {
        let isCancelled = false;
        return {
          fromEditor: (line, m) => {
            isCancelled ||= is('session/cancel')(m);
            return line;
          },
          toEditor: lost((m) => isCancelled && is('session/update')(m)),
        };
      },
    ],
    [
      'session/cancel of an unknown session is answered',
      ['P8'],
      () => ({
        fromEditor: answered(is('session/cancel'), 'toEditor', { error: { code: -32002, message: '' } }),
      }),
    ],
  ],
  permission: [
    [
      'options are sorted',
      ['C1'],
      () => ({
        toEditor: altered(
          (m) => m.params?.options,
          (m) => void m.params.options.sort((a, b) => (a.optionId < b.optionId ? -1 : 1)),
        ),
      }),
    ],
    ['outcomes go to another agent', ['C1'], () => ({ fromEditor: exchanged(isOutcome) })],
    [
      'an unknown outcome is an approval',
      ['C2'],
      () => ({
        toAgent: altered(
          (m) => /^_/.test(m.result?.outcome?.outcome),
          (m) => void (m.result.outcome.outcome = 'selected'),
        ),
      }),
    ],
    [
      'terminals are opened on the host',
      ['C6'],
      () => ({ fromAgent: also((m) => /^terminal\//.test(m.method), 'toEditor') }),
    ],
  ],
  files: [
    [
      'files are asked for that the editor does not offer',
      ['C3'],
      () => ({ fromAgent: also((m) => /^fs\//.test(m.method), 'toEditor') }),
    ],
    [
      "files outside the session's folders are served",
      ['C4'],
      () => ({ fromAgent: also((m) => /^fs\//.test(m.method), 'toEditor') }),
    ],
    [
      'links out of the folders of a session are followed',
      ['C4'],
      () => ({ fromAgent: also((m) => /file-out/.test(m.params?.path), 'toEditor') }),
    ],
    [
      'line ends become those of Unix',
      ['C5'],
      () => ({
        toAgent: (line) => line.replaceAll('\\r\\n', '\\n'),
        toEditor: (line) => line.replaceAll('\\r\\n', '\\n'),
      }),
    ],
  ],
  elicitation: [
    [
      'the mode of an elicitation is not looked at',
      ['E1'],
      () => ({ fromAgent: also(is('elicitation/create'), 'toEditor') }),
    ],
    [
      'an elicitation names a request as the agent does',
      ['E2'],
      () => ({
        toEditor: altered(
          (m) => m.params?.requestId !== undefined,
          (m) => void (m.params.requestId = 'agents'),
        ),
      }),
    ],
    [
      'two agents may give their elicitations the same id',
      ['E3'],
      () => ({
        toEditor: altered(
          (m) => m.params?.elicitationId,
          (m) => void (m.params.elicitationId = 'e'),
        ),
      }),
    ],
    [
      'addresses are normalised',
      ['E4'],
      () => ({
        toEditor: altered(
          (m) => m.params?.url,
          (m) => void (m.params.url = `${m.params.url}#`),
        ),
      }),
    ],
    [
      'answers to elicitations are read and written',
      ['E5'],
      () => ({
        toAgent: altered(
          (m) => isAnswer(m) && m.result?.action,
          (m) => void (m.result = { action: m.result.action }),
        ),
      }),
    ],
    ['the elicitations of an agent that is gone stay open', ['E6'], () => ({ toEditor: lost(isCancel) })],
  ],
  'request-cancellation': [
    ['a cancel of the editor reaches nobody', ['X1'], () => ({ toAgent: lost(isCancel) })],
    [
      'a cancel names a request as the agent does',
      ['X2'],
      () => ({ toEditor: altered(isCancel, (m) => void (m.params.requestId = 0)) }),
    ],
    ['cancels of unknown requests are passed on', ['X3'], () => ({ fromEditor: also(isCancel, 'toAgent') })],
    [
      'a cancelled request is answered twice',
      ['X4'],
      () => ({ toEditor: twice((m) => isAnswer(m) && m.id === 'late') }),
    ],
    ['what the proxy itself holds cannot be cancelled', ['X5'], () => ({ fromEditor: lost(isCancel) })],
    ['an agent cannot take back what it asks', ['X6'], () => ({ toEditor: lost(isCancel) })],
  ],
  mcp: [
    [
      'a relative command of an MCP server is looked up',
      ['M1'],
      () => ({
        toAgent: altered(
          (m) => m.params?.mcpServers,
          (m) =>
            m.params.mcpServers.forEach(
              (each) => each.command && (each.command = `/usr/bin/${each.command}`),
            ),
        ),
      }),
    ],
    [
      "the editor is not offered an agent's MCP over ACP",
      ['M2'],
      () => ({
        toEditor: altered(
          (m) => m.result?.agentCapabilities?.mcpCapabilities,
          (m) => void delete m.result.agentCapabilities.mcpCapabilities,
        ),
      }),
    ],
    [
      'MCP servers are named otherwise for the editor',
      ['M3'],
      () => ({
        toEditor: altered(
          (m) => m.params?.serverId,
          (m) => void (m.params.serverId += '-1'),
        ),
      }),
    ],
    [
      'inner results of MCP are written anew',
      ['M4'],
      () => ({ toEditor: altered(isAnswer, () => undefined), toAgent: altered(isAnswer, () => undefined) }),
    ],
    [
      'MCP requests of two agents are one',
      ['M5'],
      () => ({ fromEditor: exchanged((m) => isAnswer(m) && m.result !== undefined) }),
    ],
  ],
  'agent-end': [
    ['the end of an agent leaves its requests open', ['L1'], () => ({ toEditor: lost(fails(-32603)) })],
    ['what a dead agent has asked is not taken back', ['L1'], () => ({ toEditor: lost(isCancel) })],
  ],
  'connection-end': [
    ['the end of the editor is an error', ['L2'], () => ({ exit: (status) => status + 1 })],
    ['permission requests are left open at the end', ['L2'], () => ({ toAgent: lost(isOutcome) })],
    [
      'what is due at the end is not answered',
      ['L3'],
      () => ({ toEditor: lost((m) => isAnswer(m) && (m.result === 1 || m.error !== undefined)) }),
    ],
    ['agents outlive the proxy', ['L4'], () => ({ noEof: true })],
  ],
  'start-failure': [
    [
      'why an agent cannot be started is not told',
      ['L5'],
      () => ({ toEditor: altered(fails(-32603), (m) => void (m.error.message = 'Internal error')) }),
    ],
  ],
  backpressure: [
    [
      'agents are read on while the editor does not read',
      ['L6'],
      () => ({ config: (toml) => toml.replace(/queue_to_editor = .*/, 'queue_to_editor = "1GiB"') }),
    ],
  ],
};
