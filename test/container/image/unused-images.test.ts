import { unusedImages } from '../../../src/container/image/unused-images';
import type { StoredImage } from '../../../src/container/engine/engine-info';

const recipe = { 'containai.recipe': 'x' };

function image(name: string, labels: StoredImage['labels'], isUsed = false): StoredImage {
  return {
    id: `sha256:${name}`,
    tags: name.includes(':') ? [name] : [],
    labels,
    bytes: 1,
    sharedBytes: 0,
    isUsed,
  };
}

function unused(images: readonly StoredImage[], withAgents = false): string[] {
  const found = unusedImages(images, { withAgents, isGone: (root) => root === '/gone' });
  return found.map(({ image: { id }, because }) => `${id.replace('sha256:', '')}: ${because}`);
}

describe('unusedImages', () => {
  const claude = image('containai:claude', { ...recipe, 'containai.environment': 'containai-environment:1' });

  test("are none of somebody else's, and none that an agent has", () => {
    const images = [
      image('node:22', {}),
      image('nameless', {}),
      image('containai:mine', {}),
      claude,
      image('containai-environment:1', recipe),
    ];

    expect(unused(images)).toEqual([]);
  });

  test('are those that builds have left, and those whose name a newer one has, unless a container has them', () => {
    const images = [
      image('stage', { 'containai.stage': 'agent' }),
      image('old', recipe),
      image('running', recipe, true),
    ];

    expect(unused(images)).toEqual(['stage: left over from a build', 'old: a newer one has its name']);
  });

  test('are environments on which no image is built', () => {
    const environments = ['1', '2'].map((each) => image(`containai-environment:${each}`, recipe));

    expect(unused([claude, ...environments])).toEqual(['containai-environment:2: no image is built on it']);
    expect(unused([image('localhost/containai-environment:1', recipe), claude])).toEqual([]);
  });

  test('are those of a workspace that is gone, with their environment', () => {
    const own = (root: string) =>
      image(`containai:claude-${root.slice(1)}`, {
        ...recipe,
        'containai.repository': root,
        'containai.environment': `containai-environment:${root.slice(1)}`,
      });
    const environments = ['gone', 'there'].map((each) => image(`containai-environment:${each}`, recipe));

    expect(unused([...environments, own('/gone'), own('/there')])).toEqual([
      'containai:claude-gone: /gone is gone',
      'containai-environment:gone: no image is built on it',
    ]);
  });

  test('are none that somebody has built on ours, or given another name', () => {
    const own = image('team/x:1', claude.labels);
    const named = { ...claude, tags: ['containai:claude', 'mine:keep'] };

    expect(unused([own, named, image('containai-environment:1', recipe)], true)).toEqual([]);
  });

  test('are with agents all that no container has', () => {
    const environment = image('containai-environment:1', recipe);

    expect(unused([environment, claude], true)).toEqual([
      'containai:claude: no container has it',
      'containai-environment:1: no image is built on it',
    ]);
    expect(unused([environment, { ...claude, isUsed: true }], true)).toEqual([]);
  });
});
