import { flag, oneOf, path, text } from '../../src/config/config-kinds';
import { placesIn } from '../../src/config/toml-places';
import { assemble, nameOf, readSettings, type Key } from '../../src/config/config-reader';
import { expectedError } from '../expected-error';

const common = { standard: undefined, isRequired: () => false, repository: 'never' } as const;
const keys: readonly Key[] = [
  { ...common, path: ['acp', 'fs'], field: 'files', kind: oneOf('editor', 'off'), standard: 'editor' },
  { ...common, path: ['acp', 'idle'], field: 'idle', kind: text, standard: '10m' },
  { ...common, path: ['agents', '*', 'command'], field: 'command', kind: text, isRequired: () => true },
  { ...common, path: ['agents', '*', 'name'], field: 'name', kind: text },
  { ...common, path: ['sessions', 'persist'], field: 'persist', kind: flag, standard: true },
  { ...common, path: ['mounts', '[]', 'path'], field: 'path', kind: path, isRequired: () => true },
  { ...common, path: ['mounts', '[]', 'read_only'], field: 'isReadOnly', kind: flag, standard: false },
  { ...common, path: ['protect', 'paths'], field: 'paths', kind: text },
];

const settingsOf = (...lines: string[]) =>
  readSettings(
    {
      file: '/c/config.toml',
      text: lines.join('\n'),
      base: { folder: '/c', home: '/home/u' },
      placeOf: placesIn(lines.join('\n')),
    },
    keys,
  );
const read = (...lines: string[]) => assemble(settingsOf(...lines), keys);
const defaults = { acp: { files: 'editor', idle: '10m' }, sessions: { persist: true } };

describe('the settings of a text', () => {
  test('completes an empty file', () => expect(read('')).toEqual(defaults));

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
    ) as { agents: object };

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
      '4:1: "acp.idel" is not a known key: did you mean "acp.idle"?',
    ],
    [
      'a slip below a name',
      ['agents.acp.nam = "x"'],
      '1:12: "agents.acp.nam" is not a known key: did you mean "agents.acp.name"?',
    ],
    [
      'a slip that is a key of another table',
      ['[protect]', 'path = ["x"]'],
      '2:1: "protect.path" is not a known key: did you mean "protect.paths"?',
    ],
    ['a key of another table', ['idle = "1h"'], '1:1: "idle" is not a known key: did you mean "acp.idle"?'],
    [
      'a key of a named table',
      ['[acp]', 'name = "x"'],
      '2:1: "acp.name" is not a known key: did you mean "agents.NAME.name"?',
    ],
    ['a key like nothing else', ['[acp]', 'frobnicate = 1'], '2:1: "acp.frobnicate" is not a known key'],
    ['a key below a value', ['[acp.fs]', 'x = 1'], '1:6: "acp.fs" must be "editor" or "off"'],
    ['a property of objects', ['[acp]', 'toString = "x"'], '2:1: "acp.toString" is not a known key'],
    ['another value', ['[acp]', '', '# here', 'fs = "maybe"'], '4:1: "acp.fs" must be "editor" or "off"'],
    ['another type', ['sessions.persist = "yes"'], '1:10: "sessions.persist" must be true or false'],
    [
      'a value over several lines',
      ['[acp]', 'idle = [', '  "1h",', ']'],
      '2:1: "acp.idle" must be a string that is not empty',
    ],
    [
      'a value after a long one',
      ['acp.idle = """', '1h"""', 'acp.fs = 1'],
      '3:5: "acp.fs" must be "editor" or "off"',
    ],
    [
      'a key in an inline table',
      ['', 'acp = { idle = "1h", fs = 1 }'],
      '2:22: "acp.fs" must be "editor" or "off"',
    ],
    [
      'Windows line ends',
      ['[acp]\r', 'idle = "1h"\r', 'fs = 1\r', ''],
      '3:1: "acp.fs" must be "editor" or "off"',
    ],
    ['a value for a table', ['acp = 1'], '1:1: "acp" must be a table'],
    ['a list of tables', ['[[acp]]', 'fs = "off"'], '1:3: "acp" must be a table'],
    [
      'a missing key',
      ['[acp]', '[agents.mine]', 'name = "x"'],
      '2:9: "agents.mine" lacks "command", which must be a string that is not empty',
    ],
    [
      'a slip in a list of tables',
      ['[[mounts]]', 'path = "/a"', '[[mounts]]', 'pth = "/b"'],
      '4:1: "mounts[1].pth" is not a known key: did you mean "mounts[1].path"?',
    ],
    [
      'a missing key in a list of tables',
      ['[[mounts]]', 'path = "/a"', '  [[ mounts ]]', 'read_only = true'],
      '3:6: "mounts[1]" lacks "path", which must be a path: absolute, from "~/", or from the folder of this file',
    ],
    [
      'a value in a list of inline tables',
      ['mounts = [', '  { path = "/a" },', '  { path = 1 } ]'],
      '3:5: "mounts[1].path" must be a path: absolute, from "~/", or from the folder of this file',
    ],
    [
      'a table for a list of tables',
      ['[mounts]', 'path = "/a"'],
      '1:2: "mounts" must be a list of tables: write [[mounts]]',
    ],
    [
      'a key of a list of tables elsewhere',
      ['read_only = true'],
      '1:1: "read_only" is not a known key: did you mean "mounts[].read_only"?',
    ],
    [
      'a key that is named like a part of the table of keys',
      ['"[]" = 1', '"*" = 1'],
      '1:1: "[]" is not a known key',
    ],
    [
      'a name that would steer a terminal',
      ['"\\u009b31m\\u202e" = 1'],
      '1:1: "\\u009b31m\\u202e" is not a known key',
    ],
  ])('refuses %s, with its place', (_, lines, message) => {
    expect(() => read(...lines)).toThrow(
      expect.objectContaining({ code: 'CONFIG', message: `/c/config.toml:${message}` }) as Error,
    );
  });

  test('refuses what is not TOML, with line and column, and does not quote it', () => {
    expect(() => read('[acp]', 'idle = "1h', 'token = "secret"')).toThrow(
      expect.objectContaining(expectedError('CONFIG', /^\/c\/config\.toml:2:\d+: (?!.*secret).+$/)) as Error,
    );
  });

  test('makes a list of the tables of a list', () => {
    const { mounts } = read('[[mounts]]', 'path = "/a"', '[[mounts]]', 'path = "~/b"', 'read_only = true');

    expect(mounts).toEqual([
      { path: '/a', isReadOnly: false },
      { path: '/home/u/b', isReadOnly: true },
    ]);
    expect(read('mounts = [{ path = "d" }]').mounts).toEqual([{ path: '/c/d', isReadOnly: false }]);
    expect(read('mounts = []')).toEqual(defaults);
  });

  test('tells what is written, and where, beside what is meant', () => {
    const [setting] = settingsOf('[[mounts]]', 'path = "d/../e"');

    expect(setting).toMatchObject({
      key: keys[5],
      path: ['mounts', 0, 'path'],
      written: 'd/../e',
      value: '/c/e',
    });
    expect(setting!.from()).toEqual(['/c/config.toml:2']);
  });

  test('finds a slip at the end of ten thousand lines at once', () => {
    const lines = Array.from({ length: 10_000 }, (_, index) => `[agents.a${index}]\ncommand = "x"`);
    const begin = process.cpuUsage();

    expect(() => read(...lines, 'nam = "x"')).toThrow('/c/config.toml:20001:1: "agents.a9999.nam" is not');

    // Asking the parser about each beginning took minutes.
    expect(process.cpuUsage(begin).user).toBeLessThan(30e6);
  });
});

describe('the name of a path', () => {
  test.each([
    [['acp', 'idle'], 'acp.idle'],
    [['agents', '*', 'command'], 'agents.NAME.command'],
    [['mounts', '[]', 'path'], 'mounts[].path'],
    [['mounts', 12, 'path'], 'mounts[12].path'],
    [[], ''],
  ])('%j is %s', (path, name) => expect(nameOf(path)).toBe(name));
});
