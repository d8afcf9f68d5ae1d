import fs, { appendFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { buildSettings } from '../../../src/workspace/devcontainer/build-settings';
import { describeDevcontainer } from '../../../src/workspace/devcontainer/describe';
import { readDevcontainer } from '../../../src/workspace/devcontainer/devcontainer';
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

  test('does not enter what is left out, unless there is an exception', () => {
    const root = newProject();
    appendFileSync(join(root, 'tools/left-out'), '');
    mkdirSync(join(root, 'tools/deep/deeper'), { recursive: true });
    appendFileSync(join(root, 'tools/deep/deeper/kept'), '');
    const tools = (): string[] => [...read(root).files.files.keys()].filter((each) => each.includes('deep'));
    appendFileSync(join(root, '.dockerignore'), 'tools/deep\n');
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
  expect(
    describeDevcontainer(read(newProject())).map((line) => line.replace(/^\/.*\.devcontainer/, '…')),
  ).toEqual([
    '…/devcontainer.json describes the container that agents work in:',
    '  built from the Dockerfile ".devcontainer/Dockerfile", with the features "./own"',
    '  postCreateCommand: make',
    '  made from the files ".devcontainer/Dockerfile", ".devcontainer/own/install.sh", ".dockerignore", "requirements-dev.txt", "requirements.txt", "tools/x"',
  ]);
});
