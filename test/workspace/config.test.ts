import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configKeys, loadConfig } from '../../src/workspace/config';
import { newFolder } from './temp-folder';

const defaults = {
  agent: { default: 'claude', process: 'workspace' },
  agents: {},
  acp: {
    fs: 'editor',
    idleMs: 600_000,
    startTimeoutMs: 120_000,
    maxLineFromEditorBytes: 67_108_864,
    maxLineToEditorBytes: 33_554_432,
    queueToEditorBytes: 8_388_608,
    queueToAgentBytes: 67_108_864,
  },
  sessions: { persist: true, keepMs: 7_776_000_000 },
};

let configHome: string;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  configHome = newFolder();
  env = { XDG_CONFIG_HOME: configHome };
});

describe('loadConfig', () => {
  test('does without a file', () => {
    expect(loadConfig(env)).toEqual(defaults);
  });

  test('does with an empty file', () => {
    write('');

    expect(loadConfig(env)).toEqual(defaults);
  });

  test('reads every key', () => {
    write(`
      [agent]
      default = "mine"
      process = "session"
      [agents.mine]
      command = ["my-agent", "--acp"]
      name = "Mine"
      [acp]
      fs = "off"
      idle = "0s"
      start_timeout = "30s"
      max_line_from_editor = "1MiB"
      max_line_to_editor = "2MiB"
      queue_to_editor = "1KiB"
      queue_to_agent = "1GiB"
      [sessions]
      persist = false
      keep = "1h"
    `);

    expect(loadConfig(env)).toEqual({
      agent: { default: 'mine', process: 'session' },
      agents: { mine: { command: ['my-agent', '--acp'], name: 'Mine' } },
      acp: {
        fs: 'off',
        idleMs: 0,
        startTimeoutMs: 30_000,
        maxLineFromEditorBytes: 1_048_576,
        maxLineToEditorBytes: 2_097_152,
        queueToEditorBytes: 1_024,
        queueToAgentBytes: 1_073_741_824,
      },
      sessions: { persist: false, keepMs: 3_600_000 },
    });
  });

  test('reads the file below the home folder', () => {
    mkdirSync(join(configHome, '.config/containai'), { recursive: true });
    writeFileSync(join(configHome, '.config/containai/config.toml'), 'agent.default = "mine"');

    expect(loadConfig({ HOME: configHome }).agent.default).toBe('mine');
  });

  test.each([
    ['acp.idle = "25d"', 'at most 24d'],
    ['acp.max_line_to_editor = "1023KiB"', 'at least 1MiB'],
    ['acp.queue_to_editor = "0KiB"', 'at least 1KiB'],
    ['agents.mine.command = []', 'a list of strings, the program first'],
    ['agents.mine.name = "Mine"', 'lacks "command"'],
    ['agent.process = "thread"', '"workspace" or "session"'],
    ['[acp]\nidel = "1h"', 'did you mean "acp.idle"?'],
  ])('refuses %j', (source, why) => {
    write(source);

    expect(() => loadConfig(env)).toThrow(
      expect.objectContaining({
        code: 'CONFIG',
        exitCode: 2,
        message: expect.stringMatching(
          new RegExp(`^${configHome}/containai/config\\.toml:\\d+: .*${escape(why)}`),
        ) as string,
      }) as Error,
    );
  });

  test('does not take a file that it cannot read for none', () => {
    mkdirSync(join(configHome, 'containai/config.toml'), { recursive: true });

    expect(() => loadConfig(env)).toThrow(
      expect.objectContaining({
        code: 'CONFIG',
        message: expect.stringMatching(/config\.toml cannot be read: .*EISDIR/) as string,
      }) as Error,
    );
  });
});

describe('docs/configuration.md', () => {
  test('lists every key with its default, in the order of the table of keys', () => {
    const rows = readFileSync(join(__dirname, '../../docs/configuration.md'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) =>
        line
          .split('|')
          .slice(1, 3)
          .map((cell) => cell.trim()),
      );

    expect(rows).toEqual(
      configKeys.map(({ path, standard, isRequired }) => [
        `\`${path.join('.').replace('*', 'NAME')}\``,
        standard === undefined ? (isRequired ? 'required' : 'none') : `\`${JSON.stringify(standard)}\``,
      ]),
    );
  });

  test('states the limits of each value', () => {
    const text = readFileSync(join(__dirname, '../../docs/configuration.md'), 'utf8');

    for (const { path, kind } of configKeys) {
      const row = text
        .split('\n')
        .find((line) => line.startsWith(`| \`${path.join('.').replace('*', 'NAME')}\``));
      const [, bound, amount] = /(at most|at least) (\w+)$/.exec(kind.expected) ?? [];
      const choices = kind.expected.startsWith('"') ? kind.expected.split(' or ') : [];
      const stated =
        bound === undefined ? choices.map((choice) => `\`${choice}\``) : [`${bound} \`${amount!}\``];
      for (const words of stated) expect(row).toContain(words);
    }
  });

  test('has an example that is valid', () => {
    const text = readFileSync(join(__dirname, '../../docs/configuration.md'), 'utf8');
    write(/```toml\n(.*?)```/s.exec(text)![1]!);

    expect(loadConfig(env)).toMatchObject({ agent: { default: 'gemini' }, acp: { idleMs: 1_800_000 } });
  });
});

function write(source: string): void {
  mkdirSync(join(configHome, 'containai'));
  writeFileSync(join(configHome, 'containai/config.toml'), source);
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
