import type { UsageRecord } from '../../../src/acp/usage/usage';
import { averageOf, severalModels, sumOf, sumsBy, unknownModel } from '../../../src/acp/usage/usage-sums';

const noTokens = { input: 0, output: 0, cachedRead: 0, cachedWrite: 0, thought: 0, total: 0 };
const tokens = (total: number): typeof noTokens => ({ ...noTokens, input: total, total });

function record(more: Partial<UsageRecord> = {}): UsageRecord {
  return {
    at: '2026-01-01T00:00:00.000Z',
    session: 's',
    agent: 'a',
    root: '/r',
    turns: 1,
    durationMs: 100,
    stop: 'end_turn',
    models: [],
    tools: 2,
    failedTools: 1,
    timedTools: 1,
    toolMs: 30,
    ...more,
  };
}

describe('sumOf', () => {
  test('adds up all that is told, costs by currency', () => {
    const sum = sumOf([
      record({ tokens: tokens(5), cost: { amount: 1, currency: 'USD' } }),
      record({ agent: 'b', cost: { amount: 2, currency: 'USD' } }),
      record({ turns: 0, cost: { amount: 4, currency: 'credits' } }),
    ]);

    expect(sum).toEqual({
      key: '',
      agents: ['a', 'b'],
      turns: 2,
      durationMs: 300,
      tokens: tokens(5),
      cost: { USD: 3, credits: 4 },
      tools: 6,
      failedTools: 3,
      timedTools: 3,
      toolMs: 90,
    });
  });
});

describe('averageOf', () => {
  test.each(['constructor', 'toString', '__proto__'])('takes the currency "%s" for one', (currency) => {
    const sum = sumOf([record({ cost: { amount: 2, currency } }), record({ cost: { amount: 4, currency } })]);

    expect(Object.entries(sum.cost)).toEqual([[currency, 6]]);
    expect(Object.entries(averageOf(sum)!.cost)).toEqual([[currency, 3]]);
  });

  test('is a turn’s, and of tool calls that of one', () => {
    const sum = sumOf([record({ tokens: tokens(5), cost: { amount: 1, currency: 'USD' } }), record()]);

    expect(averageOf(sum)).toEqual({
      durationMs: 100,
      tokens: tokens(2.5),
      cost: { USD: 0.5 },
      tools: 2,
      toolMs: 30,
    });
  });

  test('is none without a turn, and no division by zero without tool calls', () => {
    expect(averageOf(sumOf([]))).toBeUndefined();
    expect(averageOf(sumOf([record({ tools: 0, timedTools: 0, toolMs: 0 })]))?.toolMs).toBe(0);
  });
});

describe('sumsBy', () => {
  const records = [
    record({ session: 's1', tokens: tokens(1) }),
    record({ session: 's2', agent: 'b', root: '/q', tokens: tokens(9) }),
    record({ session: 's1', root: '/q' }),
  ];

  test.each([
    ['session' as const, ['s2', 's1'], [1, 2]],
    ['agent' as const, ['b', 'a'], [1, 2]],
    ['workspace' as const, ['/q', '/r'], [2, 1]],
  ])('groups by %s, most tokens first', (by, keys, turns) => {
    const sums = sumsBy(records, by);

    expect(sums.map(({ key }) => key)).toEqual(keys);
    expect(sums.map((sum) => sum.turns)).toEqual(turns);
  });

  test('groups by model, and counts for each what is its own', () => {
    const sums = sumsBy(
      [
        record({ models: [{ model: 'm', tokens: tokens(4) }], tokens: tokens(4) }),
        record({
          models: [
            { model: 'm', tokens: tokens(1) },
            { model: 'n', tokens: tokens(2) },
          ],
          tokens: tokens(3),
          cost: { amount: 1, currency: 'USD' },
        }),
        record(),
      ],
      'model',
    );

    expect(
      sums.map(({ key, turns, tools, tokens, cost }) => [key, turns, tools, tokens.total, cost]),
    ).toEqual([
      ['m', 2, 2, 5, {}],
      ['n', 1, 0, 2, {}],
      [unknownModel, 1, 2, 0, {}],
      [severalModels, 0, 2, 0, { USD: 1 }],
    ]);
  });

  test('loses no tokens of several models that no row tells', () => {
    const [first] = sumsBy(
      [record({ models: [{ model: 'm' }, { model: 'n' }], tokens: tokens(3) })],
      'model',
    );

    expect([first?.key, first?.tokens.total]).toEqual([severalModels, 3]);
  });
});
