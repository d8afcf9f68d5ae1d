/** Attacks on what of the host a container is given: by links, by git folders, by what another workspace's agent writes. */
import { chmodSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { provideImages } from '../engine/model';
import { buildTimeoutMs, Place } from '../engine/place';
import { git, nameAuthor, newRepository } from '../engine/repository';
import { rightsOf } from '../engine/rights';
import { Cai, folder, newWorkspace, ownFile, ownFolder } from '../engine/support';
import { attempt, reachedIf } from './attempt';
import { Canary } from './canary';
import { agent, hostileConfig, Scene } from './hostile-agent';

let secret: string;
let cai: Cai;
/** A workspace whose agent is hostile. */
let evil: Place;

beforeAll(async () => {
  await provideImages(agent);
  secret = join(folder, 'private/secret');
  ownFile(secret, 'SECRET OF THE USER\n');
  cai = new Cai(hostileConfig());
  nameAuthor(cai);
  evil = await new Place(cai).opened();
}, buildTimeoutMs);

/** What a new container of another workspace gets of the secret, with this besides in the user's configuration. */
async function secretWith(config: string, ...paths: string[]): Promise<string | undefined> {
  const before = hostileConfig();
  cai.configure(before + config);
  try {
    const { stdout, stderr } = await new Place(cai).run(['cat', ...paths]);
    if (stdout.length === 0 && stderr === '') throw new Error('nothing was tried');
    return reachedIf(stdout.includes('SECRET'), stdout.toString());
  } finally {
    cai.configure(before);
  }
}

describe('what the user has configured', () => {
  attempt('an agent puts a link where a mount of the user’s lies in its workspace', async () => {
    const path = join(evil.workspace, 'notes');
    ownFolder(path);
    await evil.prints(['sh', '-c', `mv notes was && ln -s ${dirname(secret)} notes`]);
    return await secretWith(`[[mounts]]\npath = "${path}"\n`, `${path}/secret`, secret);
  });

  attempt(
    'an agent puts a link where the way to a mount of the user’s leads through its workspace',
    async () => {
      const path = join(evil.workspace, 'deep/private');
      ownFolder(path);
      await evil.prints(['sh', '-c', `mv deep other && ln -s ${folder} deep`]);
      return await secretWith(`[[mounts]]\npath = "${path}"\n`, `${path}/secret`, secret);
    },
  );

  attempt('an agent puts a link where the user’s file of certificates lies in its workspace', async () => {
    const path = join(evil.workspace, 'ca.pem');
    await evil.prints(['sh', '-c', `ln -s ${secret} ca.pem`]);
    ownFile(cai.configFile, `[network]\nca_file = "${path}"\n${hostileConfig()}`);
    const { stdout } = await new Place(cai).run(['cat', '/run/cai/ca.pem']);
    cai.configure(hostileConfig());
    return reachedIf(stdout.includes('SECRET'), stdout.toString());
  });

  attempt('an agent has its program run as a host server that lies in its workspace', async () => {
    const user = new Cai(`${hostileConfig()}[mcp]\nhost_servers = ["host-tool"]\n`);
    const canary = new Canary(user);
    await new Place(user, evil.workspace).opened();
    const program = join(evil.workspace, 'host-tool');
    ownFile(program, `#!/bin/sh\n${canary.sh}\n`);
    chmodSync(program, 0o755);
    user.env.PATH = `${evil.workspace}:${process.env.PATH}`;
    const scene = await Scene.open({ cai: user });
    const mcpServers = [program, 'host-tool'].map((command) => ({
      name: 'host-tool',
      command,
      args: [],
      env: [],
    }));
    await scene.editor.request('session/new', { cwd: scene.workspace, mcpServers });
    await scene.close();
    return canary.sung;
  });
});

describe('what a repository says about itself', () => {
  /** What a container of a new repository may more after one of these scripts in it. */
  async function gainedBy(...scripts: string[]): Promise<string | undefined> {
    const place = await new Place(cai).opened();
    const before = await rightsOf(place, secret);
    for (const script of scripts) {
      const anew = 'rm -rf .git repository && git init --quiet .';
      await cai.startProgram('sh', ['-c', `${anew} && ${script}`], { cwd: place.workspace }).succeeds();
      const { status } = await cai.run(['exec', '--fresh', '-w', place.workspace, '--', 'true']);
      const now = status === 0 ? await rightsOf(place, secret) : before;
      // What is protected of the git folder differs with it, and lies in the workspace.
      const known = before.split('\n');
      const isNew = (line: string) => !known.includes(line) && !line.startsWith(`bind ${place.workspace}/`);
      const more = now.split('\n').filter(isNew);
      if (more.length > 0) return `${script}: ${more.join('\n')}`;
    }
    return undefined;
  }

  attempt(
    'a repository that says it lies elsewhere has that mounted',
    async () => await gainedBy('git config core.worktree /', `git config core.worktree ${folder}`),
  );

  attempt(
    'a repository whose .git file or link names the git folder of another has that mounted',
    async () => {
      const other = newRepository(cai, 'elsewhere');
      git(cai, '-C', other, 'worktree', 'add', '--quiet', join(other, 'tree'));
      return await gainedBy(
        `rm -rf .git && echo "gitdir: ${other}/.git" > .git`,
        `rm -rf .git && echo "gitdir: ${other}/.git/worktrees/tree" > .git`,
        `rm -rf .git && ln -s ${other}/.git .git`,
      );
    },
  );

  attempt(
    'a repository with a git folder that claims to be a worktree’s has another folder mounted',
    async () =>
      await gainedBy(`mv .git repository && mkdir -p repository/worktrees/w &&
      echo "$PWD/.git" > repository/worktrees/w/gitdir && echo ${dirname(secret)} > repository/worktrees/w/commondir &&
      echo "gitdir: $PWD/repository/worktrees/w" > .git`),
  );

  attempt('a folder of the kernel is a workspace', async () => {
    const sleeps = cai.startProgram('sleep', ['3210'], { cwd: dirname(secret) });
    const paths = [`/proc/${sleeps.pid}/cwd`, `/proc/${sleeps.pid}/root${dirname(secret)}`];
    try {
      for (const path of [...paths, `/proc/${sleeps.pid}`, '/proc/self', '/sys/kernel', '/dev/shm']) {
        const { status, stdout } = await cai.run([
          'exec',
          '--quiet',
          '-w',
          path,
          '--',
          'sh',
          '-c',
          'ls; cat secret',
        ]);
        if (status === 0 || stdout.includes('SECRET')) return `${path}: ${stdout.toString()}`;
      }
      return undefined;
    } finally {
      sleeps.child.kill('SIGKILL');
    }
  });
});

describe('a workspace in another', () => {
  attempt('an agent that exchanges an inner workspace and a link has the link’s target mounted', async () => {
    const inner = newWorkspace(`${evil.workspace.split('/').pop()}/inner`);
    await new Place(cai, inner).opened();
    const swap = `while :; do mv inner was && ln -s ${dirname(secret)} inner; rm inner && mv was inner; echo swapped; done`; // prettier-ignore
    const swaps = evil.start(['sh', '-c', swap]);
    await swaps.says('swapped');
    try {
      for (let round = 0; round < 5; round++) {
        await cai.run(['rm', '--force', '-w', inner]);
        const { stdout } = await new Place(cai, inner).run([
          'sh',
          '-c',
          `cat ${inner}/secret ${secret} ./secret`,
        ]);
        if (stdout.includes('SECRET')) return `${stdout.toString()}, in round ${round}`;
      }
      return undefined;
    } finally {
      swaps.child.kill('SIGKILL');
    }
  });
});
