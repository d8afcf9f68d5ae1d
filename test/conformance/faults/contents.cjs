/** Faults in what is in a message: bytes, paths, fields that nobody knows. */
const { also, altered, answered, fails, is, lost, overtaken, within } = require('./changes.cjs');

const isMessage = (m) => m.jsonrpc === '2.0';
/** Written by JSON.stringify instead of being passed on. */
const rewritten = altered(isMessage, () => undefined);

module.exports = {
  exactness: [
    [
      'null becomes {}',
      ['J7'],
      () => ({
        toEditor: altered(
          (m) => m.result === null,
          (m) => void (m.result = {}),
        ),
      }),
    ],
    [
      'the data of errors is dropped',
      ['J8'],
      () => ({
        toEditor: altered(
          (m) => m.error?.data !== undefined,
          (m) => void delete m.error.data,
        ),
      }),
    ],
    [
      'an error gets a code of our own',
      ['J8'],
      () => ({ toEditor: altered(fails(12345), (m) => void (m.error.code = -32603)) }),
    ],
    ['numbers become those of JavaScript', ['J9'], () => ({ toEditor: rewritten, toAgent: rewritten })],
  ],
  content: [
    [
      'null is left out',
      ['U4'],
      () => ({
        toEditor: altered(is('session/update'), (m) =>
          within(m, 'oldText', (has) => has.oldText === null && delete has.oldText),
        ),
      }),
    ],
    [
      'a plan arrives without its last entry',
      ['U7'],
      () => ({
        toEditor: altered(
          (m) => m.params?.update?.entries !== undefined,
          (m) => void m.params.update.entries.pop(),
        ),
      }),
    ],
    [
      'updates of unknown kinds are dropped',
      ['U8'],
      () => ({ toEditor: lost((_, line) => /"sessionUpdate":"_/.test(line)) }),
    ],
    [
      'what is shown of terminals is left out',
      ['C7'],
      () => ({
        toEditor: altered(is('session/update'), (m) => within(m, '_meta', (has) => delete has._meta)),
      }),
    ],
  ],
  extensibility: [
    [
      '_meta is left out',
      ['N1'],
      () => ({
        toEditor: altered(isMessage, (m) => within(m, '_meta', (has) => delete has._meta)),
        toAgent: altered(isMessage, (m) => within(m, '_meta', (has) => delete has._meta)),
      }),
    ],
    [
      'a field is added at the root',
      ['N2'],
      () => ({ toAgent: altered(is('session/new', 'session/prompt'), (m) => void (m.params.root = '/')) }),
    ],
    [
      'an array of params becomes an object',
      ['N3'],
      () => ({
        toAgent: altered(
          (m) => Array.isArray(m.params),
          (m) => void (m.params = { ...m.params }),
        ),
      }),
    ],
    [
      'extensions without a target get an error',
      ['N4'],
      () => ({
        fromEditor: answered(is('_tell'), 'toEditor', { error: { code: -32601, message: '' } }),
        toAgent: lost(is('_tell')),
      }),
    ],
    [
      'unknown methods are refused',
      ['N5'],
      () => ({
        fromEditor: (line, m, put) => {
          if (m.method !== 'session/future' && m.method !== 'future/thing') return line;
          if (m.id !== undefined)
            put(
              'toEditor',
              JSON.stringify({ jsonrpc: '2.0', id: m.id, error: { code: -32601, message: '' } }),
            );
          return [];
        },
      }),
    ],
    [
      'unknown values are given a meaning',
      ['N6'],
      () => ({
        toEditor: (line) => line.replace(/("(?:kind|status|sessionUpdate|type|stopReason)":")_/g, '$1'),
      }),
    ],
    [
      'methods that act on files are passed on',
      ['N7'],
      () => ({ fromAgent: also((m) => /fs\/|terminal\/|execute/i.test(m.method), 'toEditor') }),
    ],
  ],
  'path-places': [
    [
      'paths are not mapped for the editor',
      ['U1'],
      () => ({ toEditor: (line) => line.replaceAll(/"\/[^"]*\//g, '"/home/agent/workspace/') }),
    ],
  ],
  paths: [
    [
      'paths are looked for in texts',
      ['U2'],
      () => ({
        toEditor: altered(is('session/update'), (m) =>
          within(m, 'rawOutput', (has) => (has.rawOutput = '/elsewhere')),
        ),
      }),
    ],
    ['percent-encoding is undone', ['U3'], () => ({ toAgent: (line) => line.replaceAll('%20', ' ') })],
  ],
  subagent: [
    [
      'the ids of other sessions are not mapped',
      ['U9'],
      () => ({
        toEditor: altered(
          (m) => m.params?.update?.sessionId,
          (m) => void (m.params.update.sessionId = 'child'),
        ),
      }),
    ],
    [
      'a subagent speaks before it is announced',
      ['U10'],
      () => ({ toEditor: overtaken((m) => /subagent/.test(m.params?.update?.sessionUpdate)) }),
    ],
  ],
};
