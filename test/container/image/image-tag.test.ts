import { loadConfig } from '../../../src/config/config';
import { imageRequestOf } from '../../../src/container/image/image-request';
import { imageTagOf, shortId, usualImage } from '../../../src/container/image/image-tag';
import { Host } from '../../../src/system/host';
import { newFolder } from '../../support/temp-folder';

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

  test('is another one for another version of an agent of the registry', () => {
    const tags = ['1.0.0', '1.0.1'].map((version) => {
      const from = { kind: 'npm', spec: `x@${version}`, name: 'x' } as const;
      return imageTagOf({ agent: 'x', installation: { program: 'x', what: '', env: {}, from } });
    });

    expect(new Set(tags).size).toBe(2);
    for (const tag of tags) expect(tag).toMatch(/^containai:x-[0-9a-f]{12}$/);
  });

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

test.each(['claude', 'auggie'])('the usual image of %s is the one that is made of it', (agent) => {
  const host = new Host({ HOME: newFolder() });
  const config = loadConfig(host);

  expect(imageTagOf(usualImage(agent, config, host))).toBe(
    imageTagOf(imageRequestOf(host, config, undefined, agent)),
  );
});
