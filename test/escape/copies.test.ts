/** Attacks on whoever copies a workspace, and on whoever brings work back from the copy. No container is needed. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { deflateSync } from 'node:zlib';
import { stateOf } from '../../src/container/copy/difference';
import { recordsOf } from '../../src/container/copy/records';
import { Repository } from '../../src/container/copy/repository';
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

  attempt('an agent that gives back a little that unpacks to much has git fill the memory', async () => {
    const bytes = 300 * 2 ** 20;
    const zeros = Buffer.alloc(bytes);
    // Source: gitformat-pack(5): a tree, and its size in parts of 4, 7, 7, 7 and 7 bits.
    const sizes = [4, 11, 18, 25].map((at, index) => ((bytes >> at) & 0x7f) | (index < 3 ? 0x80 : 0));
    const entry = Buffer.from([0x80 | (2 << 4) | (bytes & 0xf), ...sizes]);
    const head = Buffer.concat([Buffer.from('PACK'), Buffer.from([0, 0, 0, 2, 0, 0, 0, 1])]);
    const pack = Buffer.concat([head, entry, deflateSync(zeros)]);
    const id = createHash('sha1').update(`tree ${bytes}\0`).update(zeros).digest('hex');
    const names = Buffer.from(`# v2 git bundle\n${id} refs/heads/main\n\n`);
    copy.answer = Buffer.concat([names, pack, createHash('sha1').update(pack).digest()]);
    const said = await copy.pull().then(() => 'all of it is here', String);
    // In git's words; whatever else it says, it has held all of that at once.
    return reachedIf(!/attempting to allocate \d+ over limit/.test(said), said);
  });

  attempt('an agent that gives back commits has a hook of the repository run on the host', async () => {
    const trap = join(copy.home, 'trap');
    writeFileSync(trap, `#!/bin/sh\ntouch '${copy.home}/owned'\n`);
    chmodSync(trap, 0o755);
    mkdirSync(join(copy.root, '.git/hooks'), { recursive: true });
    for (const hook of ['reference-transaction', 'post-merge', 'post-checkout', 'pre-auto-gc'])
      symlinkSync(trap, join(copy.root, '.git/hooks', hook));
    const reached = await broughtBy(bundleWith('refs/heads/main'));
    return reached ?? reachedIf(existsSync(join(copy.home, 'owned')), 'a hook');
  });
});

describe('a repository', () => {
  const secret = 'SECRET OF THE USER';

  /** What of a file outside of the workspace the copy holds, or the user is told, where git looks for a list of commits. */
  async function shownBy(shallow: (file: string) => string): Promise<string | undefined> {
    const file = join(copy.home, 'id_rsa');
    writeFileSync(file, `${secret}\n`);
    const fresh = new LocalCopy();
    symlinkSync(shallow(file), join(fresh.root, '.git/shallow'));
    const said = await fresh.provide().then(() => '', String);
    const copied = join(fresh.folder, '.git/shallow');
    const all = existsSync(copied) ? said + readFileSync(copied, 'utf8') : said;
    return reachedIf(all.includes(secret), all);
  }

  attempt('a repository whose list of cut-off commits is a link has a file of the user copied', () =>
    shownBy((file) => file),
  );

  attempt(
    'a repository whose list of cut-off commits leads elsewhere for git than for others has a file of the user copied',
    () => shownBy((file) => `/proc/self/cwd/${relative(process.cwd(), file)}`),
  );

  attempt(
    'an agent that makes a file that the repository includes, while it is copied, has a filter run on the host',
    async () => {
      const { root, home, host } = copy;
      git(root, 'config', 'include.path', '../later');
      // As new as the index, so that only the content tells whether the file has changed.
      const soon = new Date(Date.now() + 60_000);
      utimesSync(join(root, 'file'), soon, soon);
      git(root, 'add', 'file');
      utimesSync(join(root, '.git/index'), soon, soon);
      const repository = await Repository.at(root, host).catch((reason: unknown) => {
        if (!String(reason).includes('include')) throw reason;
        return undefined;
      });
      const sprung = join(home, 'owned');
      writeFileSync(join(root, '.gitattributes'), '* filter=evil\n');
      writeFileSync(join(root, 'later'), `[filter "evil"]\n\tclean = "touch '${sprung}'; cat"\n`);
      if (repository !== undefined) await stateOf(repository);
      return reachedIf(existsSync(sprung), 'a filter');
    },
  );

  attempt('a folder that becomes a link while it is copied has a file of the user copied', async () => {
    const { root, home, host } = copy;
    for (const folder of [join(root, 'folder'), join(home, 'private')]) mkdirSync(folder);
    writeFileSync(join(root, 'folder/key'), ' '.repeat(secret.length));
    writeFileSync(join(home, 'private/key'), secret);
    const repository = await Repository.at(root, host);
    const state = await stateOf(repository);
    renameSync(join(root, 'folder'), join(root, 'aside'));
    symlinkSync(join(home, 'private'), join(root, 'folder'));
    let sent = '';
    try {
      for await (const part of recordsOf(repository, state, '')) sent += part.toString('latin1');
    } catch (reason) {
      sent += String(reason);
    } finally {
      rmSync(join(root, 'folder'));
    }
    if (!sent.includes('folder/key')) throw new Error('nothing was tried');
    return reachedIf(sent.includes(secret), sent.slice(-200));
  });
});
