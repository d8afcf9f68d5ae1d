/** Programs of the user that print something short, such as a key or a login. */
import { execFile, type ExecFileException } from 'node:child_process';
import { isNowhere } from './paths/search-path';

/** How much a program may print, in bytes. */
const maxBytes = 2 ** 20;

export interface ProgramOptions {
  /** Its whole environment. */
  readonly env: NodeJS.ProcessEnv;
  /** How long it may take, in milliseconds; then it gets SIGKILL. Default: a minute, as it may ask for a password. */
  readonly limitMs?: number | undefined;
  /** What it reads. Default: nothing, so that it can ask for nothing. */
  readonly input?: string;
}

/**
 * A failure of a program: why, as in "it ended with 1". It holds neither its arguments nor what it has said on stderr,
 * which may be secrets.
 */
export class OutputFailure extends Error {
  /** `stdout`: what it has printed; `isMissing`: there is no such program; `hasEnded`: by itself, with a status. */
  constructor(
    why: string,
    readonly stdout: string,
    readonly isMissing: boolean,
    readonly hasEnded: boolean,
  ) {
    super(why);
  }
}

/** What a program prints to stdout. Rejects with `OutputFailure`. */
export function outputOf(program: string, args: readonly string[], options: ProgramOptions): Promise<string> {
  const { env, limitMs = 60_000, input } = options;
  const settings = { env, timeout: limitMs, killSignal: 'SIGKILL', maxBuffer: maxBytes } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, settings, (error, stdout) => {
      if (error === null) resolve(stdout);
      else {
        const isMissing = isStartError(error) && isNowhere(program, env.PATH, '.');
        reject(
          new OutputFailure(
            isMissing ? 'there is no such program' : whyOf(error, limitMs),
            stdout,
            isMissing,
            typeof error.code === 'number',
          ),
        );
      }
    });
    // A program that has ended without reading is judged by its status.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

function whyOf(error: ExecFileException, limitMs: number): string {
  if (isStartError(error)) return `it cannot be started (${error.code})`;
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return 'it prints too much';
  if (error.killed === true) return `it had not ended after ${limitMs / 1000} s`;
  return `it ended with ${error.code ?? error.signal ?? 'an error'}`;
}

/** The system's name of an error, where a program's own end has a status. */
function isStartError({ code }: ExecFileException): boolean {
  return code === 'ENOENT' || code === 'EACCES';
}
