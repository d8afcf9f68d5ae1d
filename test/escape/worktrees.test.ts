/**
 * Attacks of agents in worktrees, which share the repository's commits and branches, on its other files, on each other,
 * and on the git of the host, which looks at worktrees, merges their branches and removes them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { provideImages } from '../engine/model';
import { buildTimeoutMs } from '../engine/place';
import { git, nameAuthor, newRepository } from '../engine/repository';
import { Cai, ownFile, ownFolder } from '../engine/support';
import { attempt, reachedIf } from './attempt';
import { Canary } from './canary';
import { agent, hostileConfig, Scene } from './hostile-agent';

let cai: Cai;
let canary: Canary;
let repository: string;
let count = 0;
let scene: Scene;
/** The top of the worktree. */
let worktree: string;

beforeAll(() => provideImages(agent), buildTimeoutMs);
beforeEach(async () => {
  cai = new Cai(`${hostileConfig()}[worktrees]\nper_session = true\ncopy = [".env"]\n`);
  canary = new Canary(cai);
  nameAuthor(cai);
  repository = newRepository(cai, `shop-${count++}`);
  ownFile(join(repository, '.env'), 'SECRET=1\n');
  ownFile(join(repository, '.git/info/exclude'), '.env\n');
  ownFile(join(repository, 'draft'), 'DRAFT\n');
  scene = await Scene.open({ cai, workspace: repository });
  worktree = (await scene.sh('pwd')).trim();
});
afterEach(() => scene.close());

/** All that the user does with a worktree on the host; how it ends is nobody's matter. */
async function use(): Promise<void> {
  const branch = git(cai, '-C', repository, 'for-each-ref', '--format=%(refname:short)', 'refs/heads/cai');
  for (const args of [['list'], ['merge', branch]]) await cai.run(['worktree', ...args], { cwd: repository });
  await cai.run(['review'], { cwd: worktree });
  // The end of the session looks at what has changed, too.
  await scene.close();
  await cai.run(['worktree', 'rm', '--force', branch], { cwd: repository });
}

attempt('an agent in a worktree reads or writes what only the repository itself has', async () => {
  const { stdout = '' } = await scene.tries(`cat ${repository}/draft; cat ${repository}/.git/../draft`);
  await scene.tries(
    `echo evil >${repository}/file; mkdir -p ${repository}/new && echo >${repository}/new/file`,
  );
  const isChanged =
    readFileSync(join(repository, 'file'), 'utf8') !== 'text\n' || existsSync(join(repository, 'new'));
  return reachedIf(stdout.includes('DRAFT') || isChanged, `${stdout}, changed: ${isChanged}`);
});

attempt(
  'an agent in a worktree changes the worktree of another session, or what git keeps of it',
  async () => {
    const other = await scene.another(repository);
    const place = (await other.sh('pwd')).trim();
    const gitFolder = (await other.sh('git rev-parse --absolute-git-dir')).trim();
    await scene.tries(`echo evil >${place}/file; rm -rf ${place}/.git`);
    await scene.tries(
      `for name in HEAD gitdir commondir index config.worktree; do echo evil >${gitFolder}/$name; done`,
    );
    await scene.tries(`rm -rf ${gitFolder}; mv ${gitFolder} ${gitFolder}-was; ln -s /tmp ${gitFolder}`);
    const { stdout = '', stderr = '' } = await other.tries('git status --porcelain && cat file');
    return reachedIf(stdout !== 'text\n', stdout + stderr);
  },
);

attempt('an agent in a worktree has a program run by what git reads in the shared git folder', async () => {
  await scene.tries(`cd ${repository}/.git; printf '#!/bin/sh\\n${canary.sh}\\n' >/tmp/evil; chmod +x /tmp/evil;
    for hook in post-checkout post-merge pre-merge-commit reference-transaction post-index-change; do
      cp /tmp/evil hooks/$hook; done;
    git config core.fsmonitor '${canary.sh}'; git config filter.evil.smudge '${canary.sh}; cat';
    git config --worktree core.fsmonitor '${canary.sh}'; git config extensions.worktreeConfig true;
    mkdir -p worktrees/evil; echo '* filter=evil merge=evil' >info/attributes`);
  await scene.sh('echo "* filter=evil diff=evil merge=evil" >.gitattributes; git add .; git commit -qm evil');
  await use();
  return canary.sung;
});

attempt('an agent in a worktree steers a filter of the user’s by files that it commits', async () => {
  const filter = `sh -c 'test -e evil && sh ./evil; cat'`;
  for (const key of ['clean', 'smudge']) git(cai, 'config', '--global', `filter.own.${key}`, filter);
  await scene.sh(`echo '* filter=own' >.gitattributes; echo "${canary.sh}" >evil; echo new >file;
    git add .; git commit -qm evil; echo again >file`);
  await use();
  return canary.sung;
});

attempt(
  'an agent whose worktree becomes a repository of its own has its programs run on the host',
  async () => {
    const evil = `printf '#!/bin/sh\\n${canary.sh}\\n' >evil; chmod +x evil`;
    await scene.tries(`rm -f .git; mv .git was; git init -q . ; git init -q ../evil; ${evil};
    git config core.fsmonitor "$PWD/evil"; git config core.hooksPath "$PWD";
    for hook in post-checkout post-merge reference-transaction post-index-change; do cp evil $hook; done`);
    await scene.tries(`own=$(git rev-parse --absolute-git-dir); ${evil};
    printf '[core]\\n\\tfsmonitor = %s/evil\\n\\tworktree = %s\\n' "$PWD" "$PWD" >config
    git init -q --bare inner; cp config inner/config; echo "$PWD/inner" >"$own/commondir";
    cp config "$own/config"; cp config "$own/config.worktree"`);
    await use();
    return canary.sung;
  },
);

attempt(
  'an agent has files outside of its worktree removed with it, by links in the place of folders',
  async () => {
    const kept = join(cai.home, 'kept');
    ownFolder(kept);
    ownFile(join(kept, 'file'), 'of the user');
    await scene.sh(`ln -s ${kept} link; mkdir -p deep/er; rm -rf deep/er; ln -s ${kept} deep/er`);
    await scene.tries(`cd ..; mv ${worktree} ${worktree}-was; ln -s ${kept} ${worktree}`);
    await use();
    return reachedIf(!existsSync(join(kept, 'file')), `${kept}/file is gone`);
  },
);

attempt(
  'an agent in a worktree adds a command to a rebase of the user’s that waits in the repository',
  async () => {
    const inRepository = (...args: readonly string[]): string => git(cai, '-C', repository, ...args);
    const base = inRepository('rev-parse', 'HEAD');
    for (const branch of ['onto', 'topic']) {
      inRepository('switch', '--quiet', '-c', branch, base);
      ownFile(join(repository, 'file'), `${branch}\n`);
      inRepository('commit', '--quiet', '--all', '--message', branch);
    }
    expect(() => inRepository('rebase', 'onto')).toThrow();
    const other = await scene.another(repository);
    await other.tries(`cd ${repository}/.git; echo "exec ${canary.sh}" >>rebase-merge/git-rebase-todo;
    mv rebase-merge was; cp -r was rebase-merge; echo "exec ${canary.sh}" >>rebase-merge/git-rebase-todo`);
    inRepository('checkout', '--quiet', '--theirs', 'file');
    inRepository('add', 'file');
    inRepository('-c', 'core.editor=true', 'rebase', '--continue');
    return canary.sung;
  },
);

attempt(
  'an agent that makes its branch a link to another one has that one removed with its worktree',
  async () => {
    const main = git(cai, '-C', repository, 'symbolic-ref', 'HEAD');
    const own = (await scene.sh('git symbolic-ref HEAD')).trim();
    await scene.sh(`git switch -q --detach; git symbolic-ref ${own} ${main}`);
    await use();
    const branches = git(cai, '-C', repository, 'for-each-ref', '--format=%(refname)');
    return reachedIf(!branches.includes(main), `${main} is gone: ${branches}`);
  },
);

attempt('an agent has a submodule of its branch fetched or run by the merge on the host', async () => {
  await scene.sh(`printf '[submodule "a"]\\n\\tpath = a\\n\\turl = ext::sh -c %s\\n\\tupdate = !%s\\n' '${canary.sh}' '${canary.sh}' >.gitmodules;
    git add .gitmodules; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),a; git commit -qm evil`);
  await use();
  return canary.sung;
});
