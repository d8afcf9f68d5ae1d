import { nearest } from '../../src/config/nearest';

describe('nearest', () => {
  test.each([
    ['acp.idel', 'acp.idle'],
    ['acp.ide', 'acp.idle'],
    ['acp.iddle', 'acp.idle'],
    ['acp.idle', 'acp.idle'],
    ['agen', 'agent'],
    ['agnet', 'agent'],
  ])('%s was meant as %s', (word, meant) => {
    expect(nearest(word, ['sessions', 'acp.fs', 'agent', 'acp.idle'])).toBe(meant);
  });

  test.each(['', 'x', 'foo', 'container', 'acp.frobnicate'])('%j was meant as nothing known', (word) => {
    expect(nearest(word, ['sessions', 'acp.fs', 'agent', 'acp.idle'])).toBeUndefined();
  });

  test('the letters of a word are not read where its length alone tells that nothing was meant', () => {
    const letter = jest.fn(() => 'x');
    const word = Object.defineProperty({ length: 1_000 }, 0, { get: letter }) as unknown as string;

    expect(nearest(word, ['acp.idle'])).toBeUndefined();
    expect(letter).not.toHaveBeenCalled();
  });

  test('nothing was meant where nothing is known', () => expect(nearest('acp', [])).toBeUndefined());
});
