import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startFolder } from '../../../src/commands/run/exec';
import { runHere } from '../../support/cli-here';
import { newFolder } from '../../support/temp-folder';

describe('cai exec', () => {
  let folder: string;
  let workspace: string;

  beforeEach(() => {
    folder = newFolder();
    workspace = join(folder, 'workspace');
    mkdirSync(workspace);
  });

  const exec = (...args: string[]) =>
    runHere(['exec', ...args], {
      env: { HOME: join(folder, 'home'), DOCKER_HOST: 'unix:///nowhere/docker.sock' },
    });

  test('says that no engine is there, where it was looked for, and what to do', async () => {
    const { status, stdout, stderr } = await exec('--workspace', workspace, '--', 'true');

    expect(status).toBe(11);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^cai: .*unix:\/\/\/nowhere\/docker\.sock.*start/s);
  });

  test.each([
    ['no command', []],
    ['an option that there is none of', ['--verbos', '--', 'true']],
    ['a variable without a name', ['-e', '=x', '--', 'true']],
    ['a terminal that is not there', ['-t', '--', 'true']],
    ['a status on what is no descriptor', ['--status-fd', 'abc', '--', 'true']],
    ['a status on a descriptor that is not open', ['--status-fd', '999999', '--', 'true']],
    ['a status on stdout', ['--status-fd', '1', '--', 'true']],
  ])('refuses %s before anything is looked for', async (_what, args) => {
    const { status, stdout, stderr } = await exec('--workspace', workspace, ...args);

    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^cai: [^\n]+\n$/);
  });
});

describe('startFolder', () => {
  const bind = (source: string, target: string) => {
    return { source, target, isReadOnly: false, identity: '', isRoot: true };
  };
  const workspace = { root: '/w', spelledRoot: '/w', cwd: '/w/src', realCwd: '/w/src', identity: '' };
  const binds = [bind('/w', '/inside'), bind('/data', '/mnt/data')];
  const settings = { workingFolder: '/inside', isCopied: false, binds };
  const folderOf = (cwd?: string) => startFolder({ workspace, settings }, cwd);

  test.each([
    [undefined, '/inside/src'],
    ['..', '/inside'],
    ['../docs', '/inside/docs'],
    ['../../data/x', '/mnt/data/x'],
    ['/usr/share', '/usr/share'],
  ])('begins where we are, as the container names it: --cwd %s', (cwd, folder) => {
    expect(folderOf(cwd)).toBe(folder);
  });

  test('leads nowhere that the container does not have', () => {
    expect(() => folderOf('../..')).toThrow(
      '--cwd: "/" is not in the container, which has the workspace "/w" and your [[mounts]]',
    );
  });

  test('begins in the home folder of a container without a workspace', () => {
    const without = {
      workspace: undefined,
      settings: { workingFolder: '/home/agent', isCopied: false, binds: [] },
    };

    expect(startFolder(without)).toBe('/home/agent');
    expect(startFolder(without, 'x')).toBe('/home/agent/x');
  });
});
