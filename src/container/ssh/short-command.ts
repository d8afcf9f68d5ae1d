/** Short commands in a container, and what they print. */
import type { Readable } from 'node:stream';
import { CaiError } from '../../errors';
import { wholeOf } from '../../system/streams/at-most';
import { within } from '../../system/time-limit';
import type { RemoteCommand } from './remote-command';
import type { RemoteProcess } from './remote-process';
import type { SshConnection } from './ssh';

const maxBytes = 64 * 1024;
const maxMs = 10_000;
/** How long files may take to be removed, in milliseconds. */
const removeMs = 500;

/** Runs a short command to its end, whatever that is. Rejects with `SSH_CONNECT`. */
export async function runToEnd(
  connection: Pick<SshConnection, 'run'>,
  argv: RemoteCommand['argv'],
  more: Partial<RemoteCommand> = {},
): Promise<void> {
  const command = await connection.run({ argv, cwd: '/', env: [], ...more });
  command.stdin.end();
  command.stdout.resume();
  command.stderr.resume();
  await command.exited;
}

/** Removes files of ours, for which it waits half a second. Never rejects. */
export async function removeInside(
  connection: Pick<SshConnection, 'run'>,
  ...paths: readonly string[]
): Promise<void> {
  await within(
    removeMs,
    runToEnd(connection, ['rm', '-f', ...paths]).catch(() => undefined),
  );
}

/** What a short command prints, which gets no input. Rejects as `limitedText` does. */
export async function printedBy({ stdin, stdout, stderr }: RemoteProcess): Promise<string> {
  stdin.end();
  stderr.resume();
  return await limitedText(stdout);
}

/**
 * All that a stream gives, as text. Rejects with `SSH_CONNECT` after 64 KiB or `limitMs` without its end, and with its
 * error: what is in a container may answer without end, or never. The stream is not to be used afterwards.
 */
export async function limitedText(stream: Readable, limitMs = maxMs): Promise<string> {
  const limit = setTimeout(() => stream.destroy(tooMuch(`no answer in ${limitMs / 1_000} s`)), limitMs);
  try {
    const bytes = await wholeOf(stream, maxBytes, () => tooMuch(`an answer of more than ${maxBytes} bytes`));
    return bytes.toString();
  } finally {
    clearTimeout(limit);
  }
}

function tooMuch(what: string): CaiError {
  return new CaiError('SSH_CONNECT', `the container gave ${what}: recreate it with --fresh`);
}

/**
 * The text of files in a container, one after the other, without those that are not there; empty too if nobody can know,
 * as without a connection, or from a container that does not just answer.
 */
export async function textInside(
  connection: Pick<SshConnection, 'run'>,
  paths: readonly string[],
): Promise<string> {
  try {
    return await printedBy(await connection.run({ argv: ['/bin/cat', ...paths], cwd: '/', env: [] }));
  } catch {
    return '';
  }
}
