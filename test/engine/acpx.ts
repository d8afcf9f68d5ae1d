/** Real clients of the tests in `test/agents`, run by the user of the engine tests. */
import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readTranscripts } from '../agents/transcript';
import type { Transcript } from '../agents/transcript';
import { modelEnv } from './model';
import type { Running } from './running';
import { folder, ownFolder } from './support';
import type { Cai } from './support';

const fixtures = resolve(__dirname, '../../fixtures');
let lastTap = 0;

/** Folder of the installed clients, where the user can read it; filled when it is first asked for. */
export function peers(): string {
  const copy = join(folder, 'peers');
  if (isCopied) return copy;
  const installed = execFileSync(process.execPath, [join(fixtures, 'peers/install.mjs')], {
    encoding: 'utf8',
  }).trim();
  // Half a gigabyte, so by links where the file system allows that.
  try {
    execFileSync('cp', ['--archive', '--link', installed, copy], { stdio: 'ignore' });
  } catch {
    execFileSync('cp', ['--archive', '--force', '--no-target-directory', installed, copy]);
  }
  cpSync(join(fixtures, 'clients'), join(folder, 'clients'), { recursive: true });
  execFileSync('chmod', ['-R', 'a+rX', copy, join(folder, 'clients')]);
  isCopied = true;
  return copy;
}
let isCopied = false;
