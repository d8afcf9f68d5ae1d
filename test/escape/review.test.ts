/** Attacks by what an agent leaves for the user's own programs to run, and on the command that shows it. */
import { existsSync, lchownSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { git, nameAuthor, newRepository } from '../engine/repository';
import { Cai, folder, newWorkspace, ownFile, ownFolder, user } from '../engine/support';
import { patienceMs } from '../support/patience';
import { attempt, reachedIf } from './attempt';
import { hostileConfig, Scene, sceneFor } from './hostile-agent';

const cai = new Cai(hostileConfig());
nameAuthor(cai);
const secret = join(cai.home, 'private/tasks.json');
ownFile(secret, 'SECRET OF THE USER\n');
const workspace = newWorkspace();
ownFile(join(workspace, 'packages/app/main.ts'), '');
const scene = sceneFor({ cai, workspace, clientCapabilities: {} });

/** What the user is told of a turn in which the agent runs this. One that ends right after another has its look in the next. */
async function toldOf(script: string, there = scene): Promise<string> {
  return (await there.toldOf(script)) + (await there.toldOf('sleep 0.1'));
}

/** Runs `cai review`, which must end soon and by itself. */
async function review(...args: string[]) {
  const { status, stdout, stderr } = await cai.run(['review', '-w', scene.workspace, ...args], {
    limitMs: patienceMs / 3,
  });
  if (status !== 0 && status !== 1) throw new Error(`cai review: ${status}\n${stderr}`);
  return { status, stdout: stdout.toString() };
}

describe('an agent leaves something to run', () => {
  attempt(
    'an agent that makes a task of an editor or a hook has it run without the user being told',
    async () => {
      const told = await toldOf(
        'mkdir -p .vscode .husky && echo {} > .vscode/tasks.json && cp /bin/true .husky/post-checkout',
      );
      const { stdout } = await review();
      const names = ['.vscode/tasks.json', '.husky/post-checkout'];
      const untold = names.filter((name) => !told.includes(name) || !stdout.includes(name));
      return reachedIf(untold.length > 0, `not told: ${untold.join(', ')}`);
    },
  );

  attempt(
    'an agent that makes settings of any program of the host has them heeded without the user being told',
    async () => {
      // Each is read by a program that people run in a folder, or that their editor runs when it opens it.
      const names = '.hg/hgrc .jj/repo/config.toml .sl/config .pre-commit-config.yaml .overcommit.yml .captainhook.json captainhook.json grumphp.yml prek.toml .lintstagedrc .qwen/settings.json .gemini/.env .gemini/agents/a.md .continue/config.yaml .continue/mcpServers/x.yaml .amazonq/mcp.json .amazonq/cli-agents/a.json .windsurf/mcp.json .trae/mcp.json .kilocode/mcp.json crush.json .crush.json .aider.conf.yml .factory/mcp.json .amp/settings.json .junie/mcp/mcp.json .copilot/mcp-config.json .github/copilot/settings.json .vimrc .nvimrc .dir-locals.el .sublime-project a.sublime-project .pnp.cjs .cargo/config.toml .bazelrc .mvn/extensions.xml .mvn/jvm.config .claude/plugins/x/plugin.json .claude/output-styles/x.md .claude/rules/x.md .devenv.nix .tool-versions .hooks/pre-commit'.split(' '); // prettier-ignore
      const there = await Scene.open({ cai, workspace: newWorkspace(), clientCapabilities: {} });
      const told = await toldOf(
        names.map((name) => `mkdir -p $(dirname ${name}); echo x > ${name}`).join('\n'),
        there,
      );
      await there.close();
      const { stdout } = await cai.run(['review', '-w', there.workspace]);
      const untold = names.filter((name) => !stdout.toString().includes(`+++ ${name}\n`));
      return reachedIf(told === '' || untold.length > 0, `told: ${told}; not: ${untold.join(', ')}`);
    },
  );

  attempt(
    'an agent opens folders for other users, who put hooks there, without the user being told',
    async () => {
      const told = await toldOf('mkdir -p .husky && chmod 777 . .git .husky');
      await scene.sh('chmod 755 . .git .husky');
      const untold = ['./', '.git/', '.husky/'].filter((name) => !told.includes(`\`${name}\` (other`));
      return reachedIf(untold.length > 0, `not told: ${untold.join(', ')}; only: ${told}`);
    },
  );

  attempt(
    'an agent that makes a file again that was put aside has it run without the user being told',
    async () => {
      await scene.sh('mkdir -p .zed && echo {} > .zed/tasks.json');
      await review('--restore', '.zed');
      if (existsSync(join(scene.workspace, '.zed'))) throw new Error('it was not put aside');
      const told = await toldOf('mkdir -p .zed && echo {} > .zed/tasks.json');
      return reachedIf(!told.includes('.zed/tasks.json'), `only told: ${told}`);
    },
  );

  attempt('an agent that makes a repository in its own has its configuration heeded untold', async () => {
    const told = await toldOf(
      'git init -q inner && git -C inner -c user.name=a -c user.email=a@b commit -q --allow-empty -m 1 && git add inner && git -C inner config core.fsmonitor ./evil',
    );
    return reachedIf(!told.includes('`inner/.git/config`'), `only told: ${told}`);
  });

  attempt(
    'an agent keeps its index from being read, so that repositories in it are not known, untold',
    async () => {
      const there = await Scene.open({ cai, workspace: newWorkspace() });
      const make =
        'git init -q inner && git -C inner -c user.name=a -c user.email=a@b commit -q --allow-empty -m 1 && git add inner';
      await there.sh(make);
      const holder =
        'import fcntl, os, time; fcntl.fcntl(os.open(".git/index", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_WRLCK); open("held", "w").close(); time.sleep(1000)';
      const lease = `(setsid python3 -c '${holder}' < /dev/null > /dev/null 2>&1; touch held) & until test -e held; do sleep 0.05; done; git -C inner config core.fsmonitor ./evil`;
      const first = await toldOf(lease, there);
      const second = await toldOf('chmod 000 .git/index', there);
      await there.sh('chmod 644 .git/index');
      await there.close();
      const untold = [
        first.includes('`inner/.git/config`') ? [] : first,
        second.includes('`.git/index`') ? [] : second,
      ];
      return reachedIf(untold.flat().length > 0, `only told: ${untold.flat().join(', ')}`);
    },
  );

  attempt(
    'an agent has an index so long that the last repository in it is not known, and changes that one later untold',
    async () => {
      const there = await Scene.open({ cai, workspace: newWorkspace() });
      await there.sh(
        `git init -q zz && git -C zz -c user.name=a -c user.email=a@b commit -q --allow-empty -m 1
blob=$(git hash-object -w --stdin < /dev/null) && long=$(printf '%0240d/' 0 0 0 0)
(seq -f "100644 $blob 0\t$long%06.f" 56000; echo "160000 $(git -C zz rev-parse HEAD) 0\tzz") | sed 's/\\t/\t/' | git update-index --index-info
git ls-files -s | grep -q ^160000`,
      );
      const told = await toldOf('git -C zz config core.fsmonitor ./evil', there);
      await there.close();
      return reachedIf(
        !told.includes('`.git/index`') && !told.includes('zz/.git/config'),
        `only told: ${told}`,
      );
    },
  );

  attempt(
    'an agent that keeps a protected file from being opened has the user advised to unprotect all',
    async () => {
      const repository = newRepository(cai, 'leased');
      // F_SETLEASE of a lease that nobody else may read under.
      const holder =
        '$SIG{IO} = "IGNORE"; open F, "<", ".git/config"; fcntl F, 1024, 1 or die $!; syswrite STDOUT, "held"; <STDIN>';
      // Only engines that take no filter let an agent do this.
      const leasing = cai.startProgram('perl', ['-e', holder], { cwd: repository });
      await leasing.says('held');
      const args = ['exec', '--workspace', repository, '--', 'true'];
      const { status, stderr } = await cai.run(args);
      leasing.child.stdin.end();
      await leasing.ends();
      if (status === 0) throw new Error('the file was opened');
      return reachedIf(stderr.includes('--writable') || !stderr.includes('lease'), stderr);
    },
  );

  attempt('an agent has git show something else than there is, without the user being told', async () => {
    const there = await Scene.open({ cai, workspace: newRepository(cai, 'shown') });
    // As a repository has it whose references are in git's newer format.
    const table = readFileSync(resolve(__dirname, '../../fixtures/reftable/sha1.ref'));
    ownFile(join(there.workspace, 'table.ref'), table);
    const told = await toldOf(
      `git config --global user.name a; git config --global user.email a@b
       for name in one two three; do echo $name > $name; done; git add .; git commit -qm 2
       git update-index --assume-unchanged one; git update-index --skip-worktree two
       git replace HEAD HEAD~; echo $(git rev-parse HEAD) > .git/info/grafts
       mkdir .git/reftable; mv table.ref .git/reftable; echo table.ref > .git/reftable/tables.list`,
      there,
    );
    const { stdout } = await cai.run(['review', '-w', there.workspace]);
    const packed = await toldOf('git pack-refs --all --prune', there);
    await there.close();
    const hidden = ['`one (changes', '`two (changes', '`.git/refs/replace/d2c837c9'];
    const wanted = [...hidden, '.git/refs/replace/', '.git/info/grafts'];
    const untold = wanted.filter(
      (name) => !told.includes(name) || !stdout.toString().includes(name.replace('`', '')),
    );
    if (!packed.includes('.git/packed-refs')) untold.push('packed-refs');
    return reachedIf(
      untold.length > 0 || told.includes('three'),
      `not told: ${untold.join(', ')}; only: ${told} ${packed}`,
    );
  });

  attempt('an agent makes a link in a git folder, through which git writes, untold', async () => {
    const links = ['.git/FETCH_HEAD', '.git/logs/HEAD'];
    const told = await toldOf(
      `mkdir -p .git/logs && ${links.map((link) => `ln -sf /etc/hostname ${link}`).join(' && ')}`,
    );
    await scene.sh(`rm ${links.join(' ')}`);
    const untold = links.filter((name) => !told.includes(`\`${name}\``));
    return reachedIf(untold.length > 0, `not told: ${untold.join(', ')}`);
  });

  attempt('an agent changes the configuration of a git folder that lies beside .git', async () => {
    const workspace = newRepository(cai, 'separate');
    git(cai, '-C', workspace, 'init', '--quiet', '--separate-git-dir', join(workspace, '.repo'));
    const there = await Scene.open({ cai, workspace });
    await there.tries(
      'git config -f .repo/config core.fsmonitor ./evil; echo evil > .repo/hooks/post-checkout',
    );
    await there.close();
    const config = readFileSync(join(workspace, '.repo/config'), 'utf8');
    return reachedIf(
      config.includes('evil') || existsSync(join(workspace, '.repo/hooks/post-checkout')),
      `.repo/config says: ${config}`,
    );
  });

  attempt('an agent leaves commands to a rebase that the user goes on with untold', async () => {
    const commit = 'git -c user.name=a -c user.email=a@b commit -q --allow-empty -m';
    const told = await toldOf(
      `${commit} 1 && ${commit} 2 && GIT_SEQUENCE_EDITOR='printf "break\nexec ./evil\n" >' git rebase -q -i HEAD~1`,
    );
    return reachedIf(!told.includes('`.git/rebase-merge/git-rebase-todo`'), `only told: ${told}`);
  });

  attempt('an agent makes what only the configuration or git names, and has it run untold', async () => {
    const workspace = newWorkspace();
    git(cai, '-C', workspace, 'config', 'core.hooksPath', '.githooks');
    const own = new Cai(`${hostileConfig()}[protect]\npaths = ["deploy"]\n`);
    const there = await Scene.open({ cai: own, workspace });
    const told = await toldOf('mkdir deploy .githooks && touch deploy/run .githooks/pre-commit', there);
    await there.close();
    const untold = ['deploy/run', '.githooks/pre-commit'].filter((name) => !told.includes(`\`${name}\``));
    return reachedIf(untold.length > 0, `not told: ${untold.join(', ')}`);
  });

  attempt('an agent that prepares a folder has it run once a session is opened there', async () => {
    await scene.sh(
      'mkdir -p packages/app/.vscode && echo {} > packages/app/.vscode/tasks.json && touch -d 2020-01-01 packages/app/.vscode/tasks.json',
    );
    await scene.newSession(join(scene.workspace, 'packages/app'));
    const told = await toldOf('true');
    await scene.newSession();
    return reachedIf(!told.includes('packages/app/.vscode/tasks.json'), `only told: ${told}`);
  });

  attempt('an agent that hides a file among very many has it run without the user being told', async () => {
    const told = await toldOf('mkdir .idea && cd .idea && for i in $(seq 3000); do : > f$i; done');
    return reachedIf(!told.includes('`.idea`'), `only told: ${told}`);
  });

  attempt('an agent that chooses names has the thread show markup of its own', async () => {
    const told = await toldOf('mkdir -p .cursor && touch ".cursor/\\`![x](http:)$(printf \'\\n# Title\')"');
    return reachedIf(!told.includes('`.cursor/\ufffd![x](http:) # Title`'), told);
  });
});

describe('an agent writes what no mount protects', () => {
  attempt(
    'an agent that keeps a hard link to an accepted file changes it without the user being told',
    async () => {
      const workspace = newWorkspace();
      const first = await Scene.open({ cai, workspace });
      await first.sh('mkdir src && echo : > .envrc && ln .envrc src/a');
      await cai.run(['review', '-w', workspace, '--accept']);
      await first.close();
      await cai.run(['stop', '--force', '-w', workspace]);
      const second = await Scene.open({ cai, workspace });
      const told = await toldOf('echo evil > src/a && rm src/a', second);
      await second.close();
      return reachedIf(!told.includes('`.envrc`'), `only told: ${told}`);
    },
  );

  attempt(
    'an agent that puts a folder in the place of a link has it run without the user being told',
    async () => {
      const workspace = newWorkspace();
      ownFile(join(workspace, 'conf/settings.json'), '{}');
      const link = join(workspace, '.vscode');
      symlinkSync('conf', link);
      lchownSync(link, user.uid, user.gid);
      const first = await Scene.open({ cai, workspace });
      await first.sh('rm .vscode && mkdir .vscode && echo {} > .vscode/tasks.json');
      const second = await Scene.open({ cai, workspace });
      await toldOf('true', second);
      const told = await toldOf("echo '{ }' > .vscode/tasks.json", second);
      await second.close();
      await first.close();
      return reachedIf(!told.includes('`.vscode/tasks.json`'), `only told: ${told}`);
    },
  );

  attempt(
    'an agent that changes what was accepted while it runs has it run without the user being told',
    async () => {
      const first = await Scene.open({ cai });
      const { workspace } = first;
      await first.sh('mkdir .vscode && echo {} > .vscode/tasks.json');
      await cai.run(['review', '-w', workspace, '--accept']);
      const second = await Scene.open({ cai, workspace });
      const told = await toldOf("echo '{ }' > .vscode/tasks.json", second);
      await second.close();
      await first.close();
      return reachedIf(!told.includes('`.vscode/tasks.json`'), `only told: ${told}`);
    },
  );

  attempt(
    'an agent that waits for git on the host to replace its configuration changes it untold',
    async () => {
      const workspace = newRepository(cai, 'replaced');
      const first = await Scene.open({ cai, workspace });
      git(cai, '-C', workspace, 'config', 'user.note', 'one');
      git(cai, '-C', workspace, 'config', 'user.note', 'two');
      const second = await Scene.open({ cai, workspace });
      await toldOf('true', second);
      const told = await toldOf('echo "[core] fsmonitor = ./evil" >> .git/config', second);
      await second.close();
      await first.close();
      return reachedIf(!told.includes('`.git/config`'), `only told: ${told}`);
    },
  );
});

describe('an agent writes beside its workspace', () => {
  attempt('an agent in a linked worktree redirects the configuration of its repository untold', async () => {
    const repository = newRepository(cai, 'outer');
    ownFolder(join(folder, 'worktrees-beside'));
    const workspace = join(folder, 'worktrees-beside/tree');
    git(cai, '-C', repository, 'worktree', 'add', '--quiet', workspace);
    const there = await Scene.open({ cai, workspace });
    const name = join(repository, '.git/commondir');
    const told = await toldOf(`git init -q --bare evil && echo ${workspace}/evil > ${name}`, there);
    const { stdout } = await cai.run(['review', '-w', workspace]);
    await there.close();
    const shown = stdout.toString();
    return reachedIf(!told.includes(`\`${name}\``) || !shown.includes(name), `told: ${told} shown: ${shown}`);
  });

  attempt(
    'an agent leaves something to run in a mounted folder untold, or known once it is a workspace',
    async () => {
      const workspace = newWorkspace();
      const mounted = newRepository(cai, 'mounted-beside');
      const own = new Cai(`${hostileConfig()}[[mounts]]\npath = "${mounted}"\n`);
      const first = await Scene.open({ cai: own, workspace });
      const names = [join(mounted, '.git/commondir'), join(mounted, '.vscode/tasks.json')];
      const told = await toldOf(
        `cd ${mounted} && mkdir .vscode && echo {} > .vscode/tasks.json && echo . > .git/commondir`,
        first,
      );
      const shown = (await own.run(['review', '-w', workspace])).stdout.toString();
      await first.sh(`rm ${names[0]}`);
      await first.close();
      own.configure(hostileConfig());
      const second = await Scene.open({ cai: own, workspace: mounted });
      const later = (await own.run(['review', '-w', mounted])).stdout.toString();
      await second.close();
      const untold = names.filter((name) => !told.includes(name) || !shown.includes(name));
      const isKnown = !later.includes('.vscode/tasks.json');
      return reachedIf(untold.length > 0 || isKnown, `told: ${told} shown: ${shown} later: ${later}`);
    },
  );
});

describe('an agent is reviewed', () => {
  attempt('an agent that makes a link has cai review show a file of the user', async () => {
    await scene.sh(`ln -sf ${secret} .envrc && ln -sfn ${join(cai.home, 'private')} .devcontainer`);
    const { stdout } = await review();
    return reachedIf(stdout.includes('SECRET'), stdout);
  });

  attempt('an agent that makes a FIFO or an endless file has cai review wait for ever', async () => {
    await scene.sh('rm -f mise.toml && mkfifo mise.toml && truncate -s 7T .mcp.json && mkfifo .zed/fifo');
    const started = Date.now();
    await review();
    return reachedIf(Date.now() - started > 15_000, `${Date.now() - started} ms`);
  });

  attempt('an agent that writes control characters has cai review steer the terminal', async () => {
    await scene.sh(
      "printf '\\033[2J\\033]0;x\\007' > .zed/escape && touch \"$(printf '.zed/\\033[2Jname')\"",
    );
    const { stdout } = await review();
    return reachedIf(/[^\t\n\u0020-\ufffd]/u.test(stdout), JSON.stringify(stdout));
  });

  attempt(
    'an agent that swaps folders for links has cai review --restore remove a file of the user',
    async () => {
      await scene.sh(
        `rm -rf .vscode .devcontainer && mkdir -p real && echo {} > real/tasks.json &&
       ln -s ${join(cai.home, 'private')} away && cp -r real .vscode &&
       (setsid sh -c 'while [ -e real ]; do
          mv -T .vscode was && mv -T away .vscode; mv -T .vscode away && mv -T was .vscode;
          [ -e .vscode/tasks.json ] || { mkdir -p .vscode; echo {} > .vscode/tasks.json; }
        done' > /dev/null 2>&1 &)`,
      );
      for (let i = 0; i < 30; i++) await review('--restore');
      await scene.sh('rm -r real');
      const left = existsSync(secret) ? readFileSync(secret, 'utf8') : 'nothing';
      const others = readdirSync(join(cai.home, 'private')).filter((name) => name !== 'tasks.json');
      return reachedIf(
        left !== 'SECRET OF THE USER\n' || others.length > 0,
        `${left}; made there: ${others.join(', ')}`,
      );
    },
  );

  attempt(
    'an agent that swaps folders for links has cai review --restore keep a file of the user',
    async () => {
      const records = join(cai.home, 'state/containai/review');
      const names = readdirSync(records, { recursive: true, encoding: 'utf8', withFileTypes: true });
      const kept = names.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
      const found = kept.filter((file) => readFileSync(file, 'utf8').includes('SECRET'));
      return Promise.resolve(reachedIf(found.length > 0, found.join(', ')));
    },
  );
});
