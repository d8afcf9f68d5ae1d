import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import { configKeys, loadConfig } from '../../src/config/config';
import { nameOf, type Key } from '../../src/config/config-reader';
import { fewMore, harmless, more, trusted } from '../../src/config/repository-rules';
import { newFolder } from '../support/temp-folder';
import { expectedError } from '../expected-error';

const defaults = {
  agent: { default: 'claude', process: 'workspace', data: 'workspace' },
  agents: {},
  acp: {
    terminal: 'container',
    idleMs: 600_000,
    startTimeoutMs: 120_000,
    maxLineFromEditorBytes: 67_108_864,
    maxLineToEditorBytes: 33_554_432,
    queueToEditorBytes: 8_388_608,
    queueToAgentBytes: 67_108_864,
  },
  sessions: { persist: true, keepMs: 7_776_000_000 },
  restart: { attempts: 3, firstDelayMs: 1_000, maxDelayMs: 30_000 },
  mcp: { forwardLoopback: true, hostServers: [] },
  container: { pids: 1_024, own: [], idleMs: 1_800_000, extraHosts: [] },
  image: { autoBuild: true, base: 'node:22-bookworm-slim', apt: [], packages: [] },
  git: { sshAgent: [], isSigning: false },
  env: { import: [] },
  worktrees: { perSession: false, copy: [] },
  protect: { isOff: false, paths: [] },
  mounts: [],
  services: [],
  credentials: [],
  engine: { kind: 'docker' },
  kubernetes: {
    storageBytes: 10 * 2 ** 30,
    requests: [],
    labels: [],
    annotations: [],
    writableFolders: [],
    nodeSelector: [],
    tolerations: [],
    copy: 'off',
    injected: [],
    allowsOwnNode: false,
    pullSecrets: [],
    volumes: [],
  },
  devcontainer: { use: true },
  network: { egress: 'ask', allow: [], deny: [], hostPorts: [] },
  serve: {
    hosts: [],
    origins: [],
    graceMs: 600_000,
    keepBytes: 4_194_304,
    keepMessages: 10_000,
    connections: 64,
    containers: 16,
    idleMs: 43_200_000,
    stallMs: 60_000,
    users: [],
    groups: [],
  },
};

let configHome: string;
let host: Host;

beforeEach(() => {
  configHome = newFolder();
  host = new Host({ XDG_CONFIG_HOME: configHome, HOME: '/home/u' });
});

describe('loadConfig', () => {
  test('does without a file', () => expect(loadConfig(host)).toEqual(defaults));

  // Of a key with a default, the field and the kind are those of the default.
  test('reads every key that has no default, or a list', () => {
    write(`
      [agent]
      default = "mine"
      process = "session"
      data = "workspace"
      [agents.mine]
      command = ["my-agent", "--acp"]
      name = "Mine"
      packages = ["my-agent@1.2.3", "@mine/tool"]
      [acp]
      idle = "0s"
      [mcp]
      host_servers = ["browser"]
      [container]
      memory = "4GiB"
      cpus = 1.5
      shm = "1GiB"
      own = ["node_modules", "packages/a b/.venv"]
      idle = "0s"
      extra_hosts = ["db:10.0.0.2", "host:host-gateway"]
      [image]
      apt = ["golang", "libpq-dev=15.14-0+deb12u1"]
      packages = ["typescript@5.9.3"]
      dockerfile = "Dockerfile.mine"
      registry = "ghcr.io/team/cai"
      [env]
      import = ["API_KEY"]
      [[mounts]]
      path = "~/data"
      read_only = true
      [[mounts]]
      path = "/srv/cache"
      [[services]]
      name = "db"
      image = "postgres:16"
      memory = "64MiB"
      [[services]]
      name = "cache"
      image = "redis"
      after = ["db"]
      ends = true
      [[services]]
      name = "db"
      image = "postgres:17"
      command = ["postgres", "-c", "fsync=off"]
      env = ["POSTGRES_PASSWORD=a=b", "EMPTY="]
      health = ["pg_isready"]
      volume = "/var/lib/postgresql/data"
      memory = "512MiB"
      [[credentials]]
      for = "anthropic"
      from = "env:MY_KEY"
      [[credentials]]
      for = "api.example.com"
      from = ["pass", "show", "key"]
      header = "X-Api-Key:"
      [[credentials]]
      for = "github"
      from = "file:~/token"
      [worktrees]
      folder = "/srv/trees"
      copy = [".env"]
      [protect]
      paths = ["tools/*.sh"]
      [engine]
      kind = "kubernetes"
      context = "rootless"
      kubeconfig = "~/.kube/team"
      namespace = "agents"
      [kubernetes]
      storage_class = "fast"
      requests = ["cpu=500m", "memory=1Gi", "nvidia.com/gpu=1"]
      labels = ["team=web"]
      annotations = ["example.com/owner=Ann, of web"]
      priority_class = "low"
      writable_folders = ["/tmp"]
      node_selector = ["disk=ssd"]
      tolerations = ["agents=only:NoSchedule", "spot:NoExecute"]
      runtime_class = "gvisor"
      pull_secrets = ["registry"]
      schedule_timeout = "5m"
      injected = ["istio-proxy", "docker.io/istio/proxyv2:1.24.1"]
      [[kubernetes.volumes]]
      folder = "/srv/src"
      from = "claim:src/team//a/"
      [[kubernetes.volumes]]
      folder = "~/data"
      from = "node:/mnt/data/"
      [network]
      allow = ["*.example.com:22", "10.0.0.0/8"]
      deny = ["bad.example.com"]
      host_ports = [5432, 1024, 65535]
      ca_file = "~/ca.pem"
      npm_registry = "https://npm.example"
      http_proxy = "http://proxy.example:3128"
      https_proxy = "http://proxy.example:3129"
      no_proxy = "localhost,.example"
      [serve]
      agents = ["mine", "claude"]
      listen = ["0.0.0.0:8722", "unix:run/s"]
      hosts = ["agents.example.com", "[fd00::1]:8443", "10.0.0.7"]
      origins = ["https://editor.example.com", "http://localhost:3000"]
      tls_cert = "cert.pem"
      tls_key = "~/key.pem"
      client_ca = "/etc/ca.pem"
      [[serve.users]]
      name = "ann@example.com"
      agents = ["mine"]
      workspaces = ["~/src", "/srv/work/../shop"]
      [[serve.users]]
      name = "bot"
      agents = "all"
      workspaces = "all"
      [[serve.groups]]
      name = "The shop"
      agents = "all"
      workspaces = ["~/{user}"]
    `);

    expect(loadConfig(host)).toEqual({
      ...defaults,
      agent: { default: 'mine', process: 'session', data: 'workspace' },
      agents: {
        mine: { command: ['my-agent', '--acp'], name: 'Mine', packages: ['my-agent@1.2.3', '@mine/tool'] },
      },
      acp: { ...defaults.acp, idleMs: 0 },
      mcp: { ...defaults.mcp, hostServers: ['browser'] },
      container: {
        memoryBytes: 4_294_967_296,
        cpus: 1.5,
        pids: 1_024,
        shmBytes: 1_073_741_824,
        own: ['node_modules', 'packages/a b/.venv'],
        idleMs: 0,
        extraHosts: ['db:10.0.0.2', 'host:host-gateway'],
      },
      image: {
        ...defaults.image,
        apt: ['golang', 'libpq-dev=15.14-0+deb12u1'],
        packages: ['typescript@5.9.3'],
        dockerfile: join(configHome, 'containai/Dockerfile.mine'),
        registry: 'ghcr.io/team/cai',
      },
      env: { import: ['API_KEY'] },
      credentials: [
        { for: 'anthropic', from: 'env:MY_KEY' },
        { for: 'api.example.com', from: ['pass', 'show', 'key'], header: 'X-Api-Key:' },
        { for: 'github', from: 'file:/home/u/token' },
      ],
      mounts: [
        { path: '/home/u/data', isReadOnly: true },
        { path: '/srv/cache', isReadOnly: false },
      ],
      services: [
        {
          name: 'db',
          image: 'postgres:17',
          command: ['postgres', '-c', 'fsync=off'],
          env: ['POSTGRES_PASSWORD=a=b', 'EMPTY='],
          health: ['pg_isready'],
          after: [],
          ends: false,
          volume: '/var/lib/postgresql/data',
          memoryBytes: 2 ** 29,
        },
        { name: 'cache', image: 'redis', env: [], after: ['db'], ends: true, memoryBytes: 2 ** 30 },
      ],
      worktrees: { perSession: false, folder: '/srv/trees', copy: ['.env'] },
      protect: { isOff: false, paths: ['tools/*.sh'] },
      engine: {
        kind: 'kubernetes',
        context: 'rootless',
        kubeconfig: '/home/u/.kube/team',
        namespace: 'agents',
      },
      kubernetes: {
        ...defaults.kubernetes,
        storageClass: 'fast',
        requests: ['cpu=500m', 'memory=1Gi', 'nvidia.com/gpu=1'],
        labels: ['team=web'],
        annotations: ['example.com/owner=Ann, of web'],
        priorityClass: 'low',
        writableFolders: ['/tmp'],
        nodeSelector: ['disk=ssd'],
        tolerations: ['agents=only:NoSchedule', 'spot:NoExecute'],
        runtimeClass: 'gvisor',
        scheduleTimeoutMs: 300_000,
        injected: ['istio-proxy', 'docker.io/istio/proxyv2:1.24.1'],
        pullSecrets: ['registry'],
        volumes: [
          { folder: '/srv/src', from: { claim: 'src', path: 'team/a' } },
          { folder: '/home/u/data', from: { path: '/mnt/data' } },
        ],
      },
      network: {
        egress: 'ask',
        allow: ['*.example.com:22', '10.0.0.0/8'],
        deny: ['bad.example.com'],
        hostPorts: [5432, 1024, 65535],
        caFile: '/home/u/ca.pem',
        npmRegistry: 'https://npm.example',
        httpProxy: 'http://proxy.example:3128',
        httpsProxy: 'http://proxy.example:3129',
        noProxy: 'localhost,.example',
      },
      serve: {
        ...defaults.serve,
        agents: ['mine', 'claude'],
        listen: ['0.0.0.0:8722', `unix:${join(configHome, 'containai/run/s')}`],
        hosts: ['agents.example.com', '[fd00::1]:8443', '10.0.0.7'],
        origins: ['https://editor.example.com', 'http://localhost:3000'],
        tlsCert: join(configHome, 'containai/cert.pem'),
        tlsKey: '/home/u/key.pem',
        clientCa: '/etc/ca.pem',
        users: [
          { name: 'ann@example.com', agents: ['mine'], workspaces: ['/home/u/src', '/srv/shop'] },
          { name: 'bot', agents: 'all', workspaces: 'all' },
        ],
        groups: [{ name: 'The shop', agents: 'all', workspaces: [join(host.env.HOME!, '{user}')] }],
      },
    });
  });

  test('reads the file below the home folder', () => {
    mkdirSync(join(configHome, '.config/containai'), { recursive: true });
    writeFileSync(join(configHome, '.config/containai/config.toml'), 'agent.default = "mine"');

    expect(loadConfig(new Host({ HOME: configHome })).agent.default).toBe('mine');
  });

  test.each([
    ['agents.mine.command = []', 'a list of strings, the program first'],
    ['agents.mine.name = "Mine"', 'lacks "command"'],
    ['agents.mine = { command = ["a"], packages = ["--global"] }', 'a list of different npm packages'],
    ['protect.paths = ["**/.vscode"]', 'because there is no "**": number 1 does not fit'],
    ['container.own = ["a", "/b"]', 'a list of different folders below the workspace'],
    ['container.own = ["a/../b"]', 'a list of different folders below the workspace'],
    ['container.own = ["a/"]', 'a list of different folders below the workspace'],
    ['container.own = ["."]', 'a list of different folders below the workspace'],
    ['container.extra_hosts = ["db"]', 'a list of different strings "name:address"'],
    ['image.base = "a b"', 'the name of an image'],
    ['image.registry = "ghcr.io/"', 'a registry and perhaps a path'],
    ['image.registry = "team/cai"', 'a registry and perhaps a path'],
    ['image.registry = "me@ghcr.io"', 'a registry and perhaps a path'],
    ['env.import = "A"', 'a list of different names of variables'],
    ['env.import = ["OK", "PATH"]', 'and the like): "PATH" does not fit'],
    ['env.import = ["OK", "KEY=secret"]', 'and the like): number 2 does not fit'],
    ['[[mounts]]\npath = "data"', 'a path: absolute, or from "~/"'],
    ['[[mounts]]\nread_only = true', 'lacks "path"'],
    ['network.http_proxy = "proxy.example"', 'a URL'],
    ['network.host_ports = 5432', 'a list of at most 32 different ports from 1024 to 65535'],
    ['network.host_ports = [0]', 'different ports from 1024 to 65535: number 1 does not fit'],
    ['network.host_ports = [5432, 80]', 'different ports from 1024 to 65535: number 2 does not fit'],
    ['network.host_ports = [65536]', 'different ports from 1024 to 65535: number 1 does not fit'],
    ['network.host_ports = ["5432"]', 'different ports from 1024 to 65535: number 1 does not fit'],
    ['network.host_ports = [5432.5]', 'different ports from 1024 to 65535: number 1 does not fit'],
    ['network.host_ports = [5432, 5432]', 'different ports from 1024 to 65535: number 2 does not fit'],
    [`network.host_ports = [${Array.from({ length: 33 }, (_, each) => 5_000 + each).join()}]`, 'at most 32 different ports from 1024 to 65535: number 33 does not fit'], // prettier-ignore
    ['serve.agents = []', 'a list of different names of agents, not empty'],
    ['serve.hosts = ["*.example.com"]', 'a list of different names or addresses'],
    ['serve.hosts = ["a.example:0"]', 'a list of different names or addresses'],
    ['serve.hosts = ["Agents.example"]', 'a list of different names or addresses'],
    ['serve.origins = ["null"]', 'a list of different origins'],
    ['serve.origins = ["https://a.example/"]', 'a list of different origins'],
    ['[[serve.users]]\nname = "ann"\nworkspaces = "all"', 'lacks "agents", which must be a list'],
    ['[[serve.users]]\nname = "ann"\nagents = "all"', 'lacks "workspaces", which must be a list'],
    ['[[serve.users]]\nagents = "all"\nworkspaces = "all"', 'lacks "name"'],
    ['[[serve.users]]\nname = "owner"', 'a name of letters, digits'],
    ['[[serve.groups]]\nname = "a,b"', 'the name of a group, without commas'],
    ['kubernetes.node_selector = ["ssd"]', 'a list of different strings "label=value"'],
    ['kubernetes.tolerations = ["a=b:Never"]', 'the effect NoSchedule, PreferNoSchedule or NoExecute'],
    ['kubernetes.requests = ["cpu=some"]', '"resource=amount", such as ["cpu=500m", "memory=1Gi"]'],
    ['kubernetes.labels = ["containai.network=open"]', 'none of a label of containai'],
    ['kubernetes.annotations = ["containai.labels={}"]', 'none of an annotation of containai'],
    ['kubernetes.writable_folders = ["/tmp/../etc"]', 'different absolute paths, such as ["/tmp"]'],
    ['kubernetes.injected = ["a b"]', 'names or images of containers'],
    ['kubernetes.pull_secrets = ["A B"]', 'a list of different names of objects of Kubernetes'],
    ['kubernetes.volumes = [{ folder = "/a", from = "src" }]', 'a string "claim:NAME"'],
    ['kubernetes.volumes = [{ folder = "/a", from = "claim:../x" }]', 'a string "claim:NAME"'],
    ['kubernetes.volumes = [{ folder = "/a" }]', 'lacks "from"'],
    ['[[serve.users]]\nname = "../a"', 'a name of letters, digits'],
    ['[[serve.users]]\nname = "a"\nagents = []', 'not empty, or "all"'],
    ['[[serve.users]]\nname = "a"\nworkspaces = []', 'not empty, or "all"'],
    ['[[serve.users]]\nname = "a"\nworkspaces = ["src"]', 'not empty, or "all"'],
  ])('refuses %j', (source, why) => {
    write(source);

    expect(() => loadConfig(host)).toThrow(
      expect.objectContaining({
        code: 'CONFIG',
        exitCode: 2,
        message: expect.stringMatching(
          new RegExp(`^${configHome}/containai/config\\.toml:\\d+:\\d+: .*${escape(why)}`),
        ) as string,
      }) as Error,
    );
  });

  test('names the place of the word that does not fit', () => {
    write('[env]\nimport = [\n  "OK",\n  "PATH",\n]');

    expect(() => loadConfig(host)).toThrow(/config\.toml:4:3: "env\.import" must be/);
  });

  test('takes the last of two mounts of one path', () => {
    write('mounts = [{ path = "/a" }, { path = "/b" }, { path = "/a/", read_only = true }]');

    expect(loadConfig(host).mounts).toEqual([
      { path: '/a', isReadOnly: true },
      { path: '/b', isReadOnly: false },
    ]);
  });

  test('does not take a file that it cannot read for none', () => {
    mkdirSync(join(configHome, 'containai/config.toml'), { recursive: true });

    expect(() => loadConfig(host)).toThrow(
      expect.objectContaining(
        expectedError('CONFIG', /config\.toml cannot be read: illegal operation on a directory/),
      ) as Error,
    );
  });
});

test('names a file that is not UTF-8', () => {
  mkdirSync(join(configHome, 'containai'), { recursive: true });
  writeFileSync(join(configHome, 'containai/config.toml'), Buffer.from('# caf\xe9\n', 'latin1'));

  expect(() => loadConfig(host)).toThrow(
    expect.objectContaining(expectedError('CONFIG', /config\.toml cannot be read: it is not UTF-8/)) as Error,
  );
});

describe('docs/configuration.md', () => {
  test('lists every key with its default, in the order of the table of keys', () => {
    const rows = readFileSync(join(__dirname, '../../docs/configuration.md'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) =>
        line
          .split('|')
          .slice(1, 3)
          .map((cell) => cell.trim()),
      );

    expect(rows).toEqual(
      configKeys.map(({ path, standard, isRequired }) => [
        `\`${nameOf(path)}\``,
        standard === undefined
          ? isRequired('mine')
            ? 'required'
            : 'none'
          : `\`${JSON.stringify(standard)}\``,
      ]),
    );
  });

  test('states the limits of each value', () => {
    const text = readFileSync(join(__dirname, '../../docs/configuration.md'), 'utf8');

    for (const { path, kind } of configKeys) {
      const row = text.split('\n').find((line) => line.startsWith(`| \`${nameOf(path)}\``));
      const [, bound, amount] = /(at most|at least) (\w+)$/.exec(kind.expected) ?? [];
      const choices = kind.expected.startsWith('"') ? kind.expected.split(' or ') : [];
      const stated =
        bound === undefined ? choices.map((choice) => `\`${choice}\``) : [`${bound} \`${amount!}\``];
      for (const words of stated) expect(row).toContain(words);
    }
  });

  test('tells of each key what a repository may do with it', () => {
    const words = (repository: Key['repository']) => {
      if (repository === 'never') return 'no';
      if (repository === more || repository === fewMore) return 'narrower';
      if (repository === harmless) return 'yes';
      return repository === trusted || repository.isAddition === true ? 'if trusted' : 'narrower';
    };
    const rows = readFileSync(join(__dirname, '../../docs/configuration.md'), 'utf8').split('\n');

    for (const { path, repository } of configKeys) {
      const row = rows.find((line) => line.startsWith(`| \`${nameOf(path)}\``))!;
      expect([nameOf(path), row.split('|')[4]!.trim()]).toEqual([nameOf(path), words(repository)]);
    }
  });

  test('has an example that is valid', () => {
    const text = readFileSync(join(__dirname, '../../docs/configuration.md'), 'utf8');
    write(/```toml\n(.*?)```/s.exec(text)![1]!);

    expect(loadConfig(host)).toMatchObject({ agent: { default: 'gemini' }, acp: { idleMs: 1_800_000 } });
  });
});

function write(source: string): void {
  mkdirSync(join(configHome, 'containai'));
  writeFileSync(join(configHome, 'containai/config.toml'), source);
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
