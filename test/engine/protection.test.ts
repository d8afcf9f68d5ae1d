/** What agents cannot write, with real git and real tools. */
import { execFileSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { Place, buildTimeoutMs } from './place';
import { git, nameAuthor, newRepository } from './repository';
import { Cai, folder, newWorkspace, ownFile, ownFolder } from './support';

let cai: Cai;

beforeAll(async () => {
  cai = new Cai();
  nameAuthor(cai);
  await new Place(cai).opened();
}, buildTimeoutMs);

/** Everything on the list, in a repository. */
const listed = {
  folders: ['.husky', '.vscode', '.idea', '.zed', '.devcontainer', '.containai', '.cursor', '.codex'],
  below: ['.claude/hooks', '.claude/commands', '.claude/agents', '.github/hooks', '.git/hooks'],
  files: ['.envrc', 'mise.toml', '.mcp.json', '.claude/settings.json', '.git/config', '.git/info/attributes'],
};

/** What is done to each path, with `$p`: the path, `$d`: the folder in which it lies. */
const attacks: Readonly<Record<string, string>> = {
  written: 'if [ -d "$p" ]; then echo evil > "$p/evil"; else echo evil > "$p"; fi',
  'renamed aside': 'mv "$p" "$p.aside"',
  removed: 'rm -rf "$p"',
  'replaced by a link': 'ln -sfn /tmp "$p.link" && mv -T "$p.link" "$p"',
  'replaced by a file': 'echo evil > "$p.new" && mv -fT "$p.new" "$p"',
  'linked over': 'echo evil > "$p.new" && ln -fT "$p.new" "$p"',
  exchanged:
    "python3 -c \"import ctypes, sys; c = ctypes.CDLL(None); open(sys.argv[1] + '.x', 'w'); sys.exit(c.renameat2(-100, (sys.argv[1] + '.x').encode(), -100, sys.argv[1].encode(), 2))\" \"$p\"",
  'moved with its folder':
    'case "$d" in .|"$TOP") false ;; *) mv "$d" "$d.aside" && mkdir -p "$d" && cp -r "$d.aside/." "$d" ;; esac',
};

/** Tries all of it on each path; what succeeded. */
async function attacked(place: Place, paths: readonly string[]): Promise<string[]> {
  const steps = Object.entries(attacks).map(
    ([name, script]) => `if (${script}) 2> /dev/null; then echo "$p ${name}"; fi`,
  );
  const script = `TOP=$PWD\nfor p in ${paths.join(' ')}; do d=$(dirname "$p")\n${steps.join('\n')}\ndone`;
  return (await place.run(['sh', '-c', script])).stdout.toString().split('\n').filter((line) => line !== ''); // prettier-ignore
}

/** All that lies in a folder, as text that differs when anything does. */
function stateOf(path: string): string {
  return execFileSync('sh', ['-c', 'find "$1" -exec stat -c "%n %F %i" {} + -type f -exec sha256sum {} + | sort', 'sh', path]).toString(); // prettier-ignore
}

describe('what is protected', () => {
  test('cannot be changed in any way in a repository', async () => {
    const place = new Place(cai, newRepository(cai, 'all'));
    for (const path of listed.files.filter((each) => each !== '.git/config'))
      ownFile(join(place.workspace, path), 'x\n');
    for (const path of [...listed.folders, ...listed.below.slice(0, 4)])
      ownFile(join(place.workspace, path, 'file'), 'x\n');
    await place.opened();
    const paths = [...listed.folders, ...listed.below, ...listed.files];
    const before = paths.map((path) => stateOf(join(place.workspace, path)));

    expect(await attacked(place, paths)).toEqual([]);
    expect(paths.map((path) => stateOf(join(place.workspace, path)))).toEqual(before);
  });

  test('cannot be changed in a submodule, nor in the repository around it', async () => {
    const inner = newRepository(cai, 'module');
    const outer = newRepository(cai, 'around');
    git(cai, '-C', outer, 'submodule', '--quiet', 'add', inner, 'sub');
    const own = `${outer}/.git/modules/sub`;
    const inSubmodule = new Place(cai, join(outer, 'sub'));
    await inSubmodule.opened();
    expect(await attacked(inSubmodule, ['.git', `${own}/config`, `${own}/hooks`])).toEqual([]);

    const around = new Place(cai, outer);
    await around.opened();
    expect(await attacked(around, [`.git/modules/sub/config`, `.git/modules/sub/hooks`])).toEqual([]);
  });

  test('cannot be changed in a linked worktree, nor the state of others', async () => {
    const main = newRepository(cai, 'common');
    ownFolder(join(folder, 'linked'));
    for (const name of ['one', 'two'])
      git(cai, '-C', main, 'worktree', 'add', '--quiet', join(folder, 'linked', name));
    const place = new Place(cai, join(folder, 'linked/one'));
    await place.opened();
    const common = `${main}/.git`;
    const paths = ['config', 'hooks', 'worktrees', 'worktrees/two', 'worktrees/two/HEAD', 'worktrees/one/commondir', 'worktrees/one/gitdir', 'worktrees/one'].map((path) => `${common}/${path}`); // prettier-ignore

    // What is in the own folder may be written.
    expect(await attacked(place, ['.git', ...paths])).toEqual([`${common}/worktrees/one written`]);
  });

  test('is told where it is a link, which is not followed', async () => {
    const place = new Place(cai, newWorkspace('linked-vscode'));
    execFileSync('ln', ['-s', cai.home, join(place.workspace, '.vscode')]);
    const { stderr } = await cai.run(['exec', '-w', place.workspace, '--', 'ls', '.vscode/']);
    expect(stderr).toContain(`"${place.workspace}/.vscode" cannot be protected from the agent`);
    expect(stderr).toContain("cannot access '.vscode/'");
  });
});

describe('a container', () => {
  test('is made anew for what has come into being, but not while a command runs in it', async () => {
    const place = new Place(cai);
    await place.opened();
    const running = place.start(['sh', '-c', 'echo ready; cat']);
    await running.says('ready');
    const before = await place.containers();
    ownFile(join(place.workspace, '.vscode/tasks.json'), '{}');

    const { stderr } = await cai.run(['exec', '-w', place.workspace, '--', 'true']);
    expect(stderr).toBe('');
    expect(await place.containers()).toEqual(before);

    running.child.stdin.end();
    await running.ends();
    expect((await place.run(['sh', '-c', 'echo evil > .vscode/tasks.json'])).status).not.toBe(0);
    expect(await place.containers()).not.toEqual(before);
  });

  test('that is stopped starts although something protected is gone', async () => {
    const place = new Place(cai);
    ownFile(join(place.workspace, '.envrc'), '');
    await place.opened();
    expect(await cai.run(['stop', '--workspace', place.workspace])).toMatchObject({ status: 0 });
    execFileSync('rm', [join(place.workspace, '.envrc')]);

    expect(await place.prints(['echo', 'works'])).toBe('works');
  });

  test('in which something protected was replaced from outside is told of, and made anew when idle', async () => {
    const place = new Place(cai, newRepository(cai, 'replaced'));
    await place.opened();
    const running = place.start(['sh', '-c', 'echo ready; cat']);
    await running.says('ready');
    git(cai, '-C', place.workspace, 'config', 'some.key', 'value');

    const { stderr } = await cai.run(['exec', '-w', place.workspace, '--', 'true']);
    expect(stderr).toContain(`"${place.workspace}/.git/config" was replaced on this machine`);

    running.child.stdin.end();
    await running.ends();
    expect((await place.run(['git', 'config', 'another.key', 'value'])).status).not.toBe(0);
  });

  test('is writable for those who ask, and for them alone', async () => {
    const place = new Place(cai, newRepository(cai, 'writable'));
    const writable = { options: ['--writable'] };
    await place.prints(['git', 'config', 'some.key', 'inside'], writable);
    expect(git(cai, '-C', place.workspace, 'config', 'some.key')).toBe('inside');

    const running = place.start(['sh', '-c', 'echo ready; cat'], writable);
    await running.says('ready');
    const refused = await place.run(['true']);
    expect(refused.status).toBe(11);
    expect(refused.stderr).toContain('can write what this machine would execute');
    running.child.stdin.end();
    await running.ends();

    expect((await place.run(['git', 'config', 'some.key', 'again'])).status).not.toBe(0);
  });

  test('is writable where the user has switched protection off, and covers what the user adds', async () => {
    const off = new Cai('[protect]\noff = true\n');
    const first = new Place(off, newRepository(cai, 'off'));
    await first.prints(['git', 'config', 'some.key', 'inside']);

    const more = new Cai('[protect]\npaths = ["tools/*.sh"]\n');
    const second = new Place(more, newWorkspace('more'));
    ownFile(join(second.workspace, 'tools/run.sh'), '');
    expect(await attacked(second, ['tools/run.sh'])).toEqual([]);
  });
});

/** A day's work; prints each command that fails. */
const work = `
t() { "$@" > /tmp/out 2>&1 || { echo "FAILED: $*"; cat /tmp/out; }; }
export GIT_EDITOR=true
t git switch -c feature; echo 1 > a; t git add a; t git commit -m a; echo 2 > a; t git stash; t git stash pop; t git commit -am b
t git tag v0; t git tag v1; t git tag -d v1; t git branch other; t git branch -d other; t git push; t git fetch --prune; t git switch theirs
t git switch -; t git commit --amend -m b2; t git rebase start; t git merge theirs; t git cherry-pick --allow-empty --keep-redundant-commits v0; t git reset --hard HEAD~1
t git revert --no-edit HEAD; t git notes add -m note; t git bisect start; t git bisect reset; t git gc; t git pull origin theirs; t git log -1; t git blame file; t git status`;

describe("a day's work with git", () => {
  /** A clone whose origin lies in it, so that it can be reached from inside. */
  function clone(name: string): string {
    const path = newRepository(cai, name);
    git(cai, 'clone', '--quiet', '--bare', path, join(path, '.origin'));
    git(cai, '-C', join(path, '.origin'), 'branch', 'theirs');
    ownFile(join(path, '.git/info/exclude'), '.origin\n');
    git(cai, '-C', path, 'remote', 'add', 'origin', join(path, '.origin'));
    git(cai, '-C', path, 'branch', 'start');
    git(cai, '-C', path, 'fetch', '--quiet', 'origin');
    return path;
  }

  test('succeeds in a repository', async () => {
    const place = new Place(cai, clone('day'));
    expect(await place.prints(['sh', '-c', work])).toBe('');
    expect(git(cai, '-C', place.workspace, 'log', '-1', '--format=%s', 'origin/feature')).toBe('b');
    expect(
      await place.prints(['sh', '-c', 'git worktree add -q /tmp/tree 2>&1 && git worktree remove /tmp/tree']),
    ).toBe('');
  });

  test('succeeds in a linked worktree', async () => {
    ownFolder(join(folder, 'linked'));
    const main = clone('day-common');
    const tree = join(folder, 'linked/day');
    git(cai, '-C', main, 'worktree', 'add', '--quiet', tree);
    // The origin is below the main tree, which is not mounted.
    git(cai, '-C', main, 'remote', 'set-url', 'origin', join(tree, '.origin'));
    renameSync(join(main, '.origin'), join(tree, '.origin'));
    expect(await new Place(cai, tree).prints(['sh', '-c', work])).toBe('');
  });

  test('says what it cannot do', async () => {
    const place = new Place(cai, clone('cannot'));
    const failing = async (command: string) => (await place.run(['sh', '-c', command])).stderr;
    for (const command of ['git config a.b c', 'git remote add x y', 'git branch -m other'])
      expect(await failing(command)).toMatch(/could not (write|lock) config file/);
    const { status, stderr } = await place.run(['sh', '-c', 'git switch -c new && git push -u origin new']);
    expect([status, stderr]).toEqual([0, expect.stringContaining('could not write config file .git/config')]);
    expect(await failing('git switch -c tracking --track origin/theirs')).toContain('config');
  });

  test('runs hooks that are there, of husky and of pre-commit', async () => {
    const path = clone('hooks');
    ownFile(join(path, '.husky/pre-commit'), '#!/bin/sh\necho husky ran\n');
    ownFile(join(path, '.git/hooks/commit-msg'), '#!/bin/sh\necho pre-commit ran\n');
    execFileSync('chmod', ['755', join(path, '.husky/pre-commit'), join(path, '.git/hooks/commit-msg')]);
    const place = new Place(cai, path);
    const commit = ['sh', '-c', 'git commit --allow-empty -m x 2>&1'];
    expect(await place.prints(commit)).toContain('pre-commit ran');
    git(cai, '-C', path, 'config', 'core.hooksPath', '.husky');
    expect(await place.prints(commit)).toContain('husky ran');
    expect(await attacked(place, ['.husky'])).toEqual([]);
  });
});
