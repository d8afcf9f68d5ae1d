/** `cai trust`: the user agrees to what a repository's config file widens, to a wider workspace, and to a git folder. */
import { resolve } from 'node:path';
import type { Host } from '../../system/host';
import { forgetAgentFolder } from '../../paths/agent-folders';
import { loadWorkspaceConfig, type RepositoryConfig } from '../../config/effective-config';
import { findOuterGit } from '../../workspace/git-folder';
import { printableCharacters, quoted } from '../../system/quoted';
import { realOrSame } from '../../system/real-path';
import { repositoryFileOf } from '../../config/repository-config';
import { findWorkspace, type Workspace } from '../../workspace/root';
import { forget, record } from '../../workspace/records';
import { outgrownRoot, rootLeftByLink } from '../../workspace/trust';
import { declare } from '../support/command';
import { confirm } from '../support/terminal';

interface Options {
  readonly yes?: true;
  readonly forget?: true;
}

/** What the user is asked to agree to; `outgrown` is the root that the folder had, or is spelled through. */
interface Request {
  readonly outgrown: string | undefined;
  readonly git: string | undefined;
  readonly file: RepositoryConfig | undefined;
}

/** Resolves with 0 if nothing is left to agree to, 1 for a no; rejects with `USAGE` where nobody can be asked. */
export const run = declare<Options>({
  name: 'trust',
  description:
    "Allows what a repository's .containai/config.toml, as it is now, asks for beyond your own configuration, a workspace that has grown, or the git folder of a linked worktree.",
  arguments: [['[folder]', 'any folder in the workspace (default: the current one)']],
  options: [
    ['-y, --yes', 'do not ask'],
    ['--forget', 'revoke what was allowed'],
  ],
  action: ({ yes, forget }, host, [given = '.']) => {
    const folder = resolve(given);
    return forget === true ? forgetAll(folder, host) : trust(folder, yes === true, host);
  },
});

async function trust(folder: string, isAgreed: boolean, host: Host): Promise<number> {
  const { stdout } = process;
  const { state } = host.folders;
  const workspace = await findWorkspace(folder, { host });
  const { repository } = loadWorkspaceConfig(host, workspace.root);
  const waits = repository?.isTrusted === false && repository.widening.length > 0;
  const request = {
    outgrown: outgrownRoot(state, workspace.cwd, workspace.root) ?? (await rootLeftByLink(state, workspace)),
    git: (await findOuterGit(workspace.root, host)).refused,
    file: waits ? repository : undefined,
  };
  if (Object.values(request).every((each) => each === undefined)) {
    stdout.write(`${nothingFor(workspace, repository)}\n`);
    return 0;
  }
  stdout.write(described(request, workspace));
  const otherwise =
    'there is no terminal to ask on, so nothing is recorded: run this in a terminal, or with --yes';
  if (!isAgreed && !(await confirm('Allow this?', otherwise))) {
    stdout.write('Nothing is recorded.\n');
    return 1;
  }
  if (request.outgrown !== undefined) record(state, 'roots', workspace.cwd, workspace.root);
  if (request.git !== undefined) record(state, 'git-folders', workspace.root, request.git);
  if (request.file !== undefined) record(state, 'trusted', request.file.file, request.file.digest);
  const again = request.file === undefined ? '' : ' If the file changes, it waits for this again.';
  stdout.write(`Recorded.${again}\n`);
  return 0;
}

function nothingFor({ root }: Workspace, repository: RepositoryConfig | undefined): string {
  const file = printableCharacters(repositoryFileOf(root));
  if (repository === undefined) return `Nothing to trust: there is no ${file}.`;
  if (repository.isTrusted) return `${file} is trusted as it is now.`;
  return `Nothing to trust: ${file} widens nothing.`;
}

function described({ outgrown, git, file }: Request, { cwd, root }: Workspace): string {
  const lines: string[] = [];
  if (outgrown !== undefined)
    lines.push(`The workspace of ${quoted(cwd)}: ${quoted(outgrown)} -> ${quoted(root)}`);
  if (git !== undefined) lines.push(`The git folder of ${quoted(root)}: ${quoted(git)}`);
  if (file !== undefined) {
    lines.push(`${printableCharacters(file.file)} widens what the agent may do:`);
    for (const { name, line, held, wanted } of file.widening) {
      const before = held === undefined ? 'not set' : quoted(held);
      lines.push(`  line ${line}: ${name}: ${before} -> ${quoted(wanted)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Also for a folder that is gone. */
async function forgetAll(folder: string, host: Host): Promise<number> {
  const { stdout } = process;
  const { state } = host.folders;
  const { cwd, root } = await findWorkspace(folder, { host }).catch(() => ({ cwd: folder, root: folder }));
  const forgotten = [
    forget(state, 'trusted', repositoryFileOf(root)) &&
      `what ${quoted(repositoryFileOf(root))} widens is no longer allowed`,
    forget(state, 'roots', cwd) && `the workspace of ${quoted(cwd)} is recorded anew at its next use`,
    forget(state, 'git-folders', root) &&
      `a git folder of ${quoted(root)} that lies elsewhere is no longer known`,
    forgetAgentFolder(state, realOrSame(folder)) &&
      `${quoted(folder)} counts as a folder that no agent has written in`,
  ].filter((each) => each !== false);
  const lines =
    forgotten.length === 0 ? [`Nothing is recorded of ${quoted(folder)}.`] : ['Forgotten:', ...forgotten];
  stdout.write(`${lines.join('\n  ')}\n`);
  return 0;
}
