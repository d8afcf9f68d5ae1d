import { flag, oneOf, text } from '../../src/workspace/config-kinds';
import { readConfig } from '../../src/workspace/config-reader';
import type { Key } from '../../src/workspace/config-reader';

const keys: readonly Key[] = [
  {
    path: ['acp', 'fs'],
    field: 'files',
    kind: oneOf('editor', 'off'),
    standard: 'editor',
    isRequired: false,
  },
  { path: ['acp', 'idle'], field: 'idle', kind: text, standard: '10m', isRequired: false },
  { path: ['agents', '*', 'command'], field: 'command', kind: text, standard: undefined, isRequired: true },
  { path: ['agents', '*', 'name'], field: 'name', kind: text, standard: undefined, isRequired: false },
  { path: ['sessions', 'persist'], field: 'persist', kind: flag, standard: true, isRequired: false },
];

const read = (...lines: string[]) => readConfig(lines.join('\n'), '/c/config.toml', keys);
const defaults = { acp: { files: 'editor', idle: '10m' }, sessions: { persist: true } };

describe('readConfig', () => {
  test('completes an empty file', () => {
    expect(read('')).toEqual(defaults);
  });

  test('takes each value into its field, in whatever way the key is written', () => {
    const expected = { ...defaults, acp: { files: 'off', idle: '1h' } };

    expect(read('[acp]', 'fs = "off"', 'idle = "1h"')).toEqual(expected);
    expect(read('acp.fs = "off" # no', '"acp" . "idle" = \'1h\'')).toEqual(expected);
    expect(read('acp = { fs = "off", idle = """1h""" }')).toEqual(expected);
    expect(read('\ufeff[acp]\r', 'fs = "off"\r', 'idle = "1h"\r', '')).toEqual(expected);
  });

  test('makes an object per name that the user chose', () => {
    const { agents } = read(
      '[agents.mine]',
      'command = "a"',
      '[agents."x.y"]',
      'command = "b"',
      'name = "B"',
    );

    expect(agents).toEqual({ mine: { command: 'a' }, 'x.y': { command: 'b', name: 'B' } });
  });

  test('takes names of object properties for names like others', () => {
    const { agents } = read(
      '[agents.__proto__]',
      'command = "a"',
      '[agents.constructor]',
      'command = "b"',
    ) as {
      agents: object;
    };

    expect(Object.entries(agents)).toEqual([
      ['__proto__', { command: 'a' }],
      ['constructor', { command: 'b' }],
    ]);
    expect(Object.prototype).not.toHaveProperty('command');
  });

  test.each([
    [
      'a slip',
      ['[acp]', 'fs = "off"', '', 'idel = "1h"'],
      '4: "acp.idel" is not a known key: did you mean "acp.idle"?',
    ],
    ['a slip in a table', ['', '[agnts.mine]'], '2: "agnts" is not a known key: did you mean "agents"?'],
    [
      'a slip below a name',
      ['agents.acp.nam = "x"'],
      '1: "agents.acp.nam" is not a known key: did you mean "agents.acp.name"?',
    ],
    ['a key of another table', ['idle = "1h"'], '1: "idle" is not a known key: did you mean "acp.idle"?'],
    [
      'a key of a named table',
      ['[acp]', 'name = "x"'],
      '2: "acp.name" is not a known key: did you mean "agents.NAME.name"?',
    ],
    ['a key like nothing else', ['[acp]', 'frobnicate = 1'], '2: "acp.frobnicate" is not a known key'],
    ['a key below a value', ['[acp.fs]', 'x = 1'], '1: "acp.fs" must be "editor" or "off"'],
    ['a property of objects', ['[acp]', 'toString = "x"'], '2: "acp.toString" is not a known key'],
    ['another value', ['[acp]', '', '# here', 'fs = "maybe"'], '4: "acp.fs" must be "editor" or "off"'],
    ['another type', ['sessions.persist = "yes"'], '1: "sessions.persist" must be true or false'],
    [
      'a value over several lines',
      ['[acp]', 'idle = [', '  "1h",', ']'],
      '2: "acp.idle" must be a string that is not empty',
    ],
    [
      'a value after a long one',
      ['acp.idle = """', '1h"""', 'acp.fs = 1'],
      '3: "acp.fs" must be "editor" or "off"',
    ],
    [
      'a key in an inline table',
      ['', 'acp = { idle = "1h", fs = 1 }'],
      '2: "acp.fs" must be "editor" or "off"',
    ],
    [
      'Windows line ends',
      ['[acp]\r', 'idle = "1h"\r', 'fs = 1\r', ''],
      '3: "acp.fs" must be "editor" or "off"',
    ],
    ['a value for a table', ['acp = 1'], '1: "acp" must be a table'],
    ['a date for a table', ['acp = 2020-01-01'], '1: "acp" must be a table'],
    ['a list of tables', ['[[acp]]', 'fs = "off"'], '1: "acp" must be a table'],
    [
      'a missing key',
      ['[acp]', '[agents.mine]', 'name = "x"'],
      '2: "agents.mine" lacks "command", which must be a string that is not empty',
    ],
    [
      'a missing key of an empty table',
      ['agents.mine = {}'],
      '1: "agents.mine" lacks "command", which must be a string that is not empty',
    ],
  ])('refuses %s, with its line', (_, lines, message) => {
    expect(() => read(...lines)).toThrow(
      expect.objectContaining({ code: 'CONFIG', message: `/c/config.toml:${message}` }) as Error,
    );
  });

  test('refuses what is not TOML, with line and column, and does not quote it', () => {
    expect(() => read('[acp]', 'idle = "1h', 'token = "secret"')).toThrow(
      expect.objectContaining({
        code: 'CONFIG',
        message: expect.stringMatching(/^\/c\/config\.toml:2:\d+: (?!.*secret).+$/) as string,
      }) as Error,
    );
  });
});
