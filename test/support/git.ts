import { execFileSync } from 'node:child_process';

const settings = ['user.name=t', 'user.email=t@t', 'protocol.file.allow=always'];

/** What git prints in that folder, with an author, whatever the machine has configured. Fails if git does. */
export function git(folder: string, ...args: readonly string[]): string {
  const given = settings.flatMap((each) => ['-c', each]);
  return execFileSync('git', [...given, '-C', folder, ...args], { encoding: 'utf8', stdio: 'pipe' });
}
