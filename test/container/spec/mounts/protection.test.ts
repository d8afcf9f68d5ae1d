import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeHooks, protectionOf } from '../../../../src/container/spec/mounts/protection';
import { newFolder } from '../../../support/temp-folder';

const isLinux = process.platform === 'linux';
let root: string;

beforeEach(() => (root = newFolder()));

function put(path: string, folder = root): void {
  const place = join(folder, path);
  mkdirSync(path.endsWith('/') ? place : dirname(place), { recursive: true });
  if (!path.endsWith('/')) writeFileSync(place, '');
}

const bindOf = (source: string, isReadOnly = false) => ({
  source,
  target: source,
  isReadOnly,
  identity: '',
  isRoot: true,
});

type Protection = ReturnType<typeof protectionOf>;

function protect(changes: Partial<Parameters<typeof protectionOf>[0]> = {}): Protection {
  return protectionOf({ git: undefined, binds: [bindOf(root)], patterns: new Map(), ...changes });
}

/** `ro` or `rw`, and the path below a folder. */
function lines({ binds }: Protection, folder = root): string[] {
  return binds.map(
    ({ target, isReadOnly }) => `${isReadOnly ? 'ro' : 'rw'} ${target.slice(folder.length + 1)}`,
  );
}

describe('protectionOf', () => {
  test('makes what is there read-only, and keeps each folder on the way in its place', () => {
    for (const path of [
      ...['.git/HEAD', '.git/config', '.git/hooks/'],
      ...['.vscode/', '.claude/settings.json', 'src/a.ts'],
    ])
      put(path);
    expect(lines(protect())).toEqual([
      'rw .claude',
      'rw .git',
      'ro .claude/settings.json',
      'ro .git/config',
      'ro .git/hooks',
      'ro .vscode',
    ]);
  });

  test('knows what it mounts, and where that is inside', () => {
    put('.envrc');
    const { dev, ino } = statSync(join(root, '.envrc'));
    expect(protect({ binds: [{ ...bindOf(root), target: '/home/agent/workspace' }] }).binds).toEqual([
      {
        source: join(root, '.envrc'),
        target: '/home/agent/workspace/.envrc',
        isReadOnly: true,
        identity: isLinux ? `${dev}:${ino}` : '',
        isRoot: false,
      },
    ]);
  });

  test('does not mount what lies in a folder that is read-only already', () => {
    put('.claude/hooks/');
    put('.claude/settings.json');
    expect(lines(protect({ patterns: new Map([[root, { patterns: ['.claude'] }]]) }))).toEqual([
      'ro .claude',
    ]);
  });

  test('tells of a link instead of following it', () => {
    symlinkSync(newFolder(), join(root, '.vscode'));
    const { binds, notices } = protect();
    expect(binds).toEqual([]);
    expect(notices).toEqual([expect.stringContaining(`${join(root, '.vscode')}" cannot be protected`)]);
  });

  test('makes nothing, not in a git folder elsewhere either', () => {
    put('.git/HEAD');
    const folder = join(root, '.git');
    const git = { folder };

    protect();
    protect({ git, binds: [bindOf(folder)] });

    expect(existsSync(join(folder, 'hooks'))).toBe(false);
  });

  test('protects the folder of hooks that was made where a repository lacks it, and nowhere else', () => {
    put('.git/HEAD');
    put('.git/config');
    makeHooks(join(root, '.git'));
    expect(lines(protect())).toEqual(['rw .git', 'ro .git/config', 'ro .git/hooks']);

    root = newFolder();
    put('.git/');
    makeHooks(join(root, '.git'));
    expect(existsSync(join(root, '.git/hooks'))).toBe(false);
  });

  test('covers folders that the user has chosen to be written, too, and no others', () => {
    const [chosen, safe] = [newFolder(), newFolder()];
    for (const folder of [chosen, safe]) put('.vscode/', folder);
    const { binds } = protect({ binds: [bindOf(root), bindOf(chosen), bindOf(safe, true)] });
    expect(binds.map(({ target }) => target)).toEqual([join(chosen, '.vscode')]);
  });

  test('leaves of a linked worktree neither the state of others nor a rebase that waits to be written', () => {
    const common = newFolder();
    for (const path of [
      'HEAD',
      'config',
      'hooks/pre-commit',
      'worktrees/mine/HEAD',
      'worktrees/mine/commondir',
    ])
      put(path, common);
    put('rebase-merge/git-rebase-todo', common);
    for (const path of ['worktrees/mine/gitdir', 'worktrees/other/HEAD', 'modules/sub/config', 'objects/'])
      put(path, common);
    put('.git');
    const git = { folder: common, worktree: 'worktrees/mine' };
    const all = protect({ git, binds: [bindOf(root), bindOf(common)] });

    expect(all.binds[0]).toMatchObject({ source: join(root, '.git'), isReadOnly: true });
    expect(lines({ ...all, binds: all.binds.slice(1) }, common)).toEqual(
      [
        ...['ro config', 'ro hooks', 'ro modules', 'ro rebase-merge', 'ro worktrees', 'rw worktrees/mine'],
        ...['ro worktrees/mine/commondir', 'ro worktrees/mine/gitdir'],
      ].sort((a, b) => order.indexOf(a) - order.indexOf(b)),
    );
  });

  test('mounts nothing twice where the main tree of a linked worktree is mounted as well', () => {
    const main = newFolder();
    for (const path of ['HEAD', 'config', 'worktrees/mine/commondir', 'worktrees/mine/gitdir', 'objects/'])
      put(`.git/${path}`, main);
    put('.git');
    const git = { folder: join(main, '.git'), worktree: 'worktrees/mine' };
    const { binds } = protect({ git, binds: [bindOf(root), bindOf(main), bindOf(git.folder)] });

    const targets = binds.map(({ target }) => target);
    expect(targets).toEqual([...new Set(targets)]);
    expect(binds).toContainEqual(
      expect.objectContaining({ target: join(main, '.git/worktrees'), isReadOnly: true }),
    );
  });

  test('protects the same where a folder above it is mounted under another name', () => {
    put('app/.git/HEAD');
    put('app/.git/config');
    put('app/.git/hooks/');
    const app = bindOf(join(root, 'app'));
    const alias = { ...bindOf(root), target: '/alias' };
    const { binds } = protect({ binds: [app, alias] });

    expect(
      lines({ binds: binds.filter(({ target }) => target.startsWith('/alias')), notices: [] }, '/alias'),
    ).toEqual(['rw app', 'rw app/.git', 'ro app/.git/config', 'ro app/.git/hooks']);
    const hidden = bindOf(newFolder());
    const covered = protect({ binds: [app, alias, { ...hidden, target: '/alias/app' }] });
    expect(covered.binds.filter(({ target }) => target.startsWith('/alias'))).toEqual([]);
  });

  test('fails for what is replaced while it is looked at, and skips what is gone', () => {
    put('.envrc');
    const through = join(newFolder(), 'link');
    symlinkSync(root, through);
    expect(() => protect({ binds: [bindOf(through)] })).toThrow(
      /cannot be protected from the agent: it is being replaced/,
    );
  });
});

const order = ['ro config', 'ro hooks', 'ro worktrees', 'ro modules', 'ro rebase-merge', 'rw worktrees/mine', 'ro worktrees/mine/commondir', 'ro worktrees/mine/gitdir']; // prettier-ignore
