/** Faults in initialize, capabilities and signing in. */
const { also, altered, fails, gives, is, lost } = require('./changes.cjs');

const isHello = is('initialize');
const isSuccess = (result) => (m) => {
  delete m.error;
  m.result = result;
};

module.exports = {
  initialize: [
    [
      'initialize waits for its agent for ever',
      ['I1'],
      () => ({ toEditor: lost((m) => m.result?.protocolVersion) }),
    ],
    [
      'the version is not the one that was asked for',
      ['I2'],
      () => ({
        toEditor: altered(
          (m) => m.result?.protocolVersion,
          (m) => void (m.result.protocolVersion = 2),
        ),
      }),
    ],
    [
      'agents are asked for another version',
      ['I4'],
      () => ({ toAgent: altered(isHello, (m) => void (m.params.protocolVersion = 2)) }),
    ],
    [
      'requests before initialize are served',
      ['I5'],
      () => ({ toEditor: altered(fails(-32600), isSuccess({})) }),
    ],
    [
      'a repeated initialize has another answer',
      ['I11'],
      () => {
        let count = 0;
        return {
          toEditor: altered(
            (m) => m.result?.protocolVersion && ++count > 1,
            (m) => void (m.result = { protocolVersion: 1 }),
          ),
        };
      },
    ],
  ],
  capabilities: [
    [
      'agents are told of files that the editor does not offer',
      ['I6'],
      () => ({
        toAgent: altered(
          isHello,
          (m) =>
            void (m.params.clientCapabilities = {
              ...m.params.clientCapabilities,
              fs: { readTextFile: true },
            }),
        ),
      }),
    ],
    [
      'who the two are is left out',
      ['I7'],
      () => ({
        toAgent: altered(isHello, (m) => void delete m.params.clientInfo),
        toEditor: altered(
          (m) => m.result?.agentInfo,
          (m) => void delete m.result.agentInfo,
        ),
      }),
    ],
    [
      'session/new needs a capability',
      ['I8'],
      () => ({
        toEditor: altered(
          gives('sessionId'),
          (m) => void ((m.error = { code: -32601, message: '' }), delete m.result),
        ),
      }),
    ],
    [
      'prompts need a capability',
      ['I9'],
      () => ({
        toAgent: lost((m) => is('session/prompt')(m) && JSON.stringify(m).includes('resource_link')),
      }),
    ],
    [
      "agents are told of the editor's terminals",
      ['I10'],
      () => ({
        toAgent: altered(
          isHello,
          (m) => void (m.params.clientCapabilities = { ...m.params.clientCapabilities, terminal: true }),
        ),
      }),
    ],
    [
      'what an agent does not offer is sent to it, and it does not answer',
      ['I11', 'S8'],
      () => ({ toEditor: lost(fails(-32601)) }),
    ],
  ],
  'sign-in': [
    [
      'params of a sign-in are written anew',
      ['A1'],
      () => ({ toAgent: altered(is('authenticate'), (m) => void delete m.params._meta) }),
    ],
    [
      'later agents are not signed in',
      ['A2'],
      () => {
        let count = 0;
        return { toAgent: lost((m) => is('authenticate')(m) && ++count > 1) };
      },
    ],
    [
      'a demand to sign in gets a code of our own',
      ['A3'],
      () => ({ toEditor: altered(fails(-32000), (m) => void (m.error.code = -32603)) }),
    ],
  ],
  'sign-in-methods': [
    [
      'what runs in a terminal is offered',
      ['A4'],
      () => ({
        toEditor: altered(
          (m) => m.result?.authMethods,
          (m) => void m.result.authMethods.push({ id: 'tty', type: 'terminal' }),
        ),
      }),
    ],
    [
      'a command of the container is offered',
      ['A7'],
      () => ({
        toEditor: altered(
          (m) => m.result?.authMethods,
          (m) => m.result.authMethods.forEach((each) => (each._meta = { 'terminal-auth': { command: 'x' } })),
        ),
      }),
    ],
    [
      'unknown ways to sign in are left out',
      ['A8'],
      () => ({
        toEditor: altered(
          (m) => m.result?.authMethods,
          (m) => void (m.result.authMethods = m.result.authMethods.filter(({ type }) => !/^_/.test(type))),
        ),
      }),
    ],
  ],
  'sign-out': [
    [
      'a sign-in is repeated after a logout',
      ['A9'],
      () => {
        let isOut = false;
        return {
          toAgent: (line, m) => {
            if (/logout$/.test(m.method)) isOut = true;
            return isOut && is('session/new')(m)
              ? ['{"jsonrpc":"2.0","id":"again","method":"authenticate","params":{}}', line]
              : line;
          },
        };
      },
    ],
    [
      'an unchanged status is told again',
      ['A10'],
      () => ({ fromAgent: also(is('auth/status_update'), 'toEditor') }),
    ],
  ],
};
