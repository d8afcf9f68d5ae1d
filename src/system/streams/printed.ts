/** What a program of the command line prints on its stdout, and who reads it. */

/** Exit status of a program that writes to a reader who has gone: 128 and the number of SIGPIPE. */
export const brokenPipeStatus = 141;

/** Ends the process when nobody reads what it prints. */
export function endWithReader(): void {
  process.stdout.on('error', () => process.exit(brokenPipeStatus));
}

/** Resolves once all that was printed is written: a pipe is written to later, and the end of the process drops the rest. */
export async function allPrinted(): Promise<void> {
  const { stdout } = process;
  await new Promise<void>((done) => {
    if (stdout.writableLength > 0) stdout.write('', () => done());
    // Only then it is told that the reader had gone before.
    else process.nextTick(done);
  });
}
