import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import type { Facts, Check } from '../../../src/commands/doctor/checks';
import { disk, engine, installedBy, labels, user, shares } from '../../../src/commands/doctor/engine';
import { recordName } from '../../../src/system/state-folder';
import { record } from '../../../src/workspace/records';
import { cai, userWith, type CliOptions } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { newFolder } from '../../support/temp-folder';

const nowhere = { DOCKER_HOST: 'unix:///no/such/engine.sock' };

/** A user without an engine, in a new repository. */
function userInRepository(config = '', env: NodeJS.ProcessEnv = nowhere) {
  const cwd = newFolder();
  execFileSync('git', ['init', '--quiet', cwd], { env: { PATH: process.env.PATH } });
  return { ...userWith(config, env), cwd };
}

async function examine(options: CliOptions, args: readonly string[] = []) {
  const { status, stdout, stderr } = await runHere(['doctor', '--json', ...args], options);
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] };
  const find = (name: string): Check => checks.find((check) => check.name === name)!;
  return { status, stderr, ok, checks, find };
}

describe('cai doctor without an engine', () => {
  test('looks at all that needs none, and fails', async () => {
    const options = userInRepository();

    const { status, stderr, ok, checks, find } = await examine(options);

    expect({ status, stderr, ok }).toEqual({ status: 1, stderr: '', ok: false });
    expect(checks.map(({ name }) => name)).toEqual([
      ...['node', 'workspace', 'state folder', 'keys', 'configuration', 'network'],
      ...['credentials', 'editor', 'context'],
      ...['engine', 'user', 'memory', 'disk', 'image'],
      ...['container', 'as made', 'ssh', 'agent', 'data', 'sign-ins'],
    ]);
    expect(checks.filter((check) => check.status === 'fail').map(({ name }) => name)).toEqual(['engine']);
    expect(find('workspace')).toEqual({
      name: 'workspace',
      status: 'ok',
      detail: `"${options.cwd}", mounted under its own path`,
    });
    expect(find('engine').detail).toContain('start it');
    expect(find('ssh')).toEqual({ name: 'ssh', status: 'skip', detail: 'this needs the engine' });
  });

  test('tells people the same, with what to do below', async () => {
    const { status, stdout, stderr } = await runHere(['doctor'], userWith('', nowhere));

    expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
    expect(stdout).toMatch(/^ok {4}node {10}\d+\.\d+\.\d+$/m);
    expect(stdout).toMatch(/^warn {2}workspace {5}.* cannot be a workspace, because it is the home folder/m);
    expect(stdout).toContain('\n                    -> name one: cai doctor --workspace FOLDER\n');
    expect(stdout).toMatch(/\n\n\d+ ok, \d+ to look at, 1 failed\n$/);
  });

  test('changes nothing', async () => {
    const options = userInRepository();

    await examine(options);

    expect(existsSync(join(options.env!.HOME!, '.local'))).toBe(false);
  });

  test('fails for a state folder that cannot be made, and says what to do', async () => {
    const file = join(newFolder(), 'file');
    writeFileSync(file, '');

    const { status, find } = await examine(userInRepository('', { ...nowhere, XDG_STATE_HOME: file }));

    expect(status).toBe(1);
    expect(find('state folder')).toMatchObject({
      status: 'fail',
      detail: expect.stringMatching(/file\/containai cannot be used, .*not a directory/) as string,
      remedy: expect.stringContaining('or set XDG_STATE_HOME') as string,
    });
    expect(find('keys')).toMatchObject({ status: 'skip', detail: 'this needs the state folder' });
  });

  test('says where the configuration is wrong, and goes on', async () => {
    const options = userInRepository('[agent]\ndefualt = "x"');

    const { status, find } = await examine(options);

    expect(status).toBe(1);
    expect(find('configuration').detail).toContain(`${options.file}:2:`);
    expect(find('context').status).toBe('ok');
    expect(find('engine').status).toBe('fail');
  });

  test('tells what a repository asks for in vain', async () => {
    const options = userInRepository();
    mkdirSync(join(options.cwd, '.containai'));
    writeFileSync(join(options.cwd, '.containai/config.toml'), '[image]\nbase = "theirs"\n');

    const { find } = await examine(options);

    expect(find('configuration').status).toBe('warn');
    expect(find('configuration').detail).toContain('"image.base" is ignored');
  });

  test('refuses an agent that is none', async () => {
    const { find } = await examine(userInRepository(), ['--agent', 'nobody']);

    expect(find('configuration').status).toBe('fail');
    expect(find('configuration').detail).toContain('Unsupported agent: nobody\n');
    expect(JSON.stringify(find('editor'))).not.toContain('nobody');
  });

  test('fails for a folder that is named and can be no workspace', async () => {
    const { find } = await examine(userInRepository(), ['--workspace', '/gone']);

    expect(find('workspace').status).toBe('fail');
    expect(find('workspace').detail).toContain('does not exist');
  });

  test('fails for a folder whose workspace has become a wider one, with one remedy', async () => {
    const { cwd, ...user } = userInRepository();
    const folder = join(cwd, 'sub');
    mkdirSync(folder);
    record(new Host({ ...user.env, PATH: process.env.PATH }).folders.state, 'roots', folder, folder);

    const { status, find } = await examine({ ...user, cwd: folder });

    expect(status).toBe(1);
    expect(find('workspace')).toEqual({
      name: 'workspace',
      status: 'fail',
      detail: expect.stringMatching(/belonged to the workspace .*: cai trust "[^"]*\/sub"$/) as string,
    });
    expect(find('container').status).toBe('skip');
  });

  test('warns where nothing is protected, and says what sets that', async () => {
    const options = userInRepository('[protect]\noff = true');

    const { find } = await examine(options);

    expect(find('protection')).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining('agents can write what programs on this machine execute') as string,
      remedy: expect.stringMatching(/^remove this .* done: .*config\.toml:2: "protect\.off"$/) as string,
    });
  });

  test('tells how containers reach other machines, and where to look if something cannot connect', async () => {
    const { find } = await examine(userInRepository('[network]\negress = "listed"'));

    expect(find('network')).toEqual({
      name: 'network',
      status: 'ok',
      detail: 'egress = "listed"; what could not connect, and why: cai network log',
    });
  });

  test('warns where containers reach everything, and says what sets that', async () => {
    const { find } = await examine(userInRepository('[network]\negress = "open"'));

    expect(find('network')).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining('containers reach whatever this machine reaches') as string,
      remedy: expect.stringMatching(/^remove this .*config\.toml:2: "network\.egress"$/) as string,
    });
  });

  test('fails for decisions about the network that cannot be read', async () => {
    const options = userInRepository();
    const { state } = new Host({ ...options.env, PATH: process.env.PATH }).folders;
    mkdirSync(join(state, 'network'), { recursive: true });
    writeFileSync(join(state, 'network', `${recordName(options.cwd)}.json`), '{');

    const { find } = await examine(options);

    expect(find('network')).toMatchObject({
      status: 'fail',
      detail: expect.stringContaining('is damaged') as string,
    });
  });

  test('tells whether the keys can be had that stay on this machine', async () => {
    const from = (source: string) => `[[credentials]]\nfor = "anthropic"\nfrom = ${source}`;
    const good = await examine(userInRepository(from('["echo", "key"]')));
    const bad = await examine(userInRepository(from('"env:NOWHERE"')));

    expect(good.find('credentials')).toMatchObject({
      status: 'ok',
      detail: 'put in on the way out: anthropic',
    });
    expect(bad.find('credentials')).toMatchObject({
      status: 'fail',
      detail: 'the key for anthropic cannot be had from env:NOWHERE: no key is there',
    });
  });

  test('warns of keys that agents have', async () => {
    const { find } = await examine(userInRepository('[env]\nimport = ["LANG", "MY_API_KEY"]'));

    expect(find('credentials')).toMatchObject({
      status: 'warn',
      detail: 'agents have what is in MY_API_KEY, and can send it away',
    });
  });

  // Giving a file to somebody else takes root.
  (process.getuid?.() === 0 ? test : test.skip)('warns of a repository of another user', async () => {
    const { cwd, ...user } = userInRepository();
    const folder = join(cwd, 'sub');
    mkdirSync(folder);
    for (const each of [cwd, join(cwd, '.git')]) chownSync(each, 54_321, 54_321);

    const { find } = await examine({ ...user, cwd: folder });

    expect(find('workspace')).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining(`safe.directory "${cwd}"`) as string,
    });
  });

  test('fails for a key that others can read', async () => {
    const options = userInRepository();
    const folder = join(options.env!.HOME!, '.local/state/containai/ssh');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, 'id_ed25519'), 'x');
    chmodSync(join(folder, 'id_ed25519'), 0o644);

    const { find } = await examine(options);

    expect(find('keys').status).toBe('fail');
    expect(find('keys').detail).toContain('chmod 600');
  });

  test('names the contexts that there are', async () => {
    const { find } = await examine(userInRepository('', { DOCKER_CONTEXT: 'gone' }));

    expect(find('context').status).toBe('fail');
    expect(find('context').detail).toContain('choose one of');
    expect(find('engine').status).toBe('skip');
  });

  test('gives the whole command for an editor that would not find it', async () => {
    const { find } = await examine(userInRepository(), ['--agent', 'gemini']);

    const { status, detail, remedy } = find('editor');
    expect(status === 'ok' ? detail : remedy).toContain(
      status === 'ok'
        ? 'cai --acp gemini'
        : `"${process.execPath}" with the arguments "${cai}" "--acp" "gemini"`,
    );
  });
});

const root = { uid: 0, gid: 0 };

/** Facts of which only these are known. */
function factsOf(settings: object, about: object): Facts {
  const facts = { configured: { settings }, engine: { about } };
  return facts as unknown as Facts;
}

describe('engine', () => {
  const all = {
    memory: true,
    pids: true,
    cpus: true,
    systemCalls: true,
    restart: true,
    build: true,
  };

  /** What is said of an engine that can do all but this. */
  async function said(lacking: object, osType = 'linux') {
    const about = { name: 'Docker 29.0, API 1.52', osType, can: { ...all, ...lacking } };
    const named = { connect: () => Promise.resolve({ about: () => Promise.resolve(about) }) };
    return await engine({ named } as unknown as Facts);
  }

  test('is named, and what it cannot do, with what to do about it, each once', async () => {
    expect(await said({})).toEqual({ status: 'ok', detail: 'Docker 29.0, API 1.52' });
    expect(await said({ memory: false, cpus: false, systemCalls: false })).toEqual({
      status: 'warn',
      detail:
        'Docker 29.0, API 1.52: it cannot limit memory, limit processors, filter system calls by our profile',
      remedy:
        'turn on the cgroup controllers for that, so that an agent cannot take the whole machine; turn on seccomp, or use an engine on this machine, so that agents cannot use every system call',
    });
  });

  test('is of no use where its containers are of another system', async () => {
    expect(await said({}, 'windows')).toMatchObject({
      status: 'fail',
      detail: 'Docker 29.0, API 1.52: its containers are windows',
    });
  });
});

describe('disk', () => {
  const kept = "which the container's first process keeps";

  test.each([
    [undefined, undefined, `no limit: set container.disk for one, ${kept}`],
    [
      2 ** 30,
      'overlay2 on extfs',
      `1.0 GiB, ${kept}; the engine's own quotas are not used (overlay2 on extfs has none)`,
    ],
    [
      2 ** 30,
      'overlay2 on xfs',
      `1.0 GiB, ${kept}; the engine's own quotas are not used (overlay2 on xfs has them for layers alone)`,
    ],
  ])('says who limits it: %j, %j', (diskBytes, storage, detail) => {
    expect(disk(factsOf({ diskBytes }, { storage }))).toEqual({ status: 'ok', detail });
  });
});

describe('shares', () => {
  const bind = { source: '/srv/app', target: '/srv/app' };

  /** What is said of an engine on another machine with such a container. */
  async function said(info: object | undefined) {
    const client = {
      checkBinds: () => Promise.resolve(),
      inspectContainer: () => Promise.resolve(info && { mounts: [bind], ...info }),
      logsTail: () => Promise.resolve('cai: /srv/app is not the same there as here\n'),
    };
    const settings = { binds: [bind], hostUser: root, agent: 'claude' };
    const facts = { configured: { settings }, engine: { client, about: { machine: 'far' } } };
    return await shares(facts as unknown as Facts);
  }

  test('are not looked at with an engine here', async () => {
    expect(await shares(factsOf({}, {}))).toBeUndefined();
  });

  test('are the same once a container runs, and not known before', async () => {
    expect((await said({ isRunning: true, exitCode: 0 }))?.detail).toMatch(/ are the same on far as here$/);
    expect((await said({ isRunning: false, exitCode: 0 }))?.detail).toMatch(/ is seen when it starts$/);
    expect((await said(undefined))?.detail).toMatch(/ is seen when it starts$/);
  });

  test('are not the same where the container has ended for that', async () => {
    await expect(said({ isRunning: false, exitCode: 116 })).rejects.toThrow(
      '"/srv/app" is not the same on the machine of the engine, far, as here',
    );
  });
});

describe('labels', () => {
  const folder = newFolder();
  const enforcing = join(folder, 'enforce');
  const about = { isLabelled: true, sharesKernel: true };

  /** What is said of a workspace with that label. */
  async function said(label: string, { is = about, enforce = '1' } = {}) {
    writeFileSync(enforcing, enforce);
    writeFileSync(join(folder, 'stat'), `#!/bin/sh\necho '${label}'\n`, { mode: 0o755 });
    const host = new Host({ PATH: folder, HOME: folder });
    const facts = { host, configured: { settings: { workspace: '/w x' } }, engine: { about: is } };
    return await labels(facts as unknown as Facts, enforcing);
  }

  test.each(['u:object_r:user_home_t:s0', 'u:object_r:container_file_t:s0:c1,c2'])(
    'say where SELinux keeps containers out of the workspace: %s',
    async (label) => {
      expect(await said(label)).toEqual({
        status: 'fail',
        detail: `SELinux keeps containers out of "/w x", which has the label ${label}`,
        remedy: expect.stringContaining("chcon -R -t container_file_t -l s0 '/w x'") as string,
      });
    },
  );

  test('are right where containers may use it, and nothing is said where SELinux does not decide', async () => {
    const other = 'u:object_r:user_home_t:s0';

    expect((await said('u:object_r:container_file_t:s0'))?.status).toBe('ok');
    expect(await said(other, { enforce: '0' })).toBeUndefined();
    expect(await said(other, { is: { ...about, sharesKernel: false } })).toBeUndefined();
    expect(await said(other, { is: { ...about, isLabelled: false } })).toBeUndefined();
  });
});

describe('user', () => {
  test('warns where cai runs as root and commands cannot write in the workspace', async () => {
    expect(await user(factsOf({ hostUser: root, workspace: '/usr' }, { isRootless: false }))).toEqual({
      status: 'warn',
      detail: expect.stringMatching(/with the user id 1000, which cannot write in "\/usr"$/) as string,
      remedy: expect.stringMatching(/^run cai as .*, or: chown -R 1000:1000 "\/usr"$/) as string,
    });
  });

  test.each([
    ['all can write in the workspace', root, '/tmp', false],
    ['there is no workspace', root, undefined, false],
    ['the user is an ordinary one', { uid: 4711, gid: 4711 }, '/usr', false],
    ['the engine is rootless', { uid: 4711, gid: 4711 }, '/usr', true],
  ])('warns of nothing where %s', async (_where, hostUser, workspace, isRootless) => {
    expect((await user(factsOf({ hostUser, workspace }, { isRootless }))).status).toBe('ok');
  });
});

describe('installedBy', () => {
  const request = {
    agent: 'mine',
    packages: [],
    image: { autoBuild: true, base: 'x', apt: [], packages: [] },
    network: {},
    stateFolder: '/s',
  };

  test('says how an agent gets into its image that nothing installs', () => {
    expect(installedBy(request)).toMatch(/"packages" in \[agents\.mine\].*"dockerfile" in \[image\]/);
  });

  test.each([
    ['packages', { packages: ['mine@1'] }],
    ['a Dockerfile', { image: { ...request.image, dockerfile: '/Dockerfile' } }],
  ])('says nothing where there are %s', (_what, changes) => {
    expect(installedBy({ ...request, ...changes })).toBeUndefined();
  });
});
