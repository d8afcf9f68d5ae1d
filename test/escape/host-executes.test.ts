/** Attacks on what the host runs: git and its hooks, programs that are looked for, files that tools read. */
import { chmodSync, existsSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Editor } from '../engine/editor';
import { provideImages } from '../engine/model';
import { buildTimeoutMs, Place } from '../engine/place';
import { git, nameAuthor, newRepository } from '../engine/repository';
import { Cai, folder, ownFile, ownFolder, type RunOptions } from '../engine/support';
import { attempt } from './attempt';
import { Canary } from './canary';
import { agent, hostileConfig } from './hostile-agent';

let cai: Cai;
let canary: Canary;
/** A repository of somebody else that the user has cloned, copied or unpacked. */
let workspace: string;

beforeAll(async () => {
  await provideImages(agent);
  cai = new Cai(hostileConfig());
  canary = new Canary(cai);
  workspace = (await new Place(cai).opened()).workspace;
}, buildTimeoutMs);

/** All that a user does with `cai` in a folder; each of these looks at the folder. How it ends is nobody's matter. */
async function useCaiIn(folder: string, options: RunOptions = {}): Promise<void> {
  for (const args of [['exec', 'true'], ['config'], ['doctor'], ['trust', '--forget']])
    await cai.run(args, { cwd: folder, ...options });
  const editor = await Editor.open(cai, agent, { cwd: folder, ...options });
  await editor.request('session/new', { cwd: folder, mcpServers: [] });
  editor.proxy.child.stdin.end();
  await editor.proxy.ends();
}

/** A program in the repository that makes the canary appear; returns its path. */
function evil(name: string): string {
  const path = join(workspace, name);
  ownFile(path, `#!/bin/sh\n${canary.sh}\necho 2\n`);
  chmodSync(path, 0o755);
  return path;
}

/** The repository has this in its own git configuration; what is said of it on the host. */
async function withGitConfig(settings: Readonly<Record<string, string>>): Promise<string | undefined> {
  for (const [key, value] of Object.entries(settings)) git(cai, '-C', workspace, 'config', key, value);
  try {
    await useCaiIn(workspace);
    return canary.sung;
  } finally {
    // git itself would run some of it.
    for (const key of Object.keys(settings))
      git(cai, 'config', '--file', join(workspace, '.git/config'), '--unset', key);
  }
}

describe('a repository', () => {
  attempt(
    'a repository with core.fsmonitor has its program run on the host',
    async () => await withGitConfig({ 'core.fsmonitor': evil('monitor') }),
  );

  attempt('a repository with core.hooksPath has its hooks run on the host', async () => {
    for (const hook of ['post-checkout', 'post-index-change', 'pre-commit', 'reference-transaction'])
      evil(`hooks/${hook}`);
    return await withGitConfig({ 'core.hooksPath': join(workspace, 'hooks') });
  });

  attempt('a repository with hooks in its git folder has them run on the host', async () => {
    for (const hook of ['post-checkout', 'post-index-change', 'pre-commit', 'reference-transaction'])
      evil(`.git/hooks/${hook}`);
    await useCaiIn(workspace);
    return canary.sung;
  });

  attempt('a repository with aliases in place of git commands has them run on the host', async () => {
    const program = `!${evil('alias')}`;
    return await withGitConfig({
      'alias.rev-parse': program,
      'alias.config': program,
      'alias.status': program,
    });
  });

  attempt('a repository that includes another configuration has its program run on the host', async () => {
    ownFile(join(workspace, 'more.gitconfig'), `[core]\n\tfsmonitor = ${evil('monitor')}\n\tsshCommand = ${evil('ssh')}\n`); // prettier-ignore
    return await withGitConfig({ 'include.path': join(workspace, 'more.gitconfig') });
  });

  attempt(
    'a repository with a pager, an editor, filters and a difference program has one run on the host',
    async () => {
      const program = evil('program');
      ownFile(join(workspace, '.gitattributes'), '* filter=evil diff=evil\n');
      return await withGitConfig({
        'core.pager': program,
        'core.editor': program,
        'core.sshCommand': program,
        'core.askPass': program,
        'credential.helper': program,
        'diff.external': program,
        'diff.evil.textconv': program,
        'filter.evil.clean': program,
        'filter.evil.process': program,
      });
    },
  );

  attempt(
    'a repository whose .git file names a git folder in it has the program of that one run on the host',
    async () => {
      const inner = join(workspace, 'inner');
      ownFolder(inner);
      git(cai, 'init', '--quiet', '--separate-git-dir', join(workspace, 'elsewhere'), inner);
      git(cai, '-C', inner, 'config', 'core.fsmonitor', evil('monitor'));
      await useCaiIn(inner);
      return canary.sung;
    },
  );

  attempt(
    'a repository with a bare one in a folder has the program of that one run on the host',
    async () => {
      const bare = join(workspace, 'bare');
      ownFolder(bare);
      git(cai, 'init', '--quiet', '--bare', bare);
      git(cai, '-C', bare, 'config', 'core.fsmonitor', evil('monitor'));
      git(cai, '-C', bare, 'config', 'core.bare', 'false');
      git(cai, '-C', bare, 'config', 'core.worktree', workspace);
      await useCaiIn(bare);
      return canary.sung;
    },
  );

  attempt(
    'a repository with programs named like those of the host has one run in place of them',
    async () => {
      for (const name of ['git', 'node', 'docker', 'ssh', 'xdg-open', 'sh', 'ps', 'id', 'stty']) {
        evil(name);
        evil(`node_modules/.bin/${name}`);
      }
      const first = ['', '.', workspace, `${workspace}/node_modules/.bin`].join(':');
      await useCaiIn(workspace, { env: { PATH: `${first}:${process.env.PATH}` } });
      return canary.sung;
    },
  );

  attempt(
    'a repository with an .npmrc, a package.json and node_modules of its own has them loaded on the host',
    async () => {
      const load = `require('child_process').execSync('${canary.sh}');`;
      ownFile(join(workspace, 'load.cjs'), load);
      ownFile(join(workspace, '.npmrc'), `node-options=--require=${workspace}/load.cjs\nscript-shell=${evil('shell')}\n`); // prettier-ignore
      ownFile(join(workspace, 'package.json'), JSON.stringify({ type: 'module', main: 'load.cjs' }));
      for (const name of ['dockerode', 'ssh2', 'pino', 'cpu-features', 'node:fs'])
        ownFile(join(workspace, 'node_modules', name, 'index.js'), load);
      await useCaiIn(workspace);
      return canary.sung;
    },
  );

  attempt('a repository with a Dockerfile and commands in .containai has them run on the host', async () => {
    ownFile(join(workspace, '.containai/Dockerfile'), `FROM scratch\nRUN ${canary.sh}\n`);
    const text = `[image]\ndockerfile = "Dockerfile"\n[agents.${agent}]\ncommand = ["${evil('agent')}"]\n[mcp]\nhost_servers = ["${evil('server')}"]\n`;
    ownFile(join(workspace, '.containai/config.toml'), text);
    await useCaiIn(workspace);
    rmSync(join(workspace, '.containai'), { recursive: true });
    return canary.sung;
  });
});

describe('an agent', () => {
  /** Tries to have git on the host run a program, by configuration and by hooks, in a git folder. */
  const evilGit = (gitFolder: string): string =>
    [
      `cd ${gitFolder}`,
      `printf '#!/bin/sh\\n${canary.sh}\\n' > objects/evil`,
      'chmod 755 objects/evil',
      'git config --file config core.fsmonitor $PWD/objects/evil',
      'for each in pre-commit post-checkout post-index-change; do cp objects/evil hooks/$each; done',
      'mv hooks hooks.aside && mkdir hooks && cp objects/evil hooks/pre-commit',
      'mv config config.aside; printf "[core]\\n\\tfsmonitor = $PWD/objects/evil\\n" > config',
    ].join('\n');

  /** A user at work there, with git alone. */
  function work(repository: string): string | undefined {
    git(cai, '-C', repository, 'status');
    git(cai, '-C', repository, 'commit', '--quiet', '--allow-empty', '--message', 'work');
    return canary.sung;
  }

  beforeAll(() => nameAuthor(cai));

  attempt('an agent has its program run by git in the repository that it works in', async () => {
    const place = new Place(cai, newRepository(cai, 'worked-in'));
    await place.run(['sh', '-c', evilGit(`${place.workspace}/.git`)]);
    return work(place.workspace);
  });

  attempt('an agent in a linked worktree has its program run by git in the main tree', async () => {
    const main = newRepository(cai, 'never-opened');
    ownFolder(join(folder, 'escape-trees'));
    const tree = join(folder, 'escape-trees/tree');
    git(cai, '-C', main, 'worktree', 'add', '--quiet', tree);
    await new Place(cai, tree).run(['sh', '-c', evilGit(`${main}/.git`)]);
    return work(main);
  });

  attempt('an agent has its program run by git in a submodule named like a folder of git', async () => {
    const [main, lib] = [newRepository(cai, 'with-submodule'), newRepository(cai, 'its-submodule')];
    git(cai, '-C', main, 'submodule', '--quiet', 'add', lib, 'packages/logs');
    await new Place(cai, main).run(['sh', '-c', evilGit(`${main}/.git/modules/packages/logs`)]);
    return work(main);
  });

  attempt('an agent has its program run by git in a submodule that takes another git folder', async () => {
    const [main, lib] = [newRepository(cai, 'around-submodule'), newRepository(cai, 'exchanged')];
    git(cai, '-C', main, 'submodule', '--quiet', 'add', lib, 'lib');
    const script = [
      `cd ${main}`,
      'cp -r .git/modules/lib lib/.g',
      `printf '#!/bin/sh\\n${canary.sh}\\n' > lib/.g/evil && chmod 755 lib/.g/evil`,
      `printf '[core]\\n\\tworktree = ${main}/lib\\n\\tfsmonitor = ${main}/lib/.g/evil\\n' > lib/.g/config`,
      'echo "gitdir: .g" > lib/.git',
      'mv lib aside && cp -r aside lib && echo "gitdir: .g" > lib/.git',
    ];
    await new Place(cai, main).run(['sh', '-c', script.join('\n')]);
    return work(main);
  });

  attempt('an agent reaches the git folder of its workspace by a mount of the folder above it', async () => {
    const above = join(folder, 'above');
    ownFolder(above);
    const repository = newRepository(cai, 'above/app');
    symlinkSync(above, join(folder, 'alias'));
    const own = new Cai(`${hostileConfig()}[[mounts]]\npath = "${folder}/alias"\n`);
    await new Place(own, repository).run(['sh', '-c', evilGit(`${folder}/alias/app/.git`)]);
    return work(repository);
  });

  attempt(
    'a workspace gets the git folder of a repository for which an agent there has made a worktree',
    async () => {
      const main = await new Place(cai, newRepository(cai, 'colluding')).opened();
      const unrelated = new Place(cai);
      // The agent cannot take that away itself.
      rmSync(join(unrelated.workspace, '.git'), { recursive: true, force: true });
      await unrelated.opened();
      const made = `${main.workspace}/.git/worktrees/evil`;
      await main.prints(['sh', '-c', `mkdir -p ${made} && cp .git/HEAD ${made} && echo ../.. > ${made}/commondir && echo ${unrelated.workspace}/.git > ${made}/gitdir`]); // prettier-ignore
      await unrelated.prints(['sh', '-c', `echo 'gitdir: ${made}' > .git`]);
      await cai.run(['stop', unrelated.workspace]);
      const { status, stdout } = await unrelated.run(['cat', `${main.workspace}/.git/config`]);
      return status === 0 ? stdout.toString() : undefined;
    },
  );
});

describe('this file', () => {
  test('would hear of a program that runs on the host', async () => {
    await cai.startProgram(evil('program'), []).succeeds();

    expect(canary.sung).toMatch(/ran on the host/);
    expect(existsSync(canary.path)).toBe(false);
  });
});
