import { modelsIn } from '../../src/cursor/account';

test('models are the lines with an id and a name, each once', () => {
  const text = [
    ...['Loading models…', 'Available models', '', 'auto - Auto (default)', '  gpt-5.3-low - GPT - low '],
    ...['claude[effort=high] - Claude', 'auto - Auto', 'Tip: use --model <id> - or not', 'nothing'],
  ].join('\n');

  expect(modelsIn(text)).toEqual([
    { id: 'auto', name: 'Auto' },
    { id: 'gpt-5.3-low', name: 'GPT - low' },
    { id: 'claude[effort=high]', name: 'Claude' },
  ]);
});
