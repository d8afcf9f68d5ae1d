import { createInterface } from 'node:readline/promises';

/** Whether there is a person to ask. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Asks on the terminal, by stderr; whatever is not a yes is a no, the end of the input too. */
export async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const ended = new Promise<string>((tell) => terminal.once('close', () => tell('')));
    const answer = await Promise.race([terminal.question(`${question} [y/N] `), ended]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
