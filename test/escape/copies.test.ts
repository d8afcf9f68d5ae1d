/** Attacks on whoever brings work back from a copy: all that comes is the agent's. No container is needed. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LocalCopy } from '../container/copy/local-copy';
import { git } from '../support/git';
import { attempt, reachedIf } from './attempt';

let copy: LocalCopy;

beforeEach(async () => {
  copy = new LocalCopy();
  writeFileSync(join(copy.root, 'file'), 'mine');
  git(copy.root, 'add', '--all');
  git(copy.root, 'commit', '--quiet', '-m', 'mine');
  git(copy.root, 'tag', 'v1');
  await copy.provide();
  writeFileSync(join(copy.folder, 'file'), 'of the agent');
  git(copy.folder, 'commit', '--quiet', '--all', '-m', 'of the agent');
});

/** All that is the user's own. */
function own(): string {
  const names = git(copy.root, 'for-each-ref', '--format=%(refname) %(objectname)').split('\n');
  const others = names.filter((line) => !line.startsWith('refs/remotes/cai/'));
  const texts = ['file', '.git/HEAD', '.git/config'].map((name) =>
    readFileSync(join(copy.root, name), 'utf8'),
  );
  return [...others, ...texts].join('\n');
}

/** The agent's commits as a bundle, in which its branch has this name. */
function bundleWith(name: string): Buffer {
  const file = join(copy.home, 'bundle');
  git(copy.folder, 'bundle', 'create', '--quiet', file, 'main');
  const bundle = readFileSync(file);
  const at = bundle.indexOf(' refs/heads/main\n');
  return Buffer.concat([bundle.subarray(0, at), Buffer.from(` ${name}\n`), bundle.subarray(at + 17)]);
}

/** What of the user's own has changed once that was brought, or what could steer a terminal. */
async function broughtBy(bundle: Buffer): Promise<string | undefined> {
  const before = own();
  copy.answer = bundle;
  const { brought, refused } = await copy.pull();
  if (brought.length + refused.length === 0) throw new Error('nothing came');
  const printed = brought.map(({ name }) => name).join();
  return reachedIf(own() !== before, own()) ?? reachedIf(/[^\w/,]/.test(printed), JSON.stringify(printed));
}

describe('what an agent gives back', () => {
  attempt('an agent that gives back its commits as the branch main has moved the main of the user', () =>
    broughtBy(bundleWith('refs/heads/main')),
  );

  attempt('an agent that gives back its commits as HEAD has moved the HEAD of the user', () =>
    broughtBy(bundleWith('HEAD')),
  );

  attempt('an agent that gives back its commits as a tag has moved a tag of the user', () =>
    broughtBy(bundleWith('refs/tags/v1')),
  );

  attempt(
    'an agent that gives back a branch with .. in its name has moved a branch of the user',
    async () => {
      const reached = await broughtBy(bundleWith('refs/heads/../../heads/main'));
      return reached ?? (await broughtBy(bundleWith('refs/heads/../../../config')));
    },
  );

  attempt('an agent has a sequence for the terminal printed as the name of a branch', () =>
    broughtBy(bundleWith('refs/heads/\u001b]0;owned\u0007')),
  );

  attempt(
    'an agent has a command run that is the name of a branch, which is copied from what is printed',
    () => broughtBy(bundleWith('refs/heads/$(touch${IFS}owned)')),
  );

  attempt('an agent that gives back commits without end fills the disk', async () => {
    copy.answer = bundleWith('refs/heads/main');
    const { length } = copy.answer;
    const result = await copy.pull(length - 50).catch(() => undefined);
    // git may leave what it could not use for its next clean-up.
    const sizes = execFileSync('find', [
      join(copy.root, '.git/objects/pack'),
      '-type',
      'f',
      '-printf',
      '%s\\n',
    ]);
    const bytes = sizes
      .toString()
      .split('\n')
      .reduce((sum, size) => sum + Number(size), 0);
    return reachedIf(result !== undefined || bytes > length, `${bytes} bytes`);
  });

  attempt('an agent that gives back commits has a hook of the repository run on the host', async () => {
    const trap = join(copy.home, 'trap');
    writeFileSync(trap, `#!/bin/sh\ntouch '${copy.home}/owned'\n`);
    chmodSync(trap, 0o755);
    for (const hook of ['reference-transaction', 'post-merge', 'post-checkout', 'pre-auto-gc'])
      symlinkSync(trap, join(copy.root, '.git/hooks', hook));
    const reached = await broughtBy(bundleWith('refs/heads/main'));
    return reached ?? reachedIf(existsSync(join(copy.home, 'owned')), 'a hook');
  });
});
