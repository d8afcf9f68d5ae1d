/**
 * The copy of a workspace, for containers that cannot have the folder itself: it is made once, then belongs to the agents,
 * and what they commit is brought back on demand.
 */
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { within } from '../../system/time-limit';
import { printableLine, quoted } from '../../system/quoted';
import type { Progress } from '../image/progress';
import { printedBy } from '../ssh/short-command';
import type { RemoteProcess } from '../ssh/remote-process';
import type { SshConnection } from '../ssh/ssh';
import { takeBundle, type Taken } from './bundle';
import { stateOf, type State } from './difference';
import { recordsOf } from './records';
import { Repository } from './repository';
import { objectIn } from '../../system/unless';

export type { Brought } from './bundle';

interface Voice {
  readonly tell: (notice: string) => void;
  readonly progress: Progress;
}

type Connection = Pick<SshConnection, 'run'>;

/** With which the program inside ends where it finds no git. */
const noGitStatus = 3;
/** How long the program inside may take to end once it has given all, in milliseconds. */
const endMs = 2_000;
/** So many of the newest commits here are told, so that they are not sent back. */
const mostKnown = 2_000;

export class WorkspaceCopy {
  private constructor(
    private readonly repository: Repository,
    private readonly folder: string,
    private readonly state: Promise<State>,
  ) {}

  /**
   * Of the workspace at `root`, which is copied as it is now; `folder`: where the copy is in the container. Rejects with
   * `CaiError('WORKSPACE')` for one that cannot be copied.
   */
  static async of(root: string, folder: string, host: Host): Promise<WorkspaceCopy> {
    const repository = await Repository.at(root, host);
    const state = stateOf(repository);
    // It is waited for later.
    state.catch(() => undefined);
    return new WorkspaceCopy(repository, folder, state);
  }

  /** Makes the copy if it is missing, or was broken off; tells what is not as it may be expected. */
  async provide(connection: Connection, voice: Voice): Promise<void> {
    const looking = await this.#start(connection, 'look');
    const [, found, made = ''] = /^(\w+) ?(.*)/s.exec(await printedBy(looking)) ?? [];
    if (found === 'empty' || found === 'begun') await this.#make(connection, found === 'begun', voice);
    else if (found === 'copied') this.#compare(made, await this.state, voice);
    else
      voice.tell(
        `what the cluster has of ${this.#name} is not the copy that cai has made: nothing is changed there; "cai rm --volumes" removes it, and the next command copies the folder again`,
      );
  }

  /** Brings back what is committed there and not here, and the rest as its own commit. Rejects with `CaiError`. */
  async pull(connection: Connection, maxBytes: number): Promise<Taken> {
    const giving = await this.#start(connection, 'give', await this.#known());
    giving.stdin.end();
    const said = lastWordsOf(giving);
    try {
      const limited = giving.stdout.pipe(atMost(maxBytes));
      // Whoever reads it is told, also where nobody does at that moment.
      limited.on('error', () => undefined);
      return await takeBundle(this.repository, limited, maxBytes);
    } finally {
      giving.stdout.resume();
      // What failed inside is the cause of what did not arrive; it may also never end.
      await within(endMs, this.#ended(giving, said));
    }
  }

  /** Commits that are here, but for those that an earlier pull has brought: they are told again. */
  async #known(): Promise<string[]> {
    const format = '--format=%(objectname) %(refname)';
    const listing = ['for-each-ref', format, '--sort=-committerdate', `--count=${mostKnown}`];
    const own = (await this.repository.ask([...listing, 'refs/heads', 'refs/remotes'])).split('\n');
    const ids = own.filter((line) => !line.includes(' refs/remotes/cai/')).map((line) => line.split(' ')[0]!);
    return [...new Set([...ids, (await this.state).commit])].filter((id) => id !== '');
  }

  get #name(): string {
    return quoted(this.repository.root);
  }

  async #start(connection: Connection, task: string, more: readonly string[] = []): Promise<RemoteProcess> {
    const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
    return await connection.run({
      argv: ['/run/cai/copy', task, this.folder, ...more],
      cwd: '/',
      env: [
        ['PATH', path],
        ['LANG', 'C.UTF-8'],
      ],
    });
  }

  async #make(connection: Connection, isAgain: boolean, { tell, progress }: Voice): Promise<void> {
    const state = await this.state;
    if (isAgain) tell(`the copy of ${this.#name} in the cluster is not whole: it is made again`);
    progress.begin(`copying ${this.#name} into the cluster`);
    let megabytes = 0;
    let bytes = 0;
    const counted = new Transform({
      transform(part: Buffer, _encoding, done) {
        bytes += part.length;
        if (bytes >> 20 > megabytes) {
          megabytes = bytes >> 20;
          progress.report({ kind: 'log', text: `${megabytes} MiB` });
        }
        done(undefined, part);
      },
    });
    try {
      const taking = await this.#start(connection, 'take');
      taking.stdout.resume();
      const said = lastWordsOf(taking);
      const { commit, fingerprint } = state;
      const records = recordsOf(this.repository, state, JSON.stringify({ commit, fingerprint }));
      const sending = pipeline(Readable.from(records, { objectMode: false }), counted, taking.stdin);
      const [sent, ended] = await Promise.allSettled([sending, this.#ended(taking, said)]);
      if (sent.status === 'rejected' && sent.reason instanceof CaiError) throw sent.reason;
      // A program that needs no more has ended well, whatever was left to send.
      if (ended.status === 'rejected') throw ended.reason;
    } finally {
      progress.end();
    }
    if (state.inner.length > 0)
      tell(`not copied, as they are repositories of their own: ${state.inner.map(quoted).join(', ')}`);
    tell(`agents work in a copy of ${this.#name} in the cluster: "cai pull" brings their work back`);
  }

  async #ended(command: RemoteProcess, said: () => string): Promise<void> {
    const { status } = await command.exited;
    if (status === noGitStatus)
      throw new CaiError(
        'IMAGE',
        `${this.#name} cannot be copied, because there is no git in the image: add it to the Dockerfile that "dockerfile" in [image] names, and run "cai build"`,
      );
    if (status === 0) return;
    throw new CaiError('WORKSPACE', `the copy of ${this.#name} in the cluster has failed: ${said()}`);
  }

  /** What it was made from stands where agents can write. */
  #compare(made: string, now: State, { tell }: Voice): void {
    const { commit, fingerprint } = objectIn(made) ?? {};
    if (commit === now.commit && fingerprint === now.fingerprint) return;
    const short = (id: unknown) =>
      typeof id === 'string' && /^[0-9a-f]{40,64}$/.test(id) ? id.slice(0, 10) : '';
    const [before, here] = [short(commit) || 'no commit', short(now.commit) || 'no commit'];
    const what =
      commit === now.commit
        ? `${this.#name} has other uncommitted changes now than its copy in the cluster was made with`
        : `the copy of ${this.#name} in the cluster was made at ${before}, and here is ${here} now`;
    tell(
      `${what}: agents go on in the copy; to start again from here: cai pull, then cai rm --volumes, which removes it`,
    );
  }
}

function lastWordsOf({ stderr }: RemoteProcess): () => string {
  let last = '';
  stderr.on('data', (chunk: Buffer) => (last = `${last}${chunk.toString()}`.slice(-1_000)));
  return () => printableLine(last).slice(-300) || 'without a word';
}

function atMost(maxBytes: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(part: Buffer, _encoding, done) {
      bytes += part.length;
      if (bytes <= maxBytes) done(undefined, part);
      else
        done(
          new CaiError(
            'WORKSPACE',
            `what the container gives back is larger than ${maxBytes} bytes: if that is right, allow more with --limit`,
          ),
        );
    },
  });
}
