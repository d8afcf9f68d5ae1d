/** Cursor's own agent of ACP, `cursor-agent acp`, which newer versions have. */
import { readFileSync } from 'node:fs';
import { CaiError } from '../errors';
import { replaceFile } from '../system/files/replace-file';
import { objectIn, unlessFails } from '../system/unless';
import { cannotStart } from './failures';
import type { Program } from './program';

/**
 * Whether the program has `acp`. It is asked once, and what it says is kept in `file` until another version is installed.
 * Its help is asked for, because a version without `acp` would take the word for a prompt. Fails with `AGENT_START` if it
 * cannot be started.
 */
export async function hasAcp(program: Program, cwd: string, file: string): Promise<boolean> {
  const { identity } = program;
  const known = objectIn(unlessFails(() => readFileSync(file, 'utf8')));
  if (known?.program === identity && typeof known.hasAcp === 'boolean') return known.hasAcp;
  const { status, stdout, startError } = await program.ask(['acp', '--help'], cwd);
  if (startError !== undefined) throw new CaiError('AGENT_START', cannotStart(program.name, startError));
  const found = status === 0 && /^[ \t]*usage:.*\bacp\b/im.test(stdout);
  // Without it the next start asks again.
  if (status === 0)
    unlessFails(() => replaceFile(file, JSON.stringify({ program: identity, hasAcp: found })));
  return found;
}
