import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { mostNames } from '../../../src/system/paths/look-inside';
import {
  devcontainerFiles,
  devcontainerNames,
  findDevcontainer,
} from '../../../src/workspace/devcontainer/find';
import { newRoot } from './files';

describe('findDevcontainer', () => {
  test('takes the folder before the file', () => {
    const both = newRoot({ '.devcontainer/devcontainer.json': '{}', '.devcontainer.json': '{}' });
    const one = newRoot({ '.devcontainer.json': '{}' });

    expect(findDevcontainer(both, undefined)).toBe(join(both, '.devcontainer/devcontainer.json'));
    expect(findDevcontainer(one, undefined)).toBe(join(one, '.devcontainer.json'));
    expect(findDevcontainer(newRoot({}), undefined)).toBeUndefined();
  });

  test('takes one of several only by its name', () => {
    const root = newRoot({
      '.devcontainer/b/devcontainer.json': '{}',
      '.devcontainer/a/devcontainer.json': '{}',
      '.devcontainer/c/Dockerfile': '',
    });

    expect(findDevcontainer(root, undefined)).toBeUndefined();
    expect(findDevcontainer(root, 'b')).toBe(join(root, '.devcontainer/b/devcontainer.json'));
    expect(findDevcontainer(root, 'c')).toBeUndefined();
    expect(devcontainerNames(root)).toEqual(['a', 'b']);
    expect(devcontainerFiles(root)).toHaveLength(4);
  });

  test('does not look at very many, which an agent can make', () => {
    const root = newRoot({ '.devcontainer/a/devcontainer.json': '{}' });
    for (let i = 0; i < mostNames; i += 1) symlinkSync('a', join(root, `.devcontainer/b${i}`));

    expect(devcontainerNames(root)).toEqual([]);
  });
});
