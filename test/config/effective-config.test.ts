import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import { configKeys, loadConfig } from '../../src/config/config';
import { nameOf } from '../../src/config/config-reader';
import { loadWorkspaceConfig } from '../../src/config/effective-config';
import { fewMore, harmless, more } from '../../src/config/repository-rules';
import { record } from '../../src/workspace/records';
import { newFolder } from '../support/temp-folder';

let root: string;
let userFile: string;
let file: string;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  const home = newFolder();
  env = { HOME: home };
  root = newFolder();
  userFile = join(home, '.config/containai/config.toml');
  file = join(root, '.containai/config.toml');
  mkdirSync(join(home, '.config/containai'), { recursive: true });
  mkdirSync(join(root, '.containai'));
});

const user = (...lines: string[]): void => writeFileSync(userFile, lines.join('\n'));
const repository = (...lines: string[]): void => writeFileSync(file, lines.join('\n'));
const load = () => loadWorkspaceConfig(new Host(env), root);
const trust = (): void => record(new Host(env).folders.state, 'trusted', file, load().repository!.digest);
const originOf = (name: string) =>
  load()
    .origins()
    .find((origin) => origin.name === name);

describe('loadWorkspaceConfig', () => {
  test.each(['a workspace without a file', 'no workspace'])("is the user's configuration for %s", (which) => {
    user('[container]', 'pids = 100', '[[mounts]]', 'path = "/a"');

    const loaded = loadWorkspaceConfig(new Host(env), which === 'no workspace' ? undefined : root);

    expect(loaded.config).toEqual(loadConfig(new Host(env)));
    expect(loaded).toMatchObject({ notices: [], repository: undefined });
  });

  test('lets a repository narrow', () => {
    user('container.memory = "4GiB"', 'container.idle = "0s"');
    repository(
      'agent = { default = "gemini", data = "workspace" }',
      'container = { memory = "2GiB", cpus = 1, disk = "1GiB", pids = 64, idle = "1h" }',
      'image.auto_build = false',
    );

    const { config, notices, repository: found } = load();

    expect(config).toMatchObject({
      agent: { default: 'gemini', data: 'workspace' },
      container: { memoryBytes: 2 ** 31, cpus: 1, diskBytes: 2 ** 30, pids: 64, idleMs: 3_600_000 },
      image: { autoBuild: false },
    });
    expect(notices).toEqual([]);
    expect(found).toMatchObject({ file, isTrusted: false, widening: [] });
  });

  test('takes the memory that a repository wants for the most that it may be, where the user wants none', () => {
    repository('container.memory = "64MiB"');
    const { container } = load().config;

    expect(container).toMatchObject({ memoryAtMostBytes: 2 ** 26 });
    expect(container.memoryBytes).toBeUndefined();
    expect(originOf('container.memory')).toMatchObject({ value: '64MiB', from: [`${file}:1`] });

    repository('container.memory = "64MiB"', 'container.pids = 4000');
    trust();

    expect(load().config.container).toMatchObject({ memoryBytes: 2 ** 26, pids: 4_000 });
    expect(load().config.container.memoryAtMostBytes).toBeUndefined();
  });

  test('takes terminals away from a server, unless the user gives them', () => {
    env = { ...env, CAI_SERVED: '1' };
    expect(originOf('acp.terminal')).toMatchObject({ value: 'off', from: ['cai serve'] });

    user('acp.terminal = "container"');
    expect(originOf('acp.terminal')).toMatchObject({ value: 'container', from: [`${userFile}:1`] });
  });

  test('adds what a repository protects to what the user does', () => {
    user('protect.paths = ["tools/*.sh"]');
    repository('protect = { off = false, paths = ["Makefile"] }');

    expect(load().config.protect).toEqual({ isOff: false, paths: ['tools/*.sh', 'Makefile'] });
    expect(load().notices).toEqual([]);
  });

  test('adds what a repository refuses of the network to what the user does', () => {
    user('network.deny = ["one.example"]');
    repository('network = { egress = "listed", deny = ["two.example"] }');

    expect(load().config.network).toMatchObject({
      egress: 'listed',
      deny: ['one.example', 'two.example'],
    });
    expect(load().notices).toEqual([]);
  });

  test('lets a repository name an agent of the user', () => {
    user('[agents.mine]', 'command = ["mine"]');
    repository('agent.default = "mine"');

    expect(load().config.agent.default).toBe('mine');
  });

  /** The repository's line, the user's, and what the notice calls it. */
  const widening: readonly (readonly [string, string, string])[] = [
    ['agent.default = "somebody"', '', 'agent.default'],
    ['agent.data = "shared"', 'agent.data = "workspace"', 'agent.data'],
    ['container.memory = "5GiB"', 'container.memory = "4GiB"', 'container.memory'],
    ['container.memory = "9GiB"', '', 'container.memory'],
    ['container.cpus = 2', 'container.cpus = 1', 'container.cpus'],
    ['container.disk = "2GiB"', 'container.disk = "1GiB"', 'container.disk'],
    ['container.pids = 1025', '', 'container.pids'],
    ['container.shm = "2MiB"', 'container.shm = "1MiB"', 'container.shm'],
    ['container.idle = "31m"', '', 'container.idle'],
    ['container.idle = "0s"', '', 'container.idle'],
    ['image.auto_build = true', 'image.auto_build = false', 'image.auto_build'],
    ['image.base = "evil"', '', 'image.base'],
    ['image.apt = ["golang"]', 'image.apt = ["jq"]', 'image.apt'],
    ['image.packages = ["evil@1"]', 'image.packages = ["tool@1"]', 'image.packages'],
    ['image.dockerfile = "Dockerfile"', '', 'image.dockerfile'],
    ['image.registry = "evil.example/x"', 'image.registry = "ghcr.io/x"', 'image.registry'],
    ['devcontainer.use = true', 'devcontainer.use = false', 'devcontainer.use'],
    ['env.import = ["TOKEN"]', 'env.import = ["KEY"]', 'env.import'],
    ['protect.off = true', '', 'protect.off'],
    ['network.egress = "open"', '', 'network.egress'],
    ['network.egress = "ask"', 'network.egress = "listed"', 'network.egress'],
    ['network.allow = ["evil.example"]', 'network.allow = ["good.example"]', 'network.allow'],
    ['mounts = [{ path = "/", read_only = true }]', '', 'mounts[0]'],
    [
      'services = [{ name = "db", image = "evil", command = ["x"], env = ["A=b"], health = ["x"], volume = "/v", memory = "64MiB" }]',
      '',
      'services[0]',
    ],
  ];

  test.each(widening)('ignores that a repository widens: %s', (line, held, name) => {
    user(held);
    repository('', line);

    const { config, notices, repository: found } = load();

    expect(config).toEqual(loadConfig(new Host(env)));
    expect(notices).toEqual([
      `${file}:2: "${name}" is ignored, because it would allow the agent more than you do: if you want it, run: cai trust "${root}"`,
    ]);
    expect(found!.isTrusted).toBe(false);
    expect(found!.widening[0]!.name).toContain(name);
  });

  test('ignores more patterns than few, and says why', () => {
    const patterns = (count: number) => JSON.stringify(Array.from({ length: count }, (_, n) => `p${n}`));
    repository('', `protect.paths = ${patterns(65)}`);
    const { config, notices } = load();
    expect(config.protect.paths).toEqual([]);
    expect(notices).toEqual([
      `${file}:2: "protect.paths" is ignored, because it has more than 64 elements, which take time to look for: if you want it, run: cai trust "${root}"`,
    ]);

    repository('', `protect.paths = ${patterns(64)}`);
    expect(load().config.protect.paths).toHaveLength(64);
  });

  test.each(widening)('takes it from a repository that is trusted: %s', (line, held, name) => {
    user(held);
    repository('', line);
    trust();

    const { config, notices, repository: found } = load();

    expect(config).not.toEqual(loadConfig(new Host(env)));
    expect(notices).toEqual([]);
    expect(found).toMatchObject({ isTrusted: true });
    expect(
      load()
        .origins()
        .find((origin) => origin.name.startsWith(name))!.from,
    ).toContain(`${file}:2`);
  });

  test('every key that a repository can set has a case', () => {
    const settable = configKeys.filter(
      ({ repository: rule }) => rule !== 'never' && ![more, fewMore, harmless].includes(rule as never),
    );

    const missing = settable.filter(
      ({ path }) =>
        !widening.some(
          ([line]) => ['mounts', 'services'].includes(path[0]!) || line.startsWith(nameOf(path)),
        ),
    );

    expect(missing).toEqual([]);
  });

  test.each([
    ['agents.mine.command = ["evil"]', 'agents.mine.command'],
    ['agent.process = "session"', 'agent.process'],
    ['acp.terminal = "off"', 'acp.terminal'],
    ['sessions.persist = false', 'sessions.persist'],
    ['container.extra_hosts = ["api.example:10.0.0.1"]', 'container.extra_hosts'],
    ['network.host_ports = [5432]', 'network.host_ports'],
    ['engine.context = "theirs"', 'engine.context'],
    ['network.http_proxy = "http://theirs.example"', 'network.http_proxy'],
    ['network.ca_file = "ca.pem"', 'network.ca_file'],
  ])('ignores, trusted or not, what no repository can set: %s', (line, name) => {
    repository(line);
    const notice = `${file}:1: "${name}" is ignored, because a repository cannot set it: if you want it, put it into ${userFile}`;

    expect(load()).toMatchObject({ config: loadConfig(new Host(env)), notices: [notice] });
    trust();
    expect(load()).toMatchObject({ config: loadConfig(new Host(env)), notices: [notice] });
    expect(load().repository!.widening).toEqual([]);
  });

  test('no longer trusts a file that has changed, and trusts it again when it is as it was', () => {
    repository('container.pids = 2000');
    trust();
    expect(load().config.container.pids).toBe(2_000);

    repository('container.pids = 2000 ');
    expect(load().config.container.pids).toBe(1_024);
    expect(load().notices).toHaveLength(1);

    repository('container.pids = 2000');
    expect(load().config.container.pids).toBe(2_000);
  });

  test('does not trust the same content elsewhere', () => {
    repository('container.pids = 2000');
    trust();
    const other = newFolder();
    mkdirSync(join(other, '.containai'));
    writeFileSync(join(other, '.containai/config.toml'), 'container.pids = 2000');

    expect(loadWorkspaceConfig(new Host(env), other).config.container.pids).toBe(1_024);
  });

  test("adds a trusted repository's lists to the user's", () => {
    user('env.import = ["KEY", "BOTH"]', '[[mounts]]', 'path = "/a"', '[[mounts]]', 'path = "/b"');
    repository(
      'env.import = ["BOTH", "TOKEN"]',
      '[[mounts]]',
      'path = "/b"',
      'read_only = true',
      '[[mounts]]',
      'path = "/d"',
    );
    trust();

    expect(load().config.env.import).toEqual(['KEY', 'BOTH', 'TOKEN']);
    expect(load().config.mounts).toEqual([
      { path: '/a', isReadOnly: false },
      { path: '/b', isReadOnly: true },
      { path: '/d', isReadOnly: false },
    ]);
    expect(originOf('env.import')).toEqual({
      name: 'env.import',
      value: ['KEY', 'BOTH', 'TOKEN'],
      used: ['KEY', 'BOTH', 'TOKEN'],
      from: [`${userFile}:1`, `${file}:1`],
    });
    expect(originOf('mounts[3].path')).toMatchObject({ value: '/d', used: '/d', from: [`${file}:6`] });
    expect(load().repository!.widening).toEqual([
      { name: 'env.import', place: 'line 1', held: ['KEY', 'BOTH'], wanted: ['KEY', 'BOTH', 'TOKEN'] },
      { name: 'mounts[0].path', place: 'line 3', held: undefined, wanted: '/b' },
      { name: 'mounts[0].read_only', place: 'line 4', held: undefined, wanted: true },
      { name: 'mounts[1].path', place: 'line 6', held: undefined, wanted: '/d' },
    ]);
  });

  test('tells of each key where it comes from', () => {
    user('', 'acp.idle = "1h"', '[agents.mine]', 'command = ["mine"]');
    repository('container.pids = 100');

    const names = load()
      .origins()
      .map(({ name }) => name);

    expect(names).toEqual(
      configKeys
        .map(({ path }) => nameOf(path))
        .filter(
          (name) =>
            !/^(mounts|services|credentials|serve\.(users|groups)\[|kubernetes\.volumes)|NAME\.(name|packages|settings|adapter)$/.test(
              name,
            ),
        )
        .map((name) => name.replace('NAME', 'mine')),
    );
    expect(originOf('acp.idle')).toEqual({
      name: 'acp.idle',
      value: '1h',
      used: 3_600_000,
      from: [`${userFile}:2`],
    });
    expect(originOf('agents.mine.command')!.from).toEqual([`${userFile}:4`]);
    expect(originOf('container.pids')).toEqual({
      name: 'container.pids',
      value: 100,
      used: 100,
      from: [`${file}:1`],
    });
    expect(originOf('container.idle')).toEqual({ name: 'container.idle', value: '30m', from: ['default'] });
    expect(originOf('container.memory')!.value).toBeUndefined();
  });

  test('tells what widens with what holds without it', () => {
    user('container.cpus = 1');
    repository('container.cpus = 2', 'container.pids = 2000', 'image.dockerfile = "Dockerfile"');

    expect(load().repository!.widening).toEqual([
      { name: 'container.cpus', place: 'line 1', held: 1, wanted: 2 },
      { name: 'container.pids', place: 'line 2', held: 1024, wanted: 2000 },
      { name: 'image.dockerfile', place: 'line 3', held: undefined, wanted: 'Dockerfile' },
    ]);
  });

  test("keeps the text of a trusted repository's Dockerfile, which the agent may change in the next moment", () => {
    repository('image.dockerfile = "Dockerfile"');
    const dockerfile = join(root, '.containai/Dockerfile');
    writeFileSync(dockerfile, 'FROM trusted\n');
    expect(load().config.image).not.toHaveProperty('dockerfileText');

    record(new Host(env).folders.state, 'trusted', file, load().repository!.digest);
    expect(load().config.image).toMatchObject({ dockerfile, dockerfileText: 'FROM trusted\n' });

    writeFileSync(dockerfile, 'FROM other\n');
    expect(load().config.image).not.toHaveProperty('dockerfile');
  });

  test('counts what is ignored beyond twenty, and lets no name of a stranger steer a terminal', () => {
    repository(...Array.from({ length: 30 }, (_, index) => `agents."\\u009b${index}".command = ["x"]`));

    const { notices } = load();

    expect(notices).toHaveLength(21);
    expect(notices[0]).toContain('"agents.\\u009b0.command" is ignored');
    expect(notices[20]).toBe(`${file}: 10 more keys are ignored`);
  });

  test.each(['user', 'repository'])("fails for an invalid file of the %s's, with its place", (whose) => {
    user(whose === 'user' ? '[acp]\nidel = "1h"' : '');
    repository(whose === 'user' ? '' : '[acp]\nidel = "1h"');

    expect(load).toThrow(
      expect.objectContaining({
        code: 'CONFIG',
        message: `${whose === 'user' ? userFile : file}:2:1: "acp.idel" is not a known key: did you mean "acp.idle"?`,
      }) as Error,
    );
  });
});
