/** A copy in a folder of this machine: the same programs, without a container. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { WorkspaceCopy } from '../../../src/container/copy/copy';
import type { RemoteCommand } from '../../../src/container/ssh/remote-command';
import type { RemoteProcess } from '../../../src/container/ssh/remote-process';
import { Host } from '../../../src/system/host';
import { git } from '../../support/git';
import { newFolder } from '../../support/temp-folder';

const program = resolve(__dirname, '../../../src/container/inside/copy');

/** A workspace with a commit, and an empty folder for the copy. */
export class LocalCopy {
  readonly home = newFolder();
  readonly host = new Host({ HOME: this.home, PATH: process.env.PATH });
  readonly root = join(this.home, 'work');
  readonly folder = newFolder();
  /** What the user was told. */
  readonly told: string[] = [];
  /** What the container gives back, in place of our program. */
  answer: Buffer | undefined;
  readonly #voice = {
    tell: (notice: string) => void this.told.push(notice),
    progress: { begin: () => undefined, report: () => undefined, say: () => undefined, end: () => undefined },
  };

  /** `path` is where the container finds programs. */
  constructor(private readonly path = process.env.PATH!) {
    mkdirSync(this.root);
    git(this.root, 'init', '--quiet', '--template=', '--initial-branch=main');
  }

  /** `run` as that of an SSH connection. */
  readonly connection = {
    run: async (given: RemoteCommand | Promise<RemoteCommand>): Promise<RemoteProcess> => {
      const { argv } = await given;
      const env = { PATH: this.path, HOME: this.home, LANG: 'C.UTF-8' };
      const isAnswered = this.answer !== undefined && argv[1] === 'give';
      const [file, args] = isAnswered ? ['cat', []] : ['/usr/bin/perl', [program, ...argv.slice(1)]];
      const child = spawn(file, args, { cwd: '/', env });
      if (isAnswered) child.stdin.write(this.answer);
      child.stdin.on('error', () => undefined);
      const exited = once(child, 'close').then(([status]) => ({ status: Number(status) }));
      const { stdin, stdout, stderr } = child;
      return {
        ...{ stdin, stdout, stderr, exited },
        signal: () => undefined,
        resize: () => undefined,
        get hasEnded() {
          return child.exitCode !== null;
        },
      };
    },
  };

  /** As each command that is started does first. */
  async provide(): Promise<void> {
    const copy = await WorkspaceCopy.of(this.root, this.folder, this.host);
    await copy.provide(this.connection, this.#voice);
  }

  /** As `cai pull` does. */
  async pull(maxBytes = 2 ** 30) {
    const copy = await WorkspaceCopy.of(this.root, this.folder, this.host);
    return await copy.pull(this.connection, maxBytes);
  }
}
