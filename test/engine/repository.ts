/** Repositories of the user on the host. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { newWorkspace, ownFile, user, type Cai } from './support';

/** What git prints for this user, without white space around it; fails when git does. */
export function git(cai: Cai, ...args: readonly string[]): string {
  const identity = process.getuid?.() === user.uid ? {} : user;
  const settings = ['-c', 'protocol.file.allow=always'];
  return execFileSync('git', [...settings, ...args], { env: cai.env, encoding: 'utf8', ...identity }).trim();
}

/** Gives the user an author for commits. */
export function nameAuthor(cai: Cai): void {
  ownFile(join(cai.home, '.gitconfig'), '[user]\nname = "Ada \\"L\\" B"\nemail = ada@example.com\n');
}

/** A repository with one commit, which holds `file`; the user needs an author. */
export function newRepository(cai: Cai, name: string): string {
  const path = newWorkspace(name);
  ownFile(join(path, 'file'), 'text\n');
  git(cai, '-C', path, 'add', 'file');
  git(cai, '-C', path, 'commit', '--quiet', '--message', 'first');
  return path;
}
