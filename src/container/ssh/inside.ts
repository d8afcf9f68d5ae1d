/** What can be read in a container, and what it says there of its limits. */
import type { Readable } from 'node:stream';
import type { AgentStatus } from '../../rpc/status';
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
async function textInside(connection: Pick<SshConnection, 'run'>, paths: readonly string[]): Promise<string> {
  try {
    return await printedBy(await connection.run({ argv: ['/bin/cat', ...paths], cwd: '/', env: [] }));
  } catch {
    return '';
  }
}

/** Of the second version of control groups and of the first. Source: Linux, cgroup-v2.rst and memory.rst. */
const counters = ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control'];

/**
 * How many processes the kernel has killed in the container for want of memory since it was started; 0 also
 * if that cannot be found out.
 */
export async function memoryKills(connection: Pick<SshConnection, 'run'>): Promise<number> {
  const [, count] = /^oom_kill ([0-9]+)$/m.exec(await textInside(connection, counters)) ?? [];
  return Number(count ?? 0);
}

/** What the user is told of something that has run out, by the watcher's word for it. */
const shortages = {
  memory: ['has run out of memory, so that programs in it were killed', 'container.memory'],
  processes: [
    'has as many processes as it may have, so that programs in it could start no more',
    'container.pids',
  ],
} as const;

/**
 * For the counts of the watcher inside, from the first one on, of what was before. Who hears it is told of the first
 * time, and then only when it has happened twice as often: a program may try again without end.
 */
export function shortageWarning(
  what: keyof typeof shortages,
): (words: string) => (AgentStatus & { readonly kind: 'warning' }) | undefined {
  let before: number | undefined;
  let told = 0;
  return (words) => {
    const count = /^[0-9]{1,15}$/.test(words) ? Number(words) : 0;
    before ??= count;
    if (count - before < Math.max(1, 2 * told)) return undefined;
    told = count - before;
    const [how, key] = shortages[what];
    return {
      kind: 'warning',
      title: `The agent's container ${how}.`,
      description: `If the work needs more, raise \`${key}\` in the configuration.`,
    };
  };
}

/** With which the keeper ends the container for the sake of its budget: ENOSPC. Source: src/container/inside/keeper. */
export const diskFullStatus = 28;

/** What to do about a budget that is used up. */
export const diskRemedy =
  "remove what is not needed, or raise container.disk in the configuration; --fresh recreates the container, without what lies outside the workspace and the agent's data";

/** Whether the container's budget is used up, as far as that can be found out. */
export async function isDiskUsedUp(connection: Pick<SshConnection, 'run'>): Promise<boolean> {
  return (await textInside(connection, ['/run/cai/disk-use'])).trim() === '100';
}

/**
 * For the words of the watcher inside, which begin with the stage that is reached, in per cent, and the budget that the
 * container was given, in bytes: nothing else about it is to be believed from inside. `undefined`: there is nothing to
 * tell.
 */
export function diskWarning(
  words: string,
  bytes: number | undefined,
): (AgentStatus & { readonly kind: 'warning' }) | undefined {
  const [, stage] = /^(80|100)(?: |$)/.exec(words) ?? [];
  if (stage === undefined || bytes === undefined) return undefined;
  const mebibytes = bytes / 2 ** 20;
  const budget = mebibytes < 1024 ? `${Math.round(mebibytes)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`;
  const [what, until] =
    stage === '80'
      ? [`used 80 % of the ${budget}`, 'When that is used up']
      : [`used up the ${budget}`, 'Until it has less'];
  return {
    kind: 'warning',
    title: `The agent's container has ${what} of disk that it may have.`,
    description: `${until}, any process that writes there is ended. Remove what is not needed, or raise \`container.disk\` in the configuration.`,
  };
}
