import { appendFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadWorkspaceConfig } from '../../../src/config/effective-config';
import { Host } from '../../../src/system/host';
import { record } from '../../../src/workspace/records';
import { newRoot } from '../../workspace/devcontainer/files';
import { newFolder } from '../../support/temp-folder';

const name = '.devcontainer/devcontainer.json';
let host: Host;

beforeEach(() => {
  const home = newFolder();
  host = new Host({ HOME: home, XDG_CONFIG_HOME: join(home, 'config'), XDG_STATE_HOME: join(home, 'state') });
});

const load = (root: string) => loadWorkspaceConfig(host, root);

function trust(root: string, file = name): void {
  const { digest } = load(root).devcontainer!.read().content;
  record(host.folders.state, 'trusted', join(root, file), digest);
}

describe('the development container of a workspace', () => {
  test('is none where the repository has none', () => {
    const { config, devcontainer, devcontainerNotices } = load(newRoot({}));

    expect([config.devcontainer, devcontainer, devcontainerNotices]).toEqual([{ use: true }, undefined, []]);
  });

  test('is not used before the user agrees, and nothing of it counts', () => {
    const root = newRoot({
      [name]: { image: 'debian', customizations: { containai: { container: { pids: 64 } } } },
    });

    const { config, devcontainerNotices } = load(root);

    expect(config.devcontainer.trusted).toBeUndefined();
    expect(config.container.pids).toBe(1_024);
    expect(devcontainerNotices).toEqual([
      `"${join(root, name)}" is not used, because you have not agreed to it: if you want it, run: cai trust "${root}"; to be told no more, set "devcontainer.use" to false`,
    ]);
  });

  test('is used as the user has agreed to it, with what it says to cai', () => {
    const own = { container: { pids: 2_000 }, network: { allow: ['pypi.org'] }, acp: { idle: '1h' } };
    const root = newRoot({ [name]: { image: 'debian', customizations: { containai: own } } });
    trust(root);

    const { config, devcontainer, devcontainerNotices, origins } = load(root);

    expect(config.devcontainer.trusted?.source).toEqual({ image: 'debian' });
    expect(config.container.pids).toBe(2_000);
    expect(config.network.allow).toEqual(['pypi.org']);
    expect(config.acp.idleMs).toBe(600_000);
    expect(devcontainerNotices).toEqual([]);
    expect(devcontainer!.trusted!.ignored).toEqual([
      `${join(root, name)}:1: "acp.idle" is ignored, because a repository cannot set it: if you want it, put it into your own config.toml`,
    ]);
    expect(origins().find((each) => each.name === 'container.pids')!.from).toEqual([`${join(root, name)}:1`]);
  });

  test('is not used once it, or what it is made from, has changed', () => {
    const root = newRoot({
      [name]: { build: { dockerfile: 'Dockerfile' } },
      '.devcontainer/Dockerfile': 'FROM debian\n',
    });
    trust(root);
    expect(load(root).config.devcontainer.trusted).toBeDefined();

    appendFileSync(join(root, '.devcontainer/Dockerfile'), 'RUN true\n');

    expect(load(root).config.devcontainer.trusted).toBeUndefined();
    expect(load(root).devcontainerNotices[0]).toContain('has changed since you agreed to it');
  });

  test('is not used where it cannot be read any more, and commands go on', () => {
    const root = newRoot({ [name]: { image: 'debian' } });
    trust(root);
    writeFileSync(join(root, name), '{');

    expect(load(root).devcontainerNotices[0]).toMatch(/is not used, because .*:1:2: /);

    const elsewhere = newRoot({ [name]: { image: 'debian' } });
    const linked = newRoot({});
    symlinkSync(join(elsewhere, '.devcontainer'), join(linked, '.devcontainer'));
    record(host.folders.state, 'trusted', join(linked, name), 'any');
    expect(load(linked).devcontainerNotices[0]).toContain('leads out of');
  });

  test('is the one that is named, by the user or the repository', () => {
    const file = '.devcontainer/b/devcontainer.json';
    const root = newRoot({ [file]: { image: 'b' }, '.devcontainer/a/devcontainer.json': { image: 'a' } });
    expect(load(root).devcontainerNotices[0]).toContain('choose one of "a", "b" as "devcontainer.name"');

    const named = newRoot({ [file]: { image: 'b' }, '.containai/config.toml': 'devcontainer.name = "b"' });
    trust(named, file);
    expect(load(named).config.devcontainer.trusted?.source).toEqual({ image: 'b' });

    writeFileSync(join(named, '.containai/config.toml'), 'devcontainer.name = "c"');
    expect(load(named).devcontainerNotices[0]).toContain('which is no folder with a devcontainer.json');
  });

  test('is none where nobody wants one, and nothing is said', () => {
    const root = newRoot({
      [name]: { image: 'debian' },
      '.containai/config.toml': 'devcontainer.use = false',
    });
    trust(newRoot({ [name]: { image: 'debian' } }));

    expect([load(root).devcontainer, load(root).devcontainerNotices]).toEqual([undefined, []]);
  });

  test('gets the variables that the user lets in, and no other', () => {
    const args = { A: '${localEnv:KEY}', B: '${localEnv:HOME}' };
    const root = newRoot({
      [name]: { build: { dockerfile: 'Dockerfile', args } },
      '.devcontainer/Dockerfile': 'FROM debian\n',
    });
    const file = join(newRoot({ 'containai/config.toml': 'env.import = ["KEY"]' }));
    host = new Host({ ...host.env, KEY: 'k', XDG_CONFIG_HOME: file });
    trust(root);

    expect(load(root).config.devcontainer.trusted?.source).toMatchObject({ args: { A: 'k', B: '' } });
  });
});

describe('the services of a Compose project', () => {
  const compose = '.devcontainer/c.yml';
  const files = {
    [name]: { dockerComposeFile: 'c.yml', service: 'app' },
    [compose]:
      'services:\n  app: { image: a }\n  db: { image: "${IMAGE:-p}:17", env_file: ../db.env }\n  cache: { image: r, command: x }\n',
    'db.env': 'A=a\n',
  };
  const configured = (text: string) => {
    const file = join(newRoot({ 'containai/config.toml': text }));
    host = new Host({ ...host.env, XDG_CONFIG_HOME: file });
  };

  test('are configured once the user agrees', () => {
    const root = newRoot(files);
    expect(load(root).config.services).toEqual([]);

    expect(load(root).devcontainer!.read().judged.widening[0]).toEqual({
      ...{ name: 'services[0].name', place: `${join(root, compose)}:3`, held: undefined, wanted: 'db' },
    });
    trust(root);

    const { config, origins } = load(root);
    expect(config.services).toEqual([
      { name: 'db', image: 'p:17', env: ['A=a'], after: [], ends: false, memoryBytes: 2 ** 30 },
      { name: 'cache', image: 'r', env: [], after: [], ends: false, command: ['x'], memoryBytes: 2 ** 30 },
    ]);
    expect(origins().find((each) => each.name === 'services[1].image')!.from).toEqual([
      `${join(root, compose)}:4`,
    ]);
  });

  test.each<[string, string]>([
    ['the Compose file', compose],
    ['a file with variables', 'db.env'],
    ['.env, also where there was none', '.devcontainer/.env'],
  ])('are not, once somebody has changed %s', (_, file) => {
    const root = newRoot(files);
    trust(root);

    appendFileSync(join(root, file), '# more\n');

    expect(load(root).config.services).toEqual([]);
    expect(load(root).devcontainerNotices[0]).toContain('has changed since you agreed to it');
  });

  test('depend on .env only where they have variables', () => {
    const root = newRoot({
      [name]: { dockerComposeFile: '../c.yml', service: 'app' },
      'c.yml': 'services:\n  app: { image: a }\n  db: { image: p, ports: ["$PORT"] }\n',
    });
    trust(root);

    appendFileSync(join(root, '.env'), 'A=b\n');

    expect(load(root).config.services).toHaveLength(1);
  });

  test('make way for those of that name that the user or the repository configures, and come behind them', () => {
    configured('[[services]]\nname = "cache"\nimage = "own"\n');
    const own = { services: [{ name: 'queue', image: 'q' }] };
    const root = newRoot({
      ...files,
      [name]: { ...files[name], customizations: { containai: own } },
    });
    trust(root);

    expect(load(root).config.services.map((each) => [each.name, each.image])).toEqual([
      ['cache', 'own'],
      ['queue', 'q'],
      ['db', 'p:17'],
    ]);
  });

  const why = (root: string) => load(root).devcontainer!.trusted!.ignored.slice(1);
  test.each<[string, string, string]>([
    ['with an open network', 'network.egress = "open"', '"network.egress" is "open", with which other containers would reach it'], // prettier-ignore
    ['in a cluster', 'engine.kind = "kubernetes"', 'cai runs no services in a cluster yet'],
  ])('are not configured %s', (_, text, reason) => {
    configured(text);
    const root = newRoot(files);
    trust(root);

    expect(load(root).config.services).toEqual([]);
    expect(why(root)).toEqual(
      ['db', 'cache'].map(
        (each) => `"${join(root, name)}": the service "${each}" is not started, because ${reason}`,
      ),
    );
  });

  test('are not configured where they do not fit', () => {
    const root = newRoot({
      ...files,
      [compose]:
        'services:\n  app: { image: a }\n  my.db: { image: p }\n  b: { image: -v }\n  c: { image: c }\n',
    });
    trust(root);

    expect(load(root).config.services.map((each) => each.name)).toEqual(['c']);
    expect(why(root)).toEqual([
      expect.stringMatching(
        /service "my\.db" is not started, because its "name" must be a name such as "db"/,
      ),
      expect.stringMatching(/service "b" is not started, because its "image" must be the name of an image/),
    ]);
  });
});
