/** A second user of the same machine, who has nothing to do with `cai`. `machine.sh` makes that user. */
import { execFile, execFileSync } from 'node:child_process';

/** Name of the user. */
export const otherUser = 'cai-test-other';

/** Who the user is; fails where there is no such user. */
export function idsOfOther(): { uid: number; gid: number } {
  const id = (which: string): number => Number(execFileSync('id', [which, otherUser], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** What a shell of that user says, whatever its end. Only root can start it. */
export async function asOther(script: string): Promise<{ status: number; stdout: string; stderr: string }> {
  const options = { ...idsOfOther(), cwd: '/', env: { PATH: process.env.PATH }, timeout: 60_000 };
  return await new Promise((done, fail) => {
    execFile('sh', ['-c', script], options, (error, stdout, stderr) => {
      const status = error === null ? 0 : (error.code ?? 1);
      if (typeof status === 'number') done({ status, stdout, stderr });
      else fail(new Error(`no shell of ${otherUser} can be started`, { cause: error }));
    });
  });
}
