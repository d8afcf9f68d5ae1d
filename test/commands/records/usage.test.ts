import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { timeOf } from '../../../src/commands/records/usage';
import { userWith, type CliOptions } from '../../support/cli';
import { runHere } from '../../support/cli-here';

const now = Date.parse('2026-03-04T05:06:07Z');

/** A user with these turns, each so many hours ago. */
function userAfter(...turns: readonly (readonly [number, object])[]): CliOptions {
  const user = userWith('');
  const folder = join(user.env!.HOME!, '.local/state/containai/usage');
  mkdirSync(folder, { recursive: true });
  for (const [hours, turn] of turns) {
    const at = new Date(Date.now() - hours * 3_600_000).toISOString();
    const fields = {
      session: 's',
      agent: 'claude',
      root: '/w',
      turns: 1,
      durationMs: 61_500,
      stop: 'end_turn',
    };
    const tools = { tools: 2, failedTools: 0, timedTools: 1, toolMs: 1_500 };
    const record = { at, ...fields, models: [], ...tools, ...turn };
    writeFileSync(join(folder, `${at.slice(0, 7)}.ndjson`), `${JSON.stringify(record)}\n`, { flag: 'a' });
  }
  return user;
}

const spent = {
  tokens: { input: 10, output: 5, cachedRead: 3, cachedWrite: 0, thought: 0, total: 15 },
  cost: { amount: 0.25, currency: 'USD' },
};

describe('cai usage', () => {
  test('shows the last 24 hours, in columns, with the total and the average', async () => {
    const user = userAfter([1, spent], [2, { root: '/v' }], [30, { root: '/old' }]);

    const { status, stdout, stderr } = await runHere(['usage'], user);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toBe(`\
WORKSPACE  AGENT   TURNS  TIME   TOOLS  TOOL TIME  INPUT  CACHED  OUTPUT  TOKENS  COST
/w         claude  1      1m01s  2      1.5s       10     3       5       15      0.2500 USD
/v         claude  1      1m01s  2      1.5s       -      -       -       -       -
total              2      2m03s  4      3.0s       10     3       5       15      0.2500 USD
a turn                    1m01s  2      1.5s       5      1.5     2.5     7.5     0.1250 USD
`);
  });

  test('shows what was asked for', async () => {
    const user = userAfter([1, spent], [30, { agent: 'gemini' }]);

    const { stdout } = await runHere(['usage', '--since', '7d', '--by', 'agent', '--json'], user);

    const shown = JSON.parse(stdout) as { by: string; rows: { key: string }[]; total: unknown };
    expect(shown.by).toBe('agent');
    expect(shown.rows.map(({ key }) => key)).toEqual(['claude', 'gemini']);
    expect(shown.total).toMatchObject({ turns: 2, cost: { USD: 0.25 }, timedTools: 2 });
  });

  test('escapes in JSON what could steer the terminal or hide text', async () => {
    const model = 'a\u009b\u202eb\n';
    const user = userAfter([1, { models: [{ model }] }]);

    const { stdout } = await runHere(['usage', '--by', 'model', '--json'], user);

    expect(stdout).toContain('"a\\u009b\\u202eb\\n"');
    expect(JSON.parse(stdout)).toHaveProperty('rows.0.key', model);
  });

  test('lets nothing that an agent has said steer the terminal', async () => {
    const user = userAfter([1, { models: [{ model: '\u001b[31mx\n' }] }]);

    const { stdout } = await runHere(['usage', '--by', 'model'], user);

    expect(stdout).toContain('\ufffd[31mx\ufffd');
  });

  test('says so when there is nothing', async () => {
    const { status, stdout, stderr } = await runHere(['usage', '--json'], userWith(''));

    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ rows: [], averagePerTurn: null });
    expect(stderr).toMatch(/^cai: no turns since \d{4}-/);
  });

  test('does not take what cannot be read for nothing', async () => {
    const user = userWith('');
    const folder = join(user.env!.HOME!, '.local/state/containai');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'usage'), '');

    const { status, stderr } = await runHere(['usage'], user);

    expect(status).toBe(2);
    expect(stderr).toMatch(/^cai: .*\/usage cannot be read: not a directory: make .*\n$/);
  });

  test('gives no number in JSON where the agent says none', async () => {
    const user = userAfter([1, {}]);

    const { stdout } = await runHere(['usage', '--json'], user);

    expect(JSON.parse(stdout)).toMatchObject({
      rows: [{ tokens: null }],
      total: { tokens: null },
      averagePerTurn: { tokens: null },
    });
  });

  test('refuses a time that is none', async () => {
    const { status, stderr } = await runHere(['usage', '--since', 'yesterday'], userWith(''));

    expect(status).toBe(2);
    expect(stderr).toContain('--since: "yesterday" is neither a duration such as 24h');
  });
});

describe('timeOf', () => {
  test.each([
    ['24h', '2026-03-03T05:06:07.000Z'],
    ['90m', '2026-03-04T03:36:07.000Z'],
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T12:00:00.5+02:00', '2026-01-31T10:00:00.500Z'],
    ['all', '1970-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, expected) => expect(new Date(timeOf(text, now)).toISOString()).toBe(expected));

  test.each([
    ...['', '24', '2026-13-45', 'x2026-01-01', '2026-11-21junk', '2026-02-31', '2026-02-31T12:00Z'],
    ...['2026-01-31T25:00', '2026-01-31 12:00', '2026-01-31T12'],
  ])('refuses "%s"', (text) => expect(() => timeOf(text, now)).toThrow('--since'));
});
