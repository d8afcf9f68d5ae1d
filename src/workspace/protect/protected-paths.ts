/** The list of what programs on the user's machine would execute in a workspace, and which of these paths exist. */
import { realpathSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError } from '../../errors';
import { gitFoldersIn, unreadIndexesIn, workTreesIn } from './git-layout';
import {
  inOneLook,
  kindOf,
  linksIn,
  lookAt,
  matches,
  mostInOnePlace,
  mostNames,
  namesIn,
  type ProtectedPath,
} from '../../system/paths/look-inside';
import { inGitFolder, inGitFolders, itself } from './protected-git';
import { quoted } from '../../system/quoted';
import { isInside } from '../../system/paths/is-inside';

/**
 * The list, relative to the root of a workspace: what editors, shells, agents on the host and their tools run or take
 * commands from. A `*` stands for any part of one name. What git reads is found by `protectedPathsIn`.
 */
export const protectedPatterns: readonly string[] = [
  // Hooks of repositories, and what shells and tools run when somebody comes into the folder.
  ...['.husky', 'lefthook*.*', '.lefthook*.*', '.config/lefthook*', '.github/hooks', '.envrc'],
  ...['mise*.toml', '.mise*.toml', 'mise/config*.toml', '.mise/config*.toml', '.config/mise*'],
  ...['.yarnrc.yml', '.hg/hgrc', '.jj/repo/config.toml', '.sl/config'],
  // Containers, and our own configuration.
  ...['.devcontainer', '.devcontainer.json', '.containai'],
  // Editors.
  ...['.vscode', '.idea', '.zed', '.run', '.fleet', '.helix', '.vs', '.theia', '*.code-workspace'],
  ...['*.sublime-project', '.nvim.lua', '.exrc', '.vimrc', '.nvimrc', '.dir-locals.el'],
  // Agents.
  ...['.mcp.json', '.amazonq', '.amp', '.continue', '.copilot', '.cursor', '.factory', '.junie'],
  ...['.kilocode', '.trae', '.windsurf', '.codex', '.opencode', 'opencode.json*', '.kiro', '.roo'],
  ...['.aider.conf.yml', 'crush.json', '.crush.json', '.github/copilot', '.qwen/settings.json'],
  ...['.qwen/commands', '.qwen/agents', '.qwen/extensions', '.claude/settings*.json', '.claude/hooks'],
  ...['.claude/commands', '.claude/agents', '.claude/skills', '.claude/plugins'],
  ...['.claude/output-styles', '.claude/rules', '.gemini/settings.json', '.gemini/.env'],
  ...['.gemini/agents', '.gemini/commands', '.gemini/extensions'],
];

/** The same, but agents can write them, as that is part of daily work: they are told of, and reviewed. */
export const toldPatterns: readonly string[] = [
  // Hooks of repositories.
  ...['.hooks', '.pre-commit-config.yaml', 'prek.toml', '.overcommit.yml', '.captainhook.json'],
  ...['captainhook.json', 'grumphp.y*ml', '.lintstagedrc*'],
  // What builds run.
  ...['.pnp.cjs', '.cargo/config*', '.bazelrc', '.mvn', '.devenv.nix', 'devenv.*', '.tool-versions'],
];

/**
 * The paths in a folder that fit the patterns and exist, and those that git would execute; each once, sorted. Only
 * names are looked at, and no link is followed. A `.git` that is a file or a link counts itself, and so does the git
 * folder that it names, if that lies inside.
 */
export function protectedPathsIn(
  root: string,
  patterns: readonly string[] = protectedPatterns,
  gitNames = inGitFolder,
  trees = workTreesIn(root),
): ProtectedPath[] {
  const found = [
    ...possibleIn(root, patterns).flatMap((pattern) => matches(root, '', pattern.split('/'))),
    ...trees.flatMap(({ path }) => itself(root, posix.join(path, '.git'))),
    ...gitFoldersIn(root, trees).flatMap((folder) => inGitFolders(root, folder, gitNames)),
  ];
  return once([...found, ...found.flatMap((each) => behindLinks(root, each))]);
}

/** The patterns whose first name exists: one look at the root is quicker than one for each pattern. */
function possibleIn(root: string, patterns: readonly string[]): readonly string[] {
  const names = namesIn(root, '')?.map((name) => name.toLowerCase());
  if (names === undefined) return patterns;
  // A file system may take names in any case.
  const there = new Set(names);
  return patterns.filter((pattern) => {
    const [first = ''] = pattern.split('/');
    return first.includes('*') || there.has(first.toLowerCase());
  });
}

/**
 * What has to be protected in a folder (real path). Fails with `CaiError('WORKSPACE')` if too many names fit, or if it
 * cannot be told which repositories are inside.
 */
export function allProtectedIn(folder: string, patterns: readonly string[]): ProtectedPath[] {
  const [found, unreadable] = inOneLook(() => {
    const trees = workTreesIn(folder);
    const hidden = trees.filter(({ isUnreadable }) => isUnreadable);
    const paths = protectedPathsIn(folder, [...protectedPatterns, ...patterns], inGitFolder, trees);
    return [paths, unreadIndexesIn(folder, hidden)[0]];
  });
  if (unreadable !== undefined)
    throw new CaiError(
      'WORKSPACE',
      `${quoted(posix.join(folder, unreadable))} cannot be read, so that repositories inside that one cannot be protected from agents: if an agent has made it so, put your own file there; else make it one that you can read`,
    );
  const crowd = found.find(({ kind }) => kind === 'crowd');
  if (crowd !== undefined)
    throw new CaiError(
      'WORKSPACE',
      `${quoted(folder)} has more than ${mostInOnePlace} names that fit ${quoted(crowd.path)}, or more than ${mostNames} in all, or its patterns fit very many, too many to be protected from agents: remove those that you do not know, or move some into a folder; "off = true" in [protect] leaves all unprotected`,
    );
  return found;
}

/** As `protectedPathsIn`, for a git folder (real path) outside of a workspace; relative to it. */
export function protectedInGitFolder(
  gitFolder: string,
  patterns: readonly string[] = [],
  gitNames = inGitFolder,
): ProtectedPath[] {
  return inOneLook(() =>
    once([
      ...inGitFolders(gitFolder, '', gitNames),
      ...patterns.flatMap((pattern) => matches(gitFolder, '', pattern.split('/'))),
    ]),
  );
}

/** The folders on the way to a path, outermost first. An agent can rename each unless something is mounted on it. */
export function parentsOf(path: string): string[] {
  const parent = posix.dirname(path);
  return parent === '.' ? [] : [...parentsOf(parent), parent];
}

function once(found: readonly ProtectedPath[]): ProtectedPath[] {
  const byPath = new Map(found.map((each) => [each.path, each]));
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Targets inside `root` of a link, or of the links in a folder. Not for folders of git in which git has to write. */
function behindLinks(root: string, { path, kind }: ProtectedPath): ProtectedPath[] {
  if (['.git', 'modules', 'worktrees'].includes(posix.basename(path))) return [];
  const links = kind === 'link' ? [path] : kind === 'folder' ? linksIn(root, path).links : [];
  return links.flatMap((link) => {
    try {
      const target = posix.relative(root, realpathSync(posix.join(root, link)));
      const there = isInside(posix.join(root, target), root) && target !== '' && lookAt(root, target);
      return there ? [{ path: target, kind: kindOf(there) }] : [];
    } catch {
      // It leads nowhere.
      return [];
    }
  });
}
