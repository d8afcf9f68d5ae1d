import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProcessLocks } from '../../src/system/process-lock';
import { podsOf } from './cluster';
import { isKubernetes } from './engines';
import type { Ended, Running } from './running';
import { Cai, docker, folder, newWorkspace, type RunOptions } from './support';

/** How long a first use may take, in milliseconds: it builds the image if there is none. */
export const buildTimeoutMs = 900_000;

/** How a run in a place differs from the usual. */
export interface PlaceRun extends RunOptions {
  /** Options of `cai exec` besides the workspace. */
  readonly options?: readonly string[];
  /** Its whole stdin; default: none. */
  readonly input?: string | Buffer;
}

/** A container of a place. */
export interface PlaceContainer {
  /** As the engine knows it. */
  readonly id: string;
  /** In the engine's words. */
  readonly startedAt: string;
  readonly isRunning: boolean;
  /** Its IP address; empty: it has none. */
  readonly address: string;
}

/** A workspace and the `cai` that works in it. */
export class Place {
  /** `options` are those of `cai exec` for every run: `--agent`. */
  constructor(
    /** Whose it is. */
    readonly cai = new Cai(),
    /** Its folder. */
    readonly workspace = newWorkspace(),
    private readonly options: readonly string[] = [],
  ) {}

  /** Makes its container, with the image if need be. Returns itself. */
  async opened(): Promise<this> {
    await onceInRun(`opened${this.options.join('')}`, () => this.#withImage());
    await this.start(['true']).succeeds(buildTimeoutMs);
    return this;
  }

  async #withImage(): Promise<void> {
    // Those who test a cluster at the same time build the same images.
    const lock = await new ProcessLocks(join(tmpdir(), 'cai-test-images')).take('open', { pollMs: 100 });
    const build = async (...more: readonly string[]) =>
      await this.cai.start(['build', ...more, ...this.options]).succeeds(buildTimeoutMs);
    try {
      const loud = ['exec', '--workspace', this.workspace, ...this.options, '--', 'true'];
      // Nothing builds images on a cluster.
      const { stderr } = await (isKubernetes
        ? build('--push')
        : this.cai.start(loud).succeeds(buildTimeoutMs));
      // `cai` uses an image of another version all the same, and each test would see that notice.
      if (stderr.includes('was built by another version')) await build();
    } finally {
      lock?.release();
    }
  }

  /** Starts a command in the container; its stdin is open. */
  start(command: readonly string[], { options = [], ...run }: PlaceRun = {}): Running {
    return this.cai.start(this.args(command, options), run);
  }

  /** Runs a command in the container to its end, whatever that is. */
  async run(command: readonly string[], { input = '', ...run }: PlaceRun = {}): Promise<Ended> {
    const program = this.start(command, run);
    program.child.stdin.end(input);
    return await program.ends();
  }

  /** What a command prints that succeeds and complains of nothing, without the newlines at its end. */
  async prints(command: readonly string[], run: PlaceRun = {}): Promise<string> {
    const { status, stdout, stderr } = await this.run(command, run);
    if (status !== 0 || stderr !== '') throw new Error(`${command.join(' ')}: ${status}\n${stderr}`);
    return stdout.toString().replace(/\n+$/, '');
  }

  /** The arguments of `cai` for a command. */
  args(command: readonly string[], options: readonly string[] = []): string[] {
    return ['exec', '--quiet', '--workspace', this.workspace, ...this.options, ...options, '--', ...command];
  }

  /** Ids of the containers of this workspace, whatever their state. */
  async containers(): Promise<string[]> {
    const filter = `label=containai.workspace=${this.workspace}`;
    const ids = await docker('ps', '--all', '--quiet', '--no-trunc', '--filter', filter);
    return ids.split('\n').filter((id) => id !== '');
  }

  /** What whichever engine tells of its only container. */
  async container(): Promise<PlaceContainer> {
    if (!isKubernetes) {
      const fields =
        '{{.ID}} {{.State.StartedAt}} {{.State.Running}} {{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}';
      const [id, startedAt, isRunning, address = ''] = (await this.inspect(fields)).split(' ');
      return { id: id!, startedAt: startedAt!, isRunning: isRunning === 'true', address };
    }
    const [pod, ...more] = podsOf(this.workspace);
    if (pod === undefined || more.length > 0) throw new Error(`not one pod, but ${more.length + 1}`);
    const { phase, startTime = '', podIP = '' } = pod.status;
    return { id: pod.metadata.name, startedAt: startTime, isRunning: phase === 'Running', address: podIP };
  }

  /** Its only container, as `docker inspect` tells it with a Go template. */
  async inspect(template: string): Promise<string> {
    const [id, ...more] = await this.containers();
    if (id === undefined || more.length > 0) throw new Error(`not one container, but ${more.length + 1}`);
    return await docker('inspect', '--format', template, id);
  }
}

/** Does something once in a run, in whichever test file comes first; the others wait for it. */
export async function onceInRun(name: string, action: () => Promise<void> | void): Promise<void> {
  const run = process.env.CAI_TEST_RUN ?? folder;
  const isDone = join(run, name);
  if (existsSync(isDone)) return;
  const lock = await new ProcessLocks(run).take(name, { pollMs: 100 });
  try {
    if (existsSync(isDone)) return;
    await action();
    writeFileSync(isDone, '');
  } finally {
    lock?.release();
  }
}

/** Does this for each of the items, no more than four at once; the results are in the order of the items. */
export async function forEachOf<T, R>(items: readonly T[], action: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const rest = [...items.entries()];
  const worker = async (): Promise<void> => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift())
      results[next[0]] = await action(next[1]);
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  return results;
}
