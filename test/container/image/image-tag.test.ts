import { imageTagOf, shortId } from '../../../src/container/image/image-tag';

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

  test('has the registry before it', () => {
    expect(imageTagOf({ agent: 'claude', registry: 'ghcr.io/team' })).toBe('ghcr.io/team/containai:claude');
  });

  test('keeps the image of a repository apart, from the usual one and from those of others', () => {
    const tags = [undefined, '/one', '/two'].map((repository) =>
      imageTagOf({ agent: 'claude', ...(repository !== undefined && { repository }) }),
    );

    expect(new Set(tags).size).toBe(3);
  });
});

test.each([`sha256:${'ab'.repeat(32)}`, `ghcr.io/x@sha256:${'ab'.repeat(32)}`])('%s is shown short', (id) => {
  expect(shortId(id)).toBe('abababababab');
});
