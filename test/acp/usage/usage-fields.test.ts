import { costOf, modelIn, spentIn } from '../../../src/acp/usage/usage-fields';

const none = { cachedRead: 0, cachedWrite: 0, thought: 0 };

describe('spentIn', () => {
  test('reads the words of the schema, for the model that is known', () => {
    const usage = {
      inputTokens: 40,
      outputTokens: 20,
      totalTokens: 65,
      thoughtTokens: 5,
      cachedReadTokens: null,
    };

    expect(spentIn({ stopReason: 'end_turn', usage }, 'm')).toEqual({
      stop: 'end_turn',
      tokens: { ...none, input: 40, output: 20, thought: 5, total: 65 },
      models: [{ model: 'm', tokens: { ...none, input: 40, output: 20, thought: 5, total: 65 } }],
    });
  });

  // As claude-agent-acp 0.100.0 answers: its rows count subagents too, the sum does not.
  test('takes the rows by model for all where they tell more', () => {
    const quota = {
      token_count: { totalTokens: 60, inputTokens: 40, cachedInputTokens: 0, outputTokens: 20 },
      model_usage: [
        {
          model: 'a',
          token_count: { totalTokens: 75, inputTokens: 50, cachedInputTokens: 1, outputTokens: 25 },
        },
        { model: 'b', token_count: { totalTokens: 5, inputTokens: 4, outputTokens: 1 } },
      ],
    };
    const usage = { inputTokens: 40, outputTokens: 20, totalTokens: 60 };

    const spent = spentIn({ stopReason: 'end_turn', usage, _meta: { quota } }, 'm');

    expect(spent.tokens).toEqual({ ...none, input: 54, output: 26, cachedRead: 1, total: 80 });
    expect(spent.models.map(({ model, tokens }) => [model, tokens?.total])).toEqual([
      ['a', 75],
      ['b', 5],
    ]);
  });

  // As gemini-cli 0.61.0 answers.
  test('reads tokens without a sum', () => {
    const quota = {
      token_count: { input_tokens: 40, output_tokens: 20 },
      model_usage: [{ model: 'auto', token_count: { input_tokens: 40, output_tokens: 20 } }],
    };

    expect(spentIn({ stopReason: 'end_turn', _meta: { quota } }, undefined)).toEqual({
      stop: 'end_turn',
      tokens: { ...none, input: 40, output: 20, total: 60 },
      models: [{ model: 'auto', tokens: { ...none, input: 40, output: 20, total: 60 } }],
    });
  });

  test('adds up what an agent tells where its own sum is nothing', () => {
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 0 };

    expect(spentIn({ usage }, undefined).tokens?.total).toBe(15);
  });

  test('keeps the first ten models of a turn, and counts the tokens of all', () => {
    const model_usage = Array.from({ length: 12 }, (_, index) => ({
      model: `m${index}`,
      token_count: { inputTokens: 1, outputTokens: 1 },
    }));

    const { models, tokens } = spentIn({ _meta: { quota: { model_usage } } }, undefined);

    expect(models.map(({ model }) => model)).toEqual(Array.from({ length: 10 }, (_, index) => `m${index}`));
    expect(tokens?.total).toBe(24);
  });

  test.each([
    null,
    7,
    {},
    { usage: { inputTokens: Infinity, outputTokens: 1e300 } },
    { stopReason: 5, usage: [], _meta: { quota: null } },
    {
      usage: { inputTokens: -1, outputTokens: '3' },
      _meta: { quota: { model_usage: [null, { model: 'x' }] } },
    },
  ])('finds nothing in %j', (result) => {
    expect(spentIn(result, undefined)).toEqual({ stop: 'unknown', models: [] });
  });
});

describe('costOf', () => {
  test.each([
    [{ cost: { amount: 0.5, currency: 'USD' } }, { amount: 0.5, currency: 'USD' }],
    [{ cost: { amount: -1, currency: 'USD' } }, undefined],
    [{ cost: { amount: 1 } }, undefined],
    [{ cost: { amount: Infinity, currency: 'USD' } }, undefined],
    [{ cost: { amount: 1e300, currency: 'USD' } }, undefined],
    [{ cost: null }, undefined],
    [undefined, undefined],
  ])('of %j is %j', (update, expected) => expect(costOf(update)).toEqual(expected));
});

describe('modelIn', () => {
  test.each([
    [{ _meta: { '_claude/model': 'a' } }, 'a'],
    [
      {
        configOptions: [
          { category: 'mode', currentValue: 'x' },
          { category: 'model', currentValue: 'b' },
        ],
      },
      'b',
    ],
    [{ models: { currentModelId: 'c' } }, 'c'],
    [{ configOptions: [null, { category: 'model', currentValue: true }], models: [] }, undefined],
    [undefined, undefined],
    [{ models: { currentModelId: 'x'.repeat(300) } }, 'x'.repeat(200)],
  ])('of %j is %j', (value, expected) => expect(modelIn(value)).toBe(expected));
});
