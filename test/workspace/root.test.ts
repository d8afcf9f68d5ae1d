import { execFileSync, type StdioOptions } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { Host } from '../../src/system/host';
import { quoted } from '../../src/system/quoted';
import { findWorkspace, rootNotice } from '../../src/workspace/root';
import { newFolder } from '../support/temp-folder';

/** Giving a file to somebody else takes root. */
const testAsRoot = process.getuid?.() === 0 ? test : test.skip;
const somebodyElse = 54_321;

let place: string;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  place = newFolder();
  env = { PATH: process.env.PATH, HOME: folder('home') };
});

describe('findWorkspace', () => {
  describe('in a git work tree', () => {
    test('takes the top level', async () => {
      const repository = newRepository('repository');
      const cwd = folder('repository/src/deep');

      const workspace = await findWorkspace(cwd, { host: new Host(env) });

      const { dev, ino } = statSync(repository, { bigint: true });
      const identity = `${dev}:${ino}`;
      expect(workspace).toEqual({ root: repository, spelledRoot: repository, cwd, realCwd: cwd, identity });
    });

    test('takes the nearest of nested repositories', async () => {
      newRepository('outer');
      const inner = newRepository('outer/inner');

      expect(await rootOf(inner)).toBe(inner);
    });

    test('takes a linked worktree for a workspace of its own', async () => {
      const repository = newRepository('repository');
      git(repository, 'worktree', 'add', '-q', join(place, 'linked'));

      expect(await rootOf(folder('linked/src'))).toBe(join(place, 'linked'));
    });

    test('takes a submodule for a workspace of its own', async () => {
      const library = newRepository('library');
      const repository = newRepository('repository');
      const add = ['submodule', '--quiet', 'add', library, 'modules/library'];
      git(repository, '-c', 'protocol.file.allow=always', ...add);

      expect(await rootOf(join(repository, 'modules/library'))).toBe(join(repository, 'modules/library'));
    });

    test('takes the folder of a `.git` link to a git folder', async () => {
      const repository = newRepository('repository');
      symlinkSync(join(repository, '.git'), join(folder('other'), '.git'));

      expect(await rootOf(folder('other/src'))).toBe(join(place, 'other'));
    });

    test('is not led elsewhere by inherited GIT_DIR and GIT_WORK_TREE', async () => {
      const repository = newRepository('repository');
      const other = newRepository('other');
      env = {
        ...env,
        GIT_DIR: join(other, '.git'),
        GIT_WORK_TREE: place,
        GIT_CEILING_DIRECTORIES: repository,
      };

      expect(await rootOf(folder('repository/src'))).toBe(repository);
    });

    test('prefers it to a nearer marker', async () => {
      const repository = newRepository('repository');
      mark('repository/sub');

      expect(await rootOf(folder('repository/sub/src'))).toBe(repository);
    });
  });

  describe('does not believe', () => {
    test.each(['/', '..', '../..'])('a core.worktree of %s', async (worktree) => {
      const repository = newRepository('parent/repository');
      git(repository, 'config', 'core.worktree', worktree === '/' ? '/' : join(repository, worktree));
      const cwd = folder('parent/repository/src');

      expect(gitTopLevel(cwd)).not.toBe(repository);
      expect(await rootOf(cwd)).toBe(cwd);
    });

    test('a core.worktree elsewhere, though that holds the same `.git`', async () => {
      const repository = newRepository('repository');
      const elsewhere = folder('elsewhere');
      symlinkSync(join(repository, '.git'), join(elsewhere, '.git'));
      git(repository, 'config', 'core.worktree', elsewhere);

      expect(gitTopLevel(repository)).toBe(elsewhere);
      expect(await rootOf(repository)).toBe(repository);
    });

    test('a crafted `.git` file whose git folder names the parent as work tree', async () => {
      const cwd = folder('parent/crafted');
      execFileSync('git', ['init', '-q', '--bare', join(cwd, 'hidden')], { env });
      git(join(cwd, 'hidden'), 'config', 'core.bare', 'false');
      git(join(cwd, 'hidden'), 'config', 'core.worktree', join(place, 'parent'));
      writeFileSync(join(cwd, '.git'), 'gitdir: hidden\n');

      expect(gitTopLevel(cwd)).toBe(join(place, 'parent'));
      expect(await rootOf(cwd)).toBe(cwd);
    });

    test('the same trick where the parent is a repository of its own', async () => {
      const parent = newRepository('parent');
      const crafted = newRepository('parent/crafted');
      git(crafted, 'config', 'core.worktree', parent);

      expect(gitTopLevel(crafted)).toBe(parent);
      expect(await rootOf(crafted)).toBe(crafted);
    });

    test('a folder that holds a bare repository', async () => {
      const bare = folder('bare.git');
      execFileSync('git', ['init', '-q', '--bare', bare], { env });

      expect(await rootOf(join(bare, 'refs'))).toBe(join(bare, 'refs'));
    });

    testAsRoot('a repository of somebody else', async () => {
      const repository = newRepository('repository');
      const cwd = folder('repository/src');
      chownSync(repository, somebodyElse, somebodyElse);
      chownSync(join(repository, '.git'), somebodyElse, somebodyElse);

      expect(() => gitTopLevel(cwd)).toThrow('dubious ownership');
      const workspace = await findWorkspace(cwd, {
        host: new Host({ ...env, LC_ALL: 'de_DE.UTF-8', LANGUAGE: 'de' }),
      });
      expect(workspace).toMatchObject({ root: cwd, foreignRepository: repository });
      expect(rootNotice(workspace)).toMatch(
        /^the workspace is ".*\/src" alone, .* safe.directory ".*\/repository"$/,
      );
      expect(rootNotice(await findWorkspace(repository, { host: new Host(env) }))).toBeUndefined();
    });

    testAsRoot('nor complains of, a repository of somebody else that could not be a workspace', async () => {
      const cwd = folder('home/project');
      newRepository('home');
      for (const each of ['home', 'home/.git']) chownSync(join(place, each), somebodyElse, somebodyElse);

      expect(() => gitTopLevel(cwd)).toThrow('dubious ownership');
      expect(await findWorkspace(cwd, { host: new Host(env) })).not.toHaveProperty('foreignRepository');
    });

    test('a repository of the whole home folder', async () => {
      newRepository('home');
      const cwd = folder('home/project/src');

      expect(gitTopLevel(cwd)).toBe(join(place, 'home'));
      expect(await rootOf(cwd)).toBe(cwd);
    });

    test('an answer that newlines make ambiguous', async () => {
      newRepository('two\nlines');
      const cwd = folder('two\nlines/src');

      expect(await rootOf(cwd)).toBe(cwd);
    });
  });

  describe('when git is of no help', () => {
    test('does without a git that is not installed', async () => {
      newRepository('repository');
      const cwd = folder('repository/src');

      const { root } = await findWorkspace(cwd, { host: new Host({ ...env, PATH: folder('programs') }) });

      expect(root).toBe(cwd);
    });

    test('kills a git that hangs', async () => {
      const cwd = repositoryFolder();
      const fifo = join(place, 'alive');
      execFileSync('mkfifo', [fifo]);
      // Ends when the last process that has the pipe open for writing is gone.
      const ended = readFile(fifo);

      expect(await rootByHanging(cwd, `trap '' TERM; exec 3>${fifo}; echo > begun; exec sleep 600`)).toBe(
        cwd,
      );
      await expect(ended).resolves.toHaveLength(0);
    });

    test('does not wait for what a hanging git has started', async () => {
      const cwd = repositoryFolder();

      expect(await rootByHanging(cwd, 'sleep 600 & echo $! > begun; wait')).toBe(cwd);
      process.kill(Number(readFileSync(join(place, 'begun'), 'utf8')));
    });

    test('is not asked where nothing is named `.git`', async () => {
      const seen = join(place, 'seen');

      await findWorkspace(folder('project/src'), { host: withGit(`: > ${seen}`) });

      expect(existsSync(seen)).toBe(false);
    });

    test('gives git no input and no GIT_ variable', async () => {
      const cwd = repositoryFolder();
      const seen = join(place, 'seen');
      env = { ...env, GIT_DIR: '/x', GITHUB: 'kept' };

      await findWorkspace(cwd, { host: withGit(`{ cat; env; } > ${seen}`) });

      expect(readFileSync(seen, 'utf8')).toMatch(/^GITHUB=kept$/m);
      expect(readFileSync(seen, 'utf8')).not.toMatch(/^GIT_/m);
    });
  });

  describe('with a marker', () => {
    test('takes the nearest marked folder', async () => {
      mark('outer');
      mark('outer/inner');

      expect(await rootOf(folder('outer/inner/src/deep'))).toBe(join(place, 'outer/inner'));
    });

    test.each([
      ['takes a marked folder itself', 'project/.containai/config.toml', 'project'],
      ['passes over a marker in the home folder', 'home/.containai/config.toml', 'home/project'],
      ['passes over a `.containai` without a config file', 'project/.containai/x', 'project/src'],
    ])('%s', async (_, file, cwd) => {
      folder(dirname(file));
      writeFileSync(join(place, file), '');

      expect(await rootOf(folder(cwd))).toBe(join(place, cwd));
    });

    test('passes over links', async () => {
      mark('real');
      symlinkSync(join(place, 'real/.containai'), join(folder('project'), '.containai'));

      expect(await rootOf(folder('project/src'))).toBe(join(place, 'project/src'));
    });

    testAsRoot.each(['.containai', '.containai/config.toml'])(
      'passes over a %s of somebody else',
      async (owned) => {
        mark('outer');
        mark('outer/inner');
        chownSync(join(place, 'outer/inner', owned), somebodyElse, somebodyElse);

        expect(await rootOf(folder('outer/inner/src'))).toBe(join(place, 'outer'));
      },
    );
  });

  describe('through links', () => {
    test('keeps the spelling of a root below a linked folder', async () => {
      const repository = newRepository('repository');
      folder('repository/src');
      symlinkSync(place, join(folder('elsewhere'), 'link'));
      const spelledRoot = join(place, 'elsewhere/link/repository');

      expect(await findWorkspace(join(spelledRoot, 'src'), { host: new Host(env) })).toMatchObject({
        root: repository,
        spelledRoot,
        cwd: join(spelledRoot, 'src'),
        realCwd: join(repository, 'src'),
      });
    });

    test('keeps the spelling of a root that is a link', async () => {
      const repository = newRepository('repository');
      symlinkSync(repository, join(place, 'link'));

      const workspace = await findWorkspace(join(place, 'link'), { host: new Host(env) });

      expect(workspace).toMatchObject({ root: repository, spelledRoot: join(place, 'link') });
    });

    test('finds the spelling of the root also above a link inside it', async () => {
      const repository = newRepository('repository');
      folder('repository/packages/one');
      symlinkSync('packages/one', join(repository, 'current'));
      symlinkSync(repository, join(place, 'link'));

      expect(await findWorkspace(join(place, 'link/current'), { host: new Host(env) })).toMatchObject({
        root: repository,
        spelledRoot: join(place, 'link'),
        cwd: join(place, 'link/current'),
        realCwd: join(repository, 'packages/one'),
      });
    });

    test('has no spelling but the real one for a link into the middle', async () => {
      const repository = newRepository('repository');
      symlinkSync(folder('repository/src'), join(place, 'link'));

      expect(await findWorkspace(join(place, 'link'), { host: new Host(env) })).toMatchObject({
        root: repository,
        spelledRoot: repository,
        cwd: join(place, 'link'),
      });
    });

    test('normalises the spelling', async () => {
      const repository = newRepository('repository');

      const { cwd } = await findWorkspace(`${place}//x/../repository/./`, { host: new Host(env) });

      expect(cwd).toBe(repository);
    });
  });

  describe('refuses', () => {
    const windows =
      "is a path of Windows: run the editor's server in WSL, and open the folder there, by its path of Linux";

    test.each([
      ['', 'is not an absolute path: send the full path of the folder'],
      ['src', 'is not an absolute path: send the full path of the folder'],
      ['./src', 'is not an absolute path: send the full path of the folder'],
      ...['C:\\src', 'd:/src', '\\\\wsl$\\Debian\\src', '\\\\wsl.localhost\\Debian\\src'].map(
        (path): [string, string] => [path, windows],
      ),
      ['/no/such/folder', 'does not exist: create it, or open another folder'],
      ['/nul\0', 'cannot be the path of a folder'],
      ['/no/\u202e', 'does not exist: create it, or open another folder'],
      [__filename, 'is not a folder: open the folder that it lies in'],
      [join(__filename, 'x'), 'is not a folder: open the folder that it lies in'],
      ['/', "cannot be a workspace, because it is the whole file system: open a project's folder instead"],
      ['/tmp', "cannot be a workspace, because it is a system folder: open a project's folder instead"],
      [
        userInfo().homedir,
        "cannot be a workspace, because it is the home folder: open a project's folder instead",
      ],
    ])('%j', async (cwd, why) => {
      await expect(rootOf(cwd)).rejects.toMatchObject({
        code: 'WORKSPACE',
        rpcCode: -32602,
        message: `${quoted(cwd)} ${why}`,
      });
    });

    test('its own config folder and what is below', async () => {
      const cwd = folder('home/.config/containai/sub');

      await expect(rootOf(cwd)).rejects.toThrow(/it lies in cai's own folder .*\.config\/containai:/);
    });

    test('a repository that holds its own config folder, but not a project in it', async () => {
      const repository = newRepository('dotfiles');
      env = { ...env, XDG_CONFIG_HOME: join(repository, 'config') };
      const project = folder('dotfiles/project');

      await expect(rootOf(repository)).rejects.toThrow("it holds cai's own folder");
      expect(await rootOf(project)).toBe(project);
    });
  });
});

async function rootOf(cwd: string): Promise<string> {
  return (await findWorkspace(cwd, { host: new Host(env) })).root;
}

/** The same with a git that hangs when it has written a line into the file `begun`, which it gets the time for. */
async function rootByHanging(cwd: string, body: string): Promise<string> {
  const host = withGit(`cd ${place}; ${body}`);
  let root = '';
  for (let ms = 500; !hasBegun(); ms *= 2)
    ({ root } = await findWorkspace(cwd, { host, untilMs: performance.now() + ms }));
  return root;
}

function hasBegun(): boolean {
  const file = join(place, 'begun');
  return existsSync(file) && readFileSync(file, 'utf8').endsWith('\n');
}

function folder(name: string): string {
  const path = join(place, name);
  mkdirSync(path, { recursive: true });
  return path;
}

/** A folder that git is asked about. */
function repositoryFolder(): string {
  folder('repository/.git');
  return join(place, 'repository');
}

function mark(name: string): void {
  writeFileSync(join(folder(`${name}/.containai`), 'config.toml'), '');
}

function newRepository(name: string): string {
  const path = folder(name);
  git(path, 'init', '-q');
  const author = ['-c', 'user.name=t', '-c', 'user.email=t@example.org'];
  git(path, ...author, 'commit', '-q', '--allow-empty', '-m', 'first');
  return path;
}

function git(cwd: string, ...args: string[]): string {
  const stdio: StdioOptions = ['ignore', 'pipe', 'pipe'];
  return execFileSync('git', ['-C', cwd, ...args], { env, encoding: 'utf8', stdio });
}

/** What git itself believes. */
function gitTopLevel(cwd: string): string {
  return git(cwd, 'rev-parse', '--show-toplevel').trim();
}

/** A machine whose git is this script. */
function withGit(body: string): Host {
  const programs = folder('programs');
  writeFileSync(join(programs, 'git'), `#!/bin/sh\n${body}\n`);
  chmodSync(join(programs, 'git'), 0o755);
  return new Host({ ...env, PATH: `${programs}:${env.PATH}` });
}
