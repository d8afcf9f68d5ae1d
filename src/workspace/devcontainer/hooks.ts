/** Runs the commands of a development container inside it: once for each container, or at each start. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ProcessLocks } from '../../system/process-lock';
import { replaceFile } from '../../system/files/replace-file';
import type { Hook } from './metadata';
import { objectIn, unlessFails } from '../../system/unless';

export interface HookPlace {
  /** Its name; another container of that name takes its place. */
  readonly name: string;
  readonly id: string;
  /** When it was started last, in milliseconds. */
  readonly startedAt: number;
}

export interface HookRunner {
  /** Resolves with the exit status; `onLine` gets what the command prints. */
  run(argv: readonly [string, ...string[]], onLine: (line: string) => void): Promise<number>;
  begin(what: string): void;
  line(text: string): void;
  say(sentence: string): void;
  end(): void;
}

/** What was run, as our state folder has it: where no agent can write. */
interface Done {
  readonly id: string;
  readonly startedAt: number;
  /** Whether a command has failed: then no other runs in this container. */
  readonly isFailed: boolean;
}

/** Most of what a command that fails has printed last, in lines. */
const tailLines = 10;

/**
 * Runs what has not run yet in that container, in order. Of several processes one does, and the others wait. A command that
 * fails is told, and those after it do not run. Rejects as `run` does.
 */
export async function runHooks(
  hooks: readonly Hook[],
  place: HookPlace,
  stateFolder: string,
  runner: HookRunner,
): Promise<void> {
  const folder = join(stateFolder, 'hooks');
  const file = join(folder, `${place.name}.json`);
  if (hooks.length === 0 || dueHooks(hooks, place, doneIn(file)).length === 0) return;
  const locks = new ProcessLocks(folder);
  const onWait = (pid: number) => runner.begin(`waiting for process ${pid}, which sets up ${place.name}`);
  const run = async () => {
    const due = dueHooks(hooks, place, doneIn(file));
    if (due.length === 0) return;
    // Nothing is recorded of what is ended half-way: all of it runs again.
    const isFailed = !(await runAll(due, runner));
    const done: Done = { id: place.id, startedAt: place.startedAt, isFailed };
    replaceFile(file, `${JSON.stringify(done)}\n`);
  };
  await locks.hold(place.name, { pollMs: 100, onWait }, run).finally(() => runner.end());
}

function dueHooks(
  hooks: readonly Hook[],
  { id, startedAt }: HookPlace,
  done: Done | undefined,
): readonly Hook[] {
  if (done?.id !== id) return hooks;
  if (done.isFailed || done.startedAt === startedAt) return [];
  return hooks.filter(({ name }) => name === 'postStartCommand');
}

function doneIn(file: string): Done | undefined {
  return objectIn(unlessFails(() => readFileSync(file, 'utf8'))) as Done | undefined;
}

async function runAll(hooks: readonly Hook[], runner: HookRunner): Promise<boolean> {
  for (const { name, commands } of hooks) {
    const running = commands.map(async (command) => {
      const title = command.name === '' ? name : `${name} (${command.name})`;
      return { title, ...(await runOne(title, command.argv, runner)) };
    });
    const failed = (await Promise.all(running)).find(({ status }) => status !== 0);
    if (failed === undefined) continue;
    const { title, status, tail } = failed;
    runner.say(
      [
        `${title} of devcontainer.json failed with status ${status}, so nothing of it that comes later runs; it runs again in a new container (--fresh)`,
        ...tail,
      ].join('\n'),
    );
    return false;
  }
  return true;
}

async function runOne(title: string, argv: readonly [string, ...string[]], runner: HookRunner) {
  const tail: string[] = [];
  runner.begin(`running ${title}`);
  const status = await runner.run(argv, (line) => {
    tail.push(line);
    if (tail.length > tailLines) tail.shift();
    runner.line(line);
  });
  return { status, tail };
}
