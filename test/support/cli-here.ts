import { main } from '../../src/main';
import { hostOf } from '../../src/system/paths/search-path';
import type { CliOptions, CliResult } from './cli';

/**
 * As `runCli`, but by the sources and in the process of the test, which saves the start of a program. One at a time, and
 * only for commands that read no stdin and start nothing that writes to our stdout. `columns`: how wide stdout is.
 */
export async function runHere(
  args: readonly string[],
  options: Pick<CliOptions, 'env' | 'cwd'> & { readonly columns?: number } = {},
): Promise<CliResult> {
  const output = { stdout: '', stderr: '' };
  const folder = process.cwd();
  const listeners = process.stdout.listeners('error');
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    jest.spyOn(process[name], 'write').mockImplementation((text) => {
      output[name] += String(text);
      return true;
    }),
  );
  const shown = [process.stdin, process.stdout, process.stderr].map((stream) =>
    withoutTerminal(stream, options.columns),
  );
  process.chdir(options.cwd ?? folder);
  try {
    const status = await main(args, hostOf({ PATH: process.env.PATH, ...options.env }));
    return { status, ...output };
  } finally {
    process.chdir(folder);
    for (const restore of [...shown, ...spies.map((spy) => () => spy.mockRestore())]) restore();
    for (const each of process.stdout.listeners('error'))
      if (!listeners.includes(each)) process.stdout.off('error', each as () => void);
  }
}

/** Makes a stream look like a pipe, also where the tests run in a terminal; returns what undoes that. */
function withoutTerminal(stream: object, columns?: number): () => void {
  const undo = Object.entries({ isTTY: undefined, columns }).map(([name, value]) => {
    const before = Object.getOwnPropertyDescriptor(stream, name);
    Object.defineProperty(stream, name, { value, configurable: true, writable: true });
    return () => {
      Reflect.deleteProperty(stream, name);
      if (before !== undefined) Object.defineProperty(stream, name, before);
    };
  });
  return () => undo.forEach((each) => each());
}
