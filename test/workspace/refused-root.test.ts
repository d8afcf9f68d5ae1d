import { mkdirSync, symlinkSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { Host } from '../../src/system/host';
import { rootRules } from '../../src/workspace/refused-root';
import { newFolder } from '../support/temp-folder';

let place: string;

beforeEach(() => (place = newFolder()));

describe('a root', () => {
  test.each(
    '/ /bin /boot /dev /etc /home /lib /media /mnt /opt /proc /run /sbin /srv /sys /tmp /usr /var'.split(' '),
  )('is refused: %s', (folder) => {
    expect(rootRules(new Host({ HOME: place })).refusalOfRoot(folder)).toBeDefined();
  });

  test.each(['/var/tmp', '/usr/bin', userInfo().homedir])('is refused by its real path: %s', (folder) => {
    expect(rootRules(new Host({ HOME: place })).refusalOfRoot(folder)).toBeDefined();
  });

  test.each(['/opt/project', '/srv/www', '/var/lib/project', '/tmp/x', '/data', '/tmpx', '/usr/src/app'])(
    'is fine: %s',
    (folder) => expect(rootRules(new Host({ HOME: place })).refusalOfRoot(folder)).toBeUndefined(),
  );

  test('is neither the home folder of the environment nor an ancestor of it', () => {
    const home = join(place, 'users/me');

    const { refusalOfRoot } = rootRules(new Host({ HOME: home }));

    expect(refusalOfRoot(home)).toBe('it is the home folder');
    expect(refusalOfRoot(dirname(home))).toBe(`it holds the home folder ${home}`);
    expect(refusalOfRoot(place)).toBe(`it holds the home folder ${home}`);
    expect(refusalOfRoot(join(home, 'project'))).toBeUndefined();
    expect(refusalOfRoot(join(place, 'users/m'))).toBeUndefined();
  });

  test('is not what a home folder that is a link leads to, nor what holds that link', () => {
    mkdirSync(join(place, 'data/me'), { recursive: true });
    mkdirSync(join(place, 'users'));
    symlinkSync('../data/me', join(place, 'users/me'));

    const { refusalOfRoot } = rootRules(new Host({ HOME: join(place, 'users/me') }));

    expect(refusalOfRoot(join(place, 'data/me'))).toBe('it is the home folder');
    expect(refusalOfRoot(join(place, 'data'))).toMatch('it holds the home folder');
    expect(refusalOfRoot(join(place, 'users'))).toMatch('it holds the home folder');
  });

  test.each([
    ['XDG_CONFIG_HOME', 'config'],
    ['XDG_STATE_HOME', 'state'],
    ['XDG_RUNTIME_DIR', 'run'],
  ])('does not hold our folder below %s, existing or not', (name, folder) => {
    const own = join(place, 'outer', folder);

    const { refusalOfRoot } = rootRules(new Host({ HOME: '/nowhere/home', [name]: own }));

    const refusal = `it holds cai's own folder ${own}/containai`;
    expect(refusalOfRoot(join(own, 'containai'))).toBe(refusal);
    expect(refusalOfRoot(own)).toBe(refusal);
    expect(refusalOfRoot(place)).toBe(refusal);
    expect(refusalOfRoot(join(place, 'outer/other'))).toBeUndefined();
    expect(refusalOfRoot(join(own, 'containai-plugins'))).toBeUndefined();
  });

  test('holds neither our folder behind links, nor any link on the way to it', () => {
    mkdirSync(join(place, 'dotfiles/containai'), { recursive: true });
    mkdirSync(join(place, 'middle'));
    mkdirSync(join(place, 'home/.config'), { recursive: true });
    symlinkSync(join(place, 'middle/link'), join(place, 'home/.config/containai'));
    symlinkSync(join(place, 'dotfiles/containai'), join(place, 'middle/link'));

    const { refusalOfRoot } = rootRules(new Host({ HOME: join(place, 'home') }));

    for (const folder of ['dotfiles', 'dotfiles/containai', 'middle', 'home/.config']) {
      expect(refusalOfRoot(join(place, folder))).toMatch("it holds cai's own folder");
    }
  });

  test.each([
    ['DOCKER_HOST', (folder: string) => `unix://${folder}/docker.sock`],
    ['XDG_RUNTIME_DIR', (folder: string) => folder],
  ])('does not hold an engine socket named by %s', (name, value) => {
    const { refusalOfRoot } = rootRules(new Host({ HOME: '/nowhere', [name]: value(join(place, 'engine')) }));

    expect(refusalOfRoot(join(place, 'engine'))).toMatch(/^it holds/);
    expect(refusalOfRoot(place)).toMatch(/^it holds/);
    expect(refusalOfRoot(join(place, 'other'))).toBeUndefined();
  });

  test('may hold anything where DOCKER_HOST names no file', () => {
    const { refusalOfRoot } = rootRules(
      new Host({ HOME: '/nowhere', DOCKER_HOST: `tcp://${place}/docker.sock` }),
    );

    expect(refusalOfRoot(place)).toBeUndefined();
  });

  test('does not hold the socket of rootless podman', () => {
    const { refusalOfRoot } = rootRules(new Host({ HOME: '/nowhere', XDG_RUNTIME_DIR: place }));

    expect(refusalOfRoot(join(place, 'podman'))).toBe(
      `it holds the socket of a container engine, ${place}/podman/podman.sock`,
    );
  });

  test('is judged by the spelling of what cannot be resolved', () => {
    symlinkSync('loop', join(place, 'loop'));

    const { refusalOfRoot } = rootRules(new Host({ HOME: '/nowhere', XDG_CONFIG_HOME: join(place, 'loop') }));

    expect(refusalOfRoot(place)).toMatch("it holds cai's own folder");
  });
});

describe('a working directory', () => {
  test('lies in none of our folders', () => {
    const { refusalOfCwd } = rootRules(new Host({ HOME: place }));

    expect(refusalOfCwd(join(place, '.config/containai/sub'))).toBe(
      `it lies in cai's own folder ${place}/.config/containai`,
    );
    expect(refusalOfCwd(join(place, '.local/state/containai'))).toMatch("it lies in cai's own folder");
    expect(refusalOfCwd(join(place, '.config'))).toBeUndefined();
  });
});
