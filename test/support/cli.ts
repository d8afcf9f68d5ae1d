/** The built `bin/cai` as a command line: what it prints, and how it exits. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { newFolder } from './temp-folder';

/** The program under test. */
export const cai = process.env.CAI_BIN ?? resolve(__dirname, '../../bin/cai');

/** How a run differs from the usual. */
export interface CliOptions {
  /** Environment, besides PATH; nothing looks for newer versions unless it says so. */
  readonly env?: NodeJS.ProcessEnv;
  /** Working directory; default: this one. */
  readonly cwd?: string;
  /** Its stdin; default: nothing. */
  readonly input?: string;
  /** Another program than `cai`. */
  readonly program?: string;
}

/** What came of a run. */
export interface CliResult {
  /** Exit status; null when a signal ended it. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A user with this config, whose agents are direct children; `file` is where the config stands. */
export function userWith(
  config: string,
  env: NodeJS.ProcessEnv = {},
): CliOptions & { readonly file: string } {
  const home = newFolder();
  const file = join(home, '.config/containai/config.toml');
  mkdirSync(join(home, '.config/containai'), { recursive: true });
  writeFileSync(file, config);
  return { env: { HOME: home, CAI_ACP_DIRECT_SPAWN: '1', ...env }, cwd: home, file };
}

/** Runs `cai` with these arguments to its end. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return await run(process.execPath, [options.program ?? cai, ...args], options);
}

/** As `runCli`, on a terminal of its own: all output is stdout, with the terminal's line ends. */
export async function runInTerminal(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const words = [process.execPath, cai, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  return await run('script', ['-qec', words.join(' '), '/dev/null'], options);
}

async function run(program: string, args: readonly string[], options: CliOptions): Promise<CliResult> {
  const { env, cwd, input = '' } = options;
  const child = spawn(program, args, {
    cwd,
    env: { PATH: process.env.PATH, CAI_NO_UPDATE_CHECK: '1', ...env },
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text));
  }
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, ...output };
}
