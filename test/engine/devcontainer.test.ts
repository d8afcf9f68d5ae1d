import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import {
  base,
  hasDevcontainers,
  inside,
  marked,
  newProject,
  newUser,
  removeImages,
  trust,
} from './devcontainers';
import { buildTimeoutMs } from './place';
import { git, nameAuthor } from './repository';
import type { Ended } from './running';
import { docker, folder, ownFolder, type Cai } from './support';

const describeIfBuilt = hasDevcontainers ? describe : describe.skip;

let cai: Cai;

beforeAll(() => {
  cai = newUser();
});

afterAll(removeImages);

const prints = async (workspace: string, script: string): Promise<string> =>
  (await inside(cai, workspace, script)).text;

describeIfBuilt('a development container', () => {
  const ownFeature = {
    '.devcontainer/own/devcontainer-feature.json': {
      id: 'own',
      version: '1.0.0',
      options: { greeting: { type: 'string', default: 'none' } },
      containerEnv: { FROM_FEATURE: 'yes' },
    },
    '.devcontainer/own/install.sh': 'echo "$GREETING" > /feature; echo "$_REMOTE_USER" >> /feature\n',
  };
  const settings = {
    build: {
      dockerfile: 'Dockerfile',
      context: '..',
      args: { WORD: 'arg' },
      target: 'dev',
      options: ['--network=none'],
    },
    features: { './own': { greeting: 'hello' } },
    remoteUser: 'node',
    containerEnv: { ONE: '1', SECRET: '[${localEnv:CAI_TEST_SECRET}${localEnv:HOME}]' },
    remoteEnv: {
      TWO: '${containerEnv:ONE}2',
      PATH: '${containerEnv:PATH}:/extra',
      PLACE: '${containerWorkspaceFolder}',
    },
    onCreateCommand: 'echo "create $ONE $(id -u)" >> /tmp/hooks; pwd >> /tmp/hooks',
    updateContentCommand: ['sh', '-c', 'echo update >> /tmp/hooks'],
    postCreateCommand: { one: 'echo post >> /tmp/hooks', two: ['touch', '/tmp/two'] },
    postStartCommand: 'echo start >> /tmp/hooks',
    forwardPorts: [18_231],
    customizations: { containai: { container: { pids: 200 } } },
  };
  const files = {
    ...ownFeature,
    'copied.txt': 'copied\n',
    'unread.txt': 'unread\n',
    '.devcontainer/Dockerfile': `FROM ${base} AS dev\nARG WORD\nCOPY copied.txt /copied\nRUN echo "$WORD" > /arg && mkdir -p /home/node/.tool && echo tool > /home/node/.tool/x && chown -R node /home/node\nUSER node\nFROM scratch\n`,
  };
  let workspace: string;
  let first: Ended;

  beforeAll(async () => {
    workspace = newProject(settings, files);
    await trust(cai, workspace);
    first = await cai.run(
      ['exec', '--workspace', workspace, '--', 'sh', '-c', 'cat /tmp/hooks /feature /copied /arg'],
      { limitMs: buildTimeoutMs, env: { ...cai.env, CAI_TEST_SECRET: 'secret-1' } },
    );
    if (first.status !== 0) throw new Error(first.stderr);
  }, buildTimeoutMs);

  test('is built as it says, and its commands run inside before any other', () => {
    expect(first.stdout.toString().split('\n')).toEqual([
      expect.stringMatching(/^create 1 \d+$/),
      workspace,
      ...['update', 'post', 'start', 'hello', 'node', 'copied', 'arg', ''],
    ]);
    expect(first.stderr).toMatch(/cai: running onCreateCommand\n/);
    expect(first.stderr).toMatch(/cai: running postCreateCommand \(one\)\n/);
  });

  test('runs its commands once', async () => {
    expect(await prints(workspace, 'grep -c . /tmp/hooks; test -e /tmp/two')).toBe('5');
  });

  test('has its variables inside, and none of this machine', async () => {
    const script = 'echo "$ONE $TWO $PLACE $SECRET $FROM_FEATURE $HOME $PATH"';

    expect(await prints(workspace, script)).toMatch(
      new RegExp(`^1 12 ${workspace} \\[\\] yes /home/agent /.*:/extra:`),
    );
  });

  test('lets the user of this machine use the home folder of its own user', async () => {
    expect(
      await prints(workspace, 'id -un; cat ~/.tool/x; touch /home/node/.tool/y; cat /home/node/.tool/x'),
    ).toBe('agent\ntool\ntool');
  });

  test('tells who asks for root what to do instead', async () => {
    expect(await prints(workspace, 'sudo true 2>&1 || true')).toMatch(
      /^sudo: nobody becomes root .*'cai trust'/,
    );
  });

  test('has what it says to cai in effect', async () => {
    const id = await docker('ps', '--quiet', '--filter', `label=containai.workspace=${workspace}`);

    expect(await docker('inspect', '--format', '{{.HostConfig.PidsLimit}}', id)).toBe('200');
  });

  test('offers its ports by cai forward', async () => {
    const server = cai.start([
      ...['exec', '--workspace', workspace, '--', 'node', '-e'],
      'require("http").createServer((_, to) => to.end("inside")).listen(18231, "127.0.0.1", () => console.log("ready"))',
    ]);
    await server.says('ready');
    const forward = cai.start(['forward', '--workspace', workspace]);
    await forward.says('http://127.0.0.1:18231');

    const answer = await new Promise<string>((resolve, reject) => {
      request('http://127.0.0.1:18231', (from) => from.once('data', (data) => resolve(String(data))))
        .on('error', reject)
        .end();
    });

    expect(answer).toBe('inside');
    for (const each of [forward, server]) each.child.kill('SIGTERM');
    await Promise.all([forward.ended, server.ended]);
  });

  test(
    'tells a command that fails, and runs none after it',
    async () => {
      const other = newProject(
        { onCreateCommand: 'echo the cause; exit 3', postCreateCommand: 'touch /tmp/post' },
        marked,
      );
      await trust(cai, other);

      const { text, stderr } = await inside(cai, other, 'ls /tmp');

      expect(text).not.toContain('post');
      expect(stderr).toMatch(/onCreateCommand of devcontainer.json failed with status 3, .*\n.*the cause/);
      expect((await inside(cai, other, 'true')).stderr).not.toContain('failed');
      expect(await cai.run(['forward', '--workspace', other])).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('name a port, such as "cai forward 5173"') as string,
      });
    },
    buildTimeoutMs,
  );
});

describeIfBuilt('two worktrees of one repository', () => {
  test(
    'each have a container of their own, at the same time',
    async () => {
      nameAuthor(cai);
      const main = newProject({}, marked);
      git(cai, '-C', main, 'add', '.');
      git(cai, '-C', main, 'commit', '--quiet', '--message', 'first');
      const trees = ['one', 'two'].map((each) => join(folder, 'trees', each));
      ownFolder(join(folder, 'trees'));
      for (const tree of trees) git(cai, '-C', main, 'worktree', 'add', '--quiet', tree);
      for (const tree of trees) await trust(cai, tree);

      const script =
        'test -e /from-devcontainer && echo "$HOSTNAME $(pwd)" && echo x > "mine-$(basename $PWD)" && ls';
      const printed = await Promise.all(trees.map((tree) => prints(tree, script)));

      printed.forEach((text, index) => {
        expect(text).toContain(trees[index]);
        expect(text).not.toContain(`mine-${index === 0 ? 'two' : 'one'}`);
      });
      expect(new Set(printed.map((text) => text.split(' ')[0])).size).toBe(2);
    },
    buildTimeoutMs,
  );
});

describeIfBuilt('an image of another distribution', () => {
  const script = readFileSync(join(__dirname, '../../src/container/image/set-up'), 'utf8');

  /** What `set-up` says in an image that was changed so; whether it fails does not matter. */
  const setUp = async (change: string, part: string): Promise<string> => {
    const whole = `exec 2>&1; printf %s "$SET_UP" > /set-up; mkdir -p /run/cai-build\n${change}\nsh /set-up ${part} || true; mkdir -p /usr/local/lib/cai; find /usr/local/lib/cai -type f`;
    const options = ['--rm', '--network=none', '--user=0', '--entrypoint=', '--env', `SET_UP=${script}`];
    return await docker('run', ...options, 'node:22-bookworm-slim', 'sh', '-c', whole);
  };
  const instead = (name: string) =>
    `rm /usr/bin/apt-get; printf '#!/bin/sh\necho ${name} "$@"\n' > /usr/bin/${name}; chmod 755 /usr/bin/${name}`;

  test.each([
    ['apk', 'apk add --no-cache bash ca-certificates curl git openssh-client openssh-server perl procps'],
    ['dnf', 'dnf install -y bash ca-certificates curl git openssh-clients openssh-server perl-interpreter'],
    ['microdnf', 'microdnf install -y bash ca-certificates'],
  ])('gets its packages by %s, and says what it still lacks', async (name, line) => {
    const said = await setUp(
      `${instead(name)}; mkdir -p /etc/pki/tls/certs; : > /etc/pki/tls/certs/ca-bundle.crt`,
      'all',
    );

    expect(said).toContain(line);
    expect(said).toContain('cai: this image lacks /usr/sbin/sshd, which cai needs');
  });

  test('is told where nothing is known of it', async () => {
    expect(await setUp('rm /usr/bin/apt-get', 'all')).toContain(
      'cai: this image has neither apt-get, apk nor dnf: base it on Debian, Ubuntu, Alpine or Fedora',
    );
  });

  test('gets Node only if it has none that is recent', async () => {
    const given = 'mkdir -p /run/cai-build/node/bin; cp /usr/local/bin/node /run/cai-build/node/bin/node';
    const old = `printf '#!/bin/sh\nexit 1\n' > /usr/local/bin/node`;

    expect(await setUp(given, 'node')).toBe('');
    expect(await setUp(`${given}; ${old}`, 'node')).toBe('/usr/local/lib/cai/node/bin/node');
    expect(await setUp(`${given}; rm /usr/local/bin/node`, 'node')).toBe('/usr/local/lib/cai/node/bin/node');
  });
});
