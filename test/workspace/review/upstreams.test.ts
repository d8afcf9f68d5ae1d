import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { differsInUpstreams } from '../../../src/workspace/review/upstreams';
import { newFolder } from '../../support/temp-folder';

const base = '[core]\n\tbare = false\n[remote "origin"]\n\turl = git@example.org:x\n';
const branch = '[branch "topic/a"]\n\tremote = origin\n\tmerge = refs/heads/topic/a\n';

test('what git itself writes about upstreams is no difference', () => {
  const [there, here] = [newFolder(), newFolder()];
  const git = (...args: string[]) => execFileSync('git', ['-C', here, ...args], { stdio: 'pipe' });
  const config = (): string => readFileSync(join(here, '.git/config'), 'utf8');
  execFileSync('git', ['init', '--quiet', '--bare', there]);
  git('init', '--quiet', '--initial-branch=main');
  git('remote', 'add', 'origin', there);
  git('-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '--quiet', '--allow-empty', '-m', 'x');
  const before = config();
  git('push', '--quiet', '-u', 'origin', 'main:other');
  git('worktree', 'add', '--quiet', '-b', 'topic/ä', '--track', newFolder(), 'origin/other');
  git('branch', '--track', 'local', 'main');
  const after = config();
  git('branch', '--unset-upstream', 'local');

  expect(after).not.toBe(before);
  expect(differsInUpstreams(before, after)).toBe(true);
  expect(differsInUpstreams(after, config())).toBe(true);
});

test.each([
  ['a branch between others', `${branch}${base}`, base],
  ['a branch at the end', `${base}${branch}`, base],
  ['nothing', base, base],
])('%s is no difference', (_, now, before) => {
  expect(differsInUpstreams(before, now)).toBe(true);
  expect(differsInUpstreams(now, before)).toBe(true);
});

test.each([
  ['a program', `${base}[core]\n\tfsmonitor = ./x\n`],
  ['a program in a branch', `${base}${branch}\tfsmonitor = ./x\n`],
  ['another section on the line of the branch', `${base}[branch "a"] [core]\n\tremote = origin\n`],
  ['a remote that is an address', `${base}${branch.replace('origin', 'ext::sh')}`],
  ['a remote that is nowhere', `${base}${branch.replace('origin', 'other')}`],
  ['a remote that is only named in a value', `${base}${branch.replace('origin', 'bare')}`],
  ['a line that goes on', `${base}\tx = \\\n${branch}`],
  ['a value that goes on', `${base}${branch.replace('topic/a\n', 'topic/a\\\n')}`],
  ['a quoted name that ends the section', `${base}${branch.replace('topic/a"', 'a\\"] [core')}`],
  ['a key in the middle of a section', base.replace('\tbare', `${branch}\tbare`)],
  ['a line end of another kind', `${base}${branch.replaceAll('\n', '\r\n')}`],
  ['another remote', `${base}[remote "b"]\n\turl = x\n`],
  ['another address', base.replace('git@', 'ext::git@')],
])('%s is a difference', (_, now) => {
  expect(differsInUpstreams(base, now)).toBe(false);
});
