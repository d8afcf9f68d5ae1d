import fs, { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSettings } from '../../../src/workspace/devcontainer/build-settings';
import { describeDevcontainer } from '../../../src/workspace/devcontainer/describe';
import { readDevcontainer } from '../../../src/workspace/devcontainer/devcontainer';
import { Snapshot } from '../../../src/workspace/devcontainer/snapshot';
import { newRoot } from './files';

const name = '.devcontainer/devcontainer.json';
const read = (root: string, file = name) => readDevcontainer(root, join(root, file), { KEY: 'k' });

/** A project whose Dockerfile copies some of its files. */
const newProject = (more: object = {}): string =>
  newRoot({
    [name]: {
      build: { dockerfile: 'Dockerfile', context: '..', args: { A: '${localEnv:KEY}${localEnv:HOME}' } },
      features: { './own': { version: '${localEnv:KEY}' } },
      postCreateCommand: 'make',
      ...more,
    },
    '.devcontainer/Dockerfile': 'FROM debian\nCOPY requirements*.txt tools/ /tmp/\n',
    '.devcontainer/own/install.sh': 'true',
    '.dockerignore': 'tools/left-out\n',
    'requirements.txt': 'a',
    'requirements-dev.txt': 'b',
    'tools/x': 'x',
    'tools/left-out': 'y',
    'src/main.py': 'z',
  });

describe('readDevcontainer', () => {
  test('reads the folder, and of the context what the Dockerfile copies', () => {
    const { files } = read(newProject());

    expect([...files.files.keys()].sort()).toEqual([
      name.replace('devcontainer.json', 'Dockerfile'),
      name,
      '.devcontainer/own/install.sh',
      '.dockerignore',
      'requirements-dev.txt',
      'requirements.txt',
      'tools/x',
    ]);
  });

  test.each([
    ['the file', name, true],
    ['the Dockerfile', '.devcontainer/Dockerfile', true],
    ['a feature', '.devcontainer/own/install.sh', true],
    ['what the Dockerfile copies', 'requirements.txt', true],
    ['anything else', 'src/main.py', false],
  ])('has a digest that changes with %s: %s, %s', (_, file, isOther) => {
    const root = newProject();
    const { digest } = read(root);

    appendFileSync(join(root, file), '\n');

    expect(read(root).digest !== digest).toBe(isOther);
  });

  test.each(['/', '../../..'])(
    'refuses the context %s also where nothing of it seems to be copied',
    (context) => {
      const root = newRoot({
        [name]: { build: { dockerfile: 'Dockerfile', context } },
        '.devcontainer/Dockerfile': 'FROM debian\nCOPY home/*/.ssh/id_* --from=* /x\n',
        '.devcontainer/Dockerfile.dockerignore': '',
      });

      expect(() => read(root)).toThrow('is not in the workspace');
    },
  );

  test.each([
    ['.dockerignore', '*a*a*a*b', 'has a pattern with more than 3 stars: write it with fewer'],
    ['.dockerignore', '#'.repeat(256 * 1_024), 'is longer than 256 KiB: shorten it'],
    ['.devcontainer/Dockerfile', '\n'.repeat(256 * 1_024), 'is longer than 256 KiB: shorten it'],
  ])('fails for a %s that takes long', (file, text, why) => {
    const root = newProject();
    appendFileSync(join(root, file), text);

    expect(() => read(root)).toThrow(why);
  });

  test('fails for a .dockerignore with too many patterns for the names of its files', () => {
    const root = newProject();
    writeFileSync(join(root, '.dockerignore'), 'a\n'.repeat(3_000));
    mkdirSync(join(root, 'tools', `${'x'.repeat(30)}/`.repeat(20)), { recursive: true });

    expect(() => read(root)).toThrow('has too many patterns for the files that it is about');
  });

  test('does not enter what is left out, unless there is an exception', () => {
    const root = newProject();
    appendFileSync(join(root, 'tools/left-out'), '');
    mkdirSync(join(root, 'tools/deep/deeper'), { recursive: true });
    appendFileSync(join(root, 'tools/deep/deeper/kept'), '');
    const tools = (): string[] => [...read(root).files.files.keys()].filter((each) => each.includes('deep'));
    appendFileSync(join(root, '.dockerignore'), 'tools/deep\n!/tools/other/*\n');
    const looked = jest.spyOn(fs, 'readdirSync');

    expect(tools()).toEqual([]);
    expect(looked).toHaveBeenCalled();
    expect(looked.mock.calls.map(([path]) => path)).not.toContainEqual(expect.stringContaining('deep'));
    looked.mockRestore();
    appendFileSync(join(root, '.dockerignore'), '!tools/deep/deeper/kept\n');
    expect(tools()).toEqual(['tools/deep/deeper/kept']);
  });

  test('reads too much rather than long, for a pattern with many stars', () => {
    const root = newProject();
    const long = 'a'.repeat(250);
    appendFileSync(join(root, '.devcontainer/Dockerfile'), `COPY ${'*a'.repeat(12)}*b /x\n`);
    appendFileSync(join(root, long), '');

    expect([...read(root).files.files.keys()]).toContain(long);
  });

  test('names what a feature of the repository asks for', () => {
    const root = newProject();
    const asked = {
      id: 'own',
      privileged: true,
      capAdd: ['SYS_ADMIN'],
      mounts: ['source=/'],
      entrypoint: '/x',
    };
    writeFileSync(join(root, '.devcontainer/own/devcontainer-feature.json'), JSON.stringify(asked));

    expect(read(root).ignored).toEqual([
      expect.stringMatching(
        /^the feature "\.\/own": "privileged", "capAdd", "mounts" and "entrypoint" are ignored: /,
      ),
    ]);
  });

  test('reads no more than the files that are named where the file lies in the root', () => {
    const root = newRoot({ '.devcontainer.json': { image: 'debian' }, other: '' });

    expect([...read(root, '.devcontainer.json').files.files.keys()]).toEqual(['.devcontainer.json']);
  });

  test.each([
    ['a context', { build: { dockerfile: 'Dockerfile', context: '../..' } }],
    ['a Dockerfile', { build: { dockerfile: '../../Dockerfile' } }],
    ['a feature', { features: { '../../own': {} } }],
    ['a Compose file', { dockerComposeFile: '/etc/passwd', service: 'x' }],
  ])('refuses %s outside of the workspace', (_, settings) => {
    const root = newProject(settings);

    if ('build' in settings && 'context' in settings.build)
      appendFileSync(join(root, '.devcontainer/Dockerfile'), 'COPY . /x\n');
    expect(() => read(root)).toThrow('is not in the workspace');
  });

  test('refuses a folder that is a link to elsewhere', () => {
    const root = newRoot({});
    symlinkSync(join(newProject(), '.devcontainer'), join(root, '.devcontainer'));

    expect(() => read(root)).toThrow('leads out of');
  });
});

describe('a service of a Compose project that is built', () => {
  const project = (changes: Readonly<Record<string, string>> = {}) =>
    newRoot({
      [name]: { dockerComposeFile: '../c.yml', service: 'app' },
      'c.yml': { services: { app: { image: 'a', environment: { A: 'a' } }, my_db: { build: './db' } } },
      'db/Dockerfile': 'FROM debian\nCOPY init.sql /\n',
      'db/init.sql': 'select 1',
      'db/unread': '',
      ...changes,
    });

  test('is read with what its Dockerfile copies, which decides about the name of its image', () => {
    const root = project();
    const { files, services, digest, settings } = read(root);
    const [service] = services;

    expect(service).toMatchObject({ name: 'my_db', build: { dockerfile: join(root, 'db/Dockerfile') } });
    expect(service!.table.image).toMatch(/^containai:service-[\da-f]{12}$/);
    expect([...files.files.keys()]).toEqual([name, 'c.yml', 'db/Dockerfile', 'db/init.sql']);
    expect(settings.containerEnv).toEqual({ A: 'a' });
    expect(read(project()).services[0]!.table).toEqual(service!.table);
    for (const path of ['db/Dockerfile', 'db/init.sql']) {
      const other = read(project({ [path]: 'FROM debian\nCOPY init.sql /\n ' }));
      expect(other.digest).not.toBe(digest);
      expect(other.services[0]!.table.image).not.toBe(service!.table.image);
    }
  });

  test('is shown before somebody agrees', () => {
    expect(describeDevcontainer(read(project()))[2]).toBe(
      '  with the service "my_db", built from the Dockerfile "db/Dockerfile"',
    );
  });

  test('does not start where what it is built from lies outside', () => {
    const root = project();
    rmSync(join(root, 'db'), { recursive: true });
    symlinkSync(join(project(), 'db'), join(root, 'db'));

    expect(read(root).services).toEqual([]);
    expect(read(root).ignored.at(-1)).toMatch(/service "my_db" is not started, because .* leads out of/);
  });
});

describe('files are looked at once', () => {
  const looksAt = (files: Record<string, string>): number => {
    const addAll = jest.spyOn(Snapshot.prototype, 'addAll').mockClear();
    read(newRoot({ 'src/a1': '', ...files }));
    return addAll.mock.calls.filter(([path]) => path.endsWith('/src/a1')).length;
  };

  test('for many patterns of a Dockerfile in one folder', () => {
    const Dockerfile = 'FROM a\nCOPY s*/a1 s*/a2 s*/a3 /\n';

    expect(
      looksAt({ [name]: '{ "build": { "dockerfile": "../Dockerfile", "context": ".." } }', Dockerfile }),
    ).toBe(1);
  });

  test('for many names of one feature', () => {
    const features = { './own': {}, '././own': {}, './x/../own': {} };

    expect(
      looksAt({
        [name]: JSON.stringify({ image: 'a', features }),
        '.devcontainer/own/src/a1': '',
        '.devcontainer/x/y': '',
      }),
    ).toBe(2);
  });

  test('for many services from one Dockerfile', () => {
    const services = ['app', 'a', 'b', 'c'].map((service) => `  ${service}: { build: . }\n`).join('');

    expect(
      looksAt({
        [name]: '{ "dockerComposeFile": "../c.yml", "service": "app" }',
        'c.yml': `services:\n${services}`,
        Dockerfile: 'FROM a\nCOPY src /\n',
      }),
    ).toBe(1);
  });
});

test('the builder sees nothing that would run here or give the container more', () => {
  const asked = {
    initializeCommand: 'touch /tmp/x',
    privileged: true,
    runArgs: ['--network=host'],
    mounts: ['source=/,target=/host,type=bind'],
    customizations: { vscode: {} },
    containerEnv: { A: '${localEnv:KEY}' },
  };
  const root = newProject(asked);

  expect(buildSettings(read(root), { KEY: 'k' }, [])).toEqual({
    containerEnv: { A: '${localEnv:KEY}' },
    postCreateCommand: 'make',
    features: { './own': { version: 'k' } },
    build: { dockerfile: 'Dockerfile', context: '..', args: { A: 'k' }, options: [] },
  });
});

test('somebody is shown what they agree to', () => {
  const root = newProject();
  const hooks = { id: 'own', postCreateCommand: { a: ['x', 'y'] }, postStartCommand: 'serve' };
  writeFileSync(join(root, '.devcontainer/own/devcontainer-feature.json'), JSON.stringify(hooks));

  expect(describeDevcontainer(read(root)).map((line) => line.replace(/^\/.*\.devcontainer/, '…'))).toEqual([
    '…/devcontainer.json describes the container that agents work in:',
    '  built from the Dockerfile ".devcontainer/Dockerfile", with the features "./own"',
    '  postCreateCommand of the feature "./own": {"a":["x","y"]}',
    '  postCreateCommand: make',
    '  postStartCommand of the feature "./own": serve',
    '  made from the files ".devcontainer/Dockerfile", ".devcontainer/own/devcontainer-feature.json", ".devcontainer/own/install.sh", ".dockerignore", "requirements-dev.txt", "requirements.txt", "tools/x"',
  ]);
});
