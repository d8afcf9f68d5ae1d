/** `cai trust`: the user agrees to what a repository's config file widens, to a wider workspace, and to a git folder. */
import { resolve } from 'node:path';
import type { Host } from '../../system/host';
import { forgetAgentFolder } from '../../system/paths/agent-folders';
import {
  loadWorkspaceConfig,
  type RepositoryConfig,
  type WorkspaceConfig,
} from '../../config/effective-config';
import type { Widening } from '../../config/repository/judge';
import type { ReadDevcontainer } from '../../config/repository/workspace-devcontainer';
import { describeDevcontainer } from '../../workspace/devcontainer/describe';
import { devcontainerFiles } from '../../workspace/devcontainer/find';
import { findOuterGit } from '../../workspace/git-folder';
import { printableCharacters, quoted } from '../../system/quoted';
import { realOrSame } from '../../system/real-path';
import { repositoryFileOf } from '../../config/repository/repository-config';
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
  readonly devcontainer: ReadDevcontainer | undefined;
}

/** Resolves with 0 if nothing is left to agree to, 1 for a no; rejects with `USAGE` where nobody can be asked. */
export const run = declare<Options>({
  name: 'trust',
  description:
    "Allows what a repository's .containai/config.toml, as it is now, asks for beyond your own configuration, its devcontainer.json with all that it names, a workspace that has grown, or the git folder of a linked worktree.",
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
  const loaded = loadWorkspaceConfig(host, workspace.root);
  const { repository, devcontainer } = loaded;
  const waits = repository?.isTrusted === false && repository.widening.length > 0;
  const request = {
    outgrown: outgrownRoot(state, workspace) ?? (await rootLeftByLink(state, workspace)),
    git: (await findOuterGit(workspace.root, host)).refused,
    file: waits ? repository : undefined,
    devcontainer: devcontainer?.trusted === undefined ? devcontainer?.read() : undefined,
  };
  if (Object.values(request).every((each) => each === undefined)) {
    stdout.write(`${nothingFor(workspace, loaded)}\n`);
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
  const { file, devcontainer: its } = request;
  if (file !== undefined) record(state, 'trusted', file.file, file.digest);
  if (its !== undefined) record(state, 'trusted', its.content.file, its.content.digest);
  const what = its === undefined ? 'the file' : 'one of these files';
  const isOfFiles = file !== undefined || its !== undefined;
  stdout.write(`Recorded.${isOfFiles ? ` If ${what} changes, it waits for this again.` : ''}\n`);
  return 0;
}

function nothingFor({ root }: Workspace, { repository, devcontainer }: WorkspaceConfig): string {
  const file = printableCharacters(repositoryFileOf(root));
  if (devcontainer !== undefined) return `${printableCharacters(devcontainer.file)} is trusted as it is now.`;
  if (repository === undefined) return `Nothing to trust: there is no ${file}.`;
  if (repository.isTrusted) return `${file} is trusted as it is now.`;
  return `Nothing to trust: ${file} widens nothing.`;
}

function described({ outgrown, git, file, devcontainer }: Request, { cwd, root }: Workspace): string {
  const lines: string[] = [];
  if (outgrown !== undefined)
    lines.push(`The workspace of ${quoted(cwd)}: ${quoted(outgrown)} -> ${quoted(root)}`);
  if (git !== undefined) lines.push(`The git folder of ${quoted(root)}: ${quoted(git)}`);
  if (file !== undefined) {
    lines.push(`${printableCharacters(file.file)} widens what the agent may do:`, ...linesOf(file.widening));
  }
  if (devcontainer !== undefined) {
    const { content, judged, ignored } = devcontainer;
    lines.push(...describeDevcontainer(content));
    if (judged.widening.length > 0)
      lines.push('It widens what the agent may do:', ...linesOf(judged.widening));
    lines.push(...ignored.map(printableCharacters));
  }
  return `${lines.join('\n')}\n`;
}

function linesOf(widening: readonly Widening[]): string[] {
  return widening.map(({ name, place, held, wanted }) => {
    const before = held === undefined ? 'not set' : quoted(held);
    return `  ${printableCharacters(place)}: ${name}: ${before} -> ${quoted(wanted)}`;
  });
}

/** Also for a folder that is gone. */
async function forgetAll(folder: string, host: Host): Promise<number> {
  const { stdout } = process;
  const { state } = host.folders;
  const { cwd, root } = await findWorkspace(folder, { host }).catch(() => ({ cwd: folder, root: folder }));
  const devcontainers = devcontainerFiles(root).filter((file) => forget(state, 'trusted', file));
  const forgotten = [
    devcontainers.length > 0 && `${devcontainers.map((file) => quoted(file)).join(', ')} is no longer used`,
    forget(state, 'trusted', repositoryFileOf(root)) &&
      `what ${quoted(repositoryFileOf(root))} widens is no longer allowed`,
    forget(state, 'roots', cwd) && `the workspace of ${quoted(cwd)} is recorded again at its next use`,
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
