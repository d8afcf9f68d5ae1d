import { imageTagOf } from '../../../src/container/image/image-tag';

describe('imageTagOf', () => {
  test.each([
    ['claude', 'containai:claude'],
    ['my-agent_2.0', 'containai:my-agent_2.0'],
  ])('names the image of %s %s', (agent, tag) => expect(imageTagOf({ agent })).toBe(tag));

  test.each(['claude-base', 'my agent', '../../..', 'ä', '', '-x', 'a'.repeat(200)])(
    'makes a tag of its own for %j, which none can be',
    (agent) => {
      expect(imageTagOf({ agent })).toMatch(/^containai:\w[\w.-]{0,100}$/);
      expect(imageTagOf({ agent })).not.toBe(imageTagOf({ agent: `${agent}!` }));
      expect(imageTagOf({ agent })).not.toMatch(/-base$/);
    },
  );

  test('keeps the image of a repository apart, from the usual one and from those of others', () => {
    const tags = [undefined, '/one', '/two'].map((repository) =>
      imageTagOf({ agent: 'claude', ...(repository !== undefined && { repository }) }),
    );

    expect(new Set(tags).size).toBe(3);
  });
});
