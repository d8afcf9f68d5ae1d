/** `cai` on a terminal, with somebody who reads before they type. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cai, type CliOptions } from './cli';

/** What is typed once the terminal shows something new that has this text. */
type Step = readonly [shown: string, typed: string];

/** Resolves with all that the terminal has shown, without colours, when the program has ended after the last step. */
export async function onTerminal(
  args: readonly string[],
  { cwd, env }: CliOptions,
  steps: readonly Step[],
): Promise<string> {
  const command = [process.execPath, cai, ...args].map((word) => `'${word}'`).join(' ');
  const usual = { PATH: process.env.PATH, TERM: 'dumb', NO_COLOR: '1', CAI_NO_UPDATE_CHECK: '1' };
  const child = spawn('script', ['-qec', command, '/dev/null'], { cwd, env: { ...usual, ...env } });
  let [all, from, next] = ['', 0, 0];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    all += text;
    for (let step; (step = steps[next]) !== undefined && all.includes(step[0], from); next++) {
      from = all.length;
      child.stdin.write(step[1]);
    }
  });
  await once(child, 'close');

  expect(next).toBe(steps.length);
  return all.replaceAll('\r', '');
}
