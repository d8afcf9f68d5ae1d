import { spawn } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

afterAll(() => {
  if (made.length < 10) for (const folder of made) rmSync(folder, { recursive: true, force: true });
  else removeBeside();
});

/** Half the work of `rmSync`, and nobody waits for the disk. What cannot be removed stays. */
function removeBeside(): void {
  const remover = spawn('rm', ['-rf', ...made], { stdio: 'ignore', detached: true });
  remover.on('error', () => undefined).unref();
}

/** The real path of a new empty folder, which is removed after the tests of the file. */
export function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cai-test-')));
  made.push(folder);
  return folder;
}
