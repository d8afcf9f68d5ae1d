/** A user's repository, with a commit, for tests of worktrees. */
import { cpSync, mkdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import { git } from '../../support/git';
import { newFolder } from '../../support/temp-folder';

/** What each user begins with, which is made once. */
let usual: string | undefined;

/** One user, with one repository. */
export class Repository {
  readonly folder = realpathSync(newFolder());
  readonly home = join(this.folder, 'home');
  readonly root = join(this.folder, 'shop');
  readonly host = new Host({ PATH: process.env.PATH, HOME: this.home });

  /** Its branch is `main`, with the files `file` and `.gitignore`. */
  constructor() {
    if (usual === undefined) {
      mkdirSync(this.root);
      git(this.root, 'init', '-q', '--template=', '-b', 'main');
      this.write('file', 'one\n');
      this.write('.gitignore', '.env\nnode_modules\n');
      this.commit('one');
      usual = newFolder();
      cpSync(this.root, usual, { recursive: true, preserveTimestamps: true });
    } else cpSync(usual, this.root, { recursive: true, preserveTimestamps: true });
    mkdirSync(this.home);
    writeFileSync(join(this.home, '.gitconfig'), '[user]\n\tname = t\n\temail = t@t\n');
  }

  /** Writes a file below the work tree, or below `root`. */
  write(path: string, content: string, root = this.root): void {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), content);
  }

  /** Commits all that there is. */
  commit(message: string, root = this.root): void {
    git(root, 'add', '-A');
    git(root, 'commit', '-q', '-m', message);
  }

  /** The branches, sorted. */
  get branches(): string[] {
    return git(this.root, 'branch', '--format=%(refname:short)').trim().split('\n');
  }

  /** Does something with git as if the repository's configuration were as git made it. */
  plainly(act: () => void): void {
    const [config, aside] = [join(this.root, '.git/config'), join(this.folder, 'config')];
    renameSync(config, aside);
    writeFileSync(config, '[core]\n\trepositoryformatversion = 0\n\tbare = false\n');
    try {
      act();
    } finally {
      renameSync(aside, config);
    }
  }

  /** The path of a program that leaves the file `mark` in `folder`, and prints what it reads. */
  get evil(): string {
    const program = join(this.folder, 'evil');
    writeFileSync(program, `#!/bin/sh\ntouch ${join(this.folder, 'mark')}\nexec cat\n`, { mode: 0o755 });
    return program;
  }
}
