import { mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { checkShared, explainMissing } from '../../../../../src/container/engine/docker/elsewhere/shares';
import type { CaiError } from '../../../../../src/errors';
import { newFolder } from '../../../../support/temp-folder';

const address = { context: 'far', endpoint: 'ssh://build', isElsewhere: true, options: {} };

function codeOf(action: () => void): unknown {
  try {
    action();
  } catch (reason) {
    return (reason as CaiError).code;
  }
  return undefined;
}

describe('checkShared', () => {
  test('lets pass what lies in a share, also by a link in its path', () => {
    const folder = realpathSync(newFolder());
    mkdirSync(join(folder, 'src'));
    symlinkSync(join(folder, 'src'), join(folder, 'link'));
    const binds = [{ source: join(folder, 'src') }, { source: join(folder, 'src/app') }];

    expect(() => checkShared(address, [join(folder, 'link')], binds)).not.toThrow();
    expect(() => checkShared(address, [], [])).not.toThrow();
  });

  test.each([
    [[], /in "shares" in \[engine\] of your config\.toml; if not, use an engine here$/],
    [['/srv/src'], /config\.toml, which names "\/srv\/src"; if not/],
  ])('refuses what lies in none of %j, with what to do', (shares, message) => {
    const binds = [{ source: '/srv/src-of-others' }];

    expect(() => checkShared(address, shares, binds)).toThrow(message);
    expect(codeOf(() => checkShared(address, shares, binds))).toBe('WORKSPACE');
  });
});

// Observed: Docker 20.10; podman's words are those of its source.
test.each([
  'invalid mount config for type "bind": bind source path does not exist: /srv/app',
  'statfs /srv/app: no such file or directory',
])('"%s" is told as what it is there', (sentence) => {
  const reason = Object.assign(new Error(sentence), { statusCode: 400 });

  expect(() => explainMissing(address)(reason)).toThrow(
    '"/srv/app" is not on the machine of the engine at ssh://build',
  );
  expect(() => explainMissing({ ...address, isElsewhere: false })(reason)).toThrow(reason);
  expect(() => explainMissing(address)(new Error('other'))).toThrow('other');
});
