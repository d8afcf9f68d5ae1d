/** Faults in lines, ids, answers and their order. */
const {
  also,
  altered,
  answered,
  exchanged,
  fails,
  gives,
  is,
  isAnswer,
  lost,
  overtaken,
  twice,
} = require('./changes.cjs');

const isMark = is('_mark');
const isMessage = (m) => m.jsonrpc === '2.0';
/** Written by JSON.stringify instead of being passed on. */
const rewritten = altered(isMessage, () => undefined);

module.exports = {
  framing: [
    [
      'what is no message is sent to agents',
      ['T2'],
      () => ({ fromEditor: also((m) => !isMessage(m), 'toAgent') }),
    ],
    [
      'what is no message is sent to the editor',
      ['T3'],
      () => ({ fromAgent: also((m) => !isMessage(m), 'toEditor') }),
    ],
    ['messages are written anew', ['T4'], () => ({ toEditor: rewritten })],
    [
      'characters are decoded one read at a time',
      ['T5'],
      () => ({ toAgent: (line) => line.replace(/[\x80-\xff]/g, '?') }),
    ],
    [
      'blank lines are messages',
      ['T6'],
      () => ({ fromEditor: answered((_, line) => /^\s*$/.test(line), 'toEditor', { error: {} }) }),
    ],
    ['of a chunk, only some lines are read', ['T6'], () => ({ toEditor: lost(is('_2')) })],
    [
      'a batch is carried out',
      ['T7'],
      () => ({
        fromEditor: (line) =>
          line.startsWith('[') ? JSON.parse(line).map((each) => JSON.stringify(each)) : line,
      }),
    ],
    ['what is no JSON gets no answer', ['T8'], () => ({ toEditor: lost(fails(-32700)) })],
  ],
  'line-limits': [
    ['a line of 20 MiB is too long', ['T10'], () => ({ toEditor: lost((_, line) => line.length > 10e6) })],
  ],
  stdout: [
    [
      'a banner is written to stdout',
      ['T1'],
      () => ({ toEditor: (line, m) => (m.result?.protocolVersion ? ['cai 0.1.0', line] : line) }),
    ],
    ['what agents say on stderr is dropped', ['T9'], () => ({ stderr: () => '' })],
  ],
  'request-ids': [
    [
      'ids become strings',
      ['J1'],
      () => ({ toEditor: altered(isAnswer, (m) => void (m.id = String(m.id))) }),
    ],
    [
      'big ids are rounded',
      ['J1'],
      () => ({
        fromEditor: altered(
          (m) => m.method === '_ask',
          () => undefined,
        ),
      }),
    ],
    [
      'answers go to another agent',
      ['J2'],
      () => ({ fromEditor: exchanged((m) => isAnswer(m) && /^for/.test(m.result)) }),
    ],
    [
      'requests of both sides share their ids',
      ['J3'],
      () => {
        const open = new Set();
        return {
          fromEditor: (line, m) => {
            if (m.method === '_ask') open.add(m.id);
            return isAnswer(m) && open.has(m.id) ? [] : line;
          },
        };
      },
    ],
    [
      'an id is given again while it is open',
      ['J4'],
      () => ({
        toEditor: altered(
          (m) => m.method === '_ask',
          (m) => void (m.id = 1),
        ),
      }),
    ],
  ],
  answers: [
    [
      'notifications are answered',
      ['J5'],
      () => ({
        fromEditor: answered((m) => m.method !== undefined && m.id === undefined && !isMark(m), 'toEditor', {
          error: { code: -32601, message: '' },
        }),
      }),
    ],
    [
      'the notifications of agents are answered',
      ['J5'],
      () => ({
        fromAgent: answered((m) => m.method !== undefined && m.id === undefined && !isMark(m), 'toAgent', {
          error: { code: -32601, message: '' },
        }),
      }),
    ],
    ['the end of an agent leaves its requests unanswered', ['J6'], () => ({ toEditor: lost(fails(-32603)) })],
    ['answers come twice', ['J6'], () => ({ toEditor: twice(isAnswer) })],
  ],
  order: [
    [
      "a prompt's answer is overtaken by what follows it in the same chunk",
      ['P1'],
      () => ({ toEditor: overtaken(gives('stopReason')) }),
    ],
    [
      "a prompt's answer overtakes what came before it in the same chunk",
      ['P1'],
      () => ({ toEditor: overtaken((m, line) => is('session/update')(m) && line.includes('"399 x')) }),
    ],
    [
      'a file request is overtaken while its path is looked up',
      ['P2'],
      () => ({ toEditor: overtaken(is('fs/read_text_file')) }),
    ],
  ],
  prompt: [
    [
      'an update of another kind overtakes chunks',
      ['P1'],
      () => ({ toEditor: overtaken((_, line) => line.includes('"part 997"')) }),
    ],
    [
      'a permission request is overtaken by updates',
      ['P2'],
      () => ({ toEditor: overtaken(is('session/request_permission')) }),
    ],
    [
      'results of prompts are written anew',
      ['P4'],
      () => ({ toEditor: altered(gives('stopReason'), () => undefined) }),
    ],
    [
      'updates outside a turn are dropped',
      ['P9'],
      () => {
        let isOpen = false;
        return {
          toAgent: (line, m) => {
            isOpen ||= m.method === 'session/prompt';
            return line;
          },
          toEditor: (line, m) => {
            if (gives('stopReason')(m)) isOpen = false;
            return is('session/update')(m) && !isOpen ? [] : line;
          },
        };
      },
    ],
    [
      'an early update has an id of its own',
      ['P10'],
      () => ({ toEditor: altered(is('session/update'), (m) => void (m.params.sessionId += '-early')) }),
    ],
  ],
};
