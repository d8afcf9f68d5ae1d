import { CaiError } from '../../../../src/errors';
import { servicesBeside } from '../../../../src/workspace/devcontainer/compose/beside';
import { composeProject } from '../../../../src/workspace/devcontainer/compose/project';
import type { JsonObject } from '../../../../src/workspace/devcontainer/json';

const file = '/w/.devcontainer/devcontainer.json';

/** What runs beside the service "app" of these files, by path. */
function beside(files: Readonly<Record<string, object | string>>, more: JsonObject = {}) {
  const dockerComposeFile = Object.keys(files).filter((path) => path.endsWith('.yml'));
  const settings = { dockerComposeFile, service: 'app', ...more };
  const project = composeProject(settings, file, (path) => {
    if (!path.startsWith('/w/')) throw new CaiError('CONFIG', `"${path}" is not in the workspace "/w"`);
    const content = files[path];
    return typeof content === 'object' ? JSON.stringify(content) : content;
  })!;
  const { services, notices, env } = servicesBeside(project, settings, file, ({ dockerfile }) => {
    if (!dockerfile.startsWith('/w/'))
      throw new CaiError('CONFIG', `"${dockerfile}" is not in the workspace "/w"`);
  });
  return { services, notices: notices.slice(1), first: notices[0], env };
}

/** The one service of a file, besides "app". */
function one(service: object, files: Readonly<Record<string, string>> = {}) {
  const { services, notices } = beside({
    '/w/c.yml': { services: { app: { image: 'a' }, db: { image: 'i', ...service } } },
    ...files,
  });
  return { table: services[0]?.table, build: services[0]?.build, notices };
}

const ignored = (keys: string) =>
  `"/w/c.yml": service "db": ${keys} ignored: nothing of it runs on this machine, and the container gets no more than your own configuration gives it`;
const notStarted = (why: string) => `"/w/c.yml": the service "db" is not started, because ${why}`;

describe('servicesBeside', () => {
  test('says what of the service of the agents is ignored', () => {
    expect(beside({ '/w/c.yml': { services: { app: { image: 'a' } } } })).toEqual({
      services: [],
      notices: [],
      env: {},
      first: `"${file}": only the image and the variables of the service "app" are used: its other settings are ignored`,
    });
  });

  test('gives the agents the variables of their service', () => {
    const app = { image: 'a', environment: { A: '${X}', B: 'b=b', HOME: null }, env_file: '.env' };

    expect(beside({ '/w/c.yml': { services: { app } }, '/w/.env': 'X=x\n' }).env).toEqual({
      X: 'x',
      A: 'x',
      B: 'b=b',
    });
    expect(beside({ '/w/c.yml': { services: { app } } })).toMatchObject({
      env: {},
      notices: [
        '"/w/c.yml": the variables of the service "app" are not set, because its "env_file" ".env" is not there',
      ],
    });
  });

  test.each<[string, object, string, object]>([
    [
      'a folder',
      { build: './db' },
      '"x"',
      { dockerfile: '/w/db/Dockerfile', context: '/w/db', args: {}, target: undefined },
    ],
    [
      'a Dockerfile, also where it names an image',
      {
        image: 'mine:1',
        build: {
          context: '.',
          dockerfile: 'a/D',
          args: ['A=${X}', 'HOME'],
          target: 't',
          ssh: ['default'],
          network: 'host',
        },
      },
      '"build.ssh" and "build.network" are',
      { dockerfile: '/w/a/D', context: '/w', args: { A: 'x' }, target: 't' },
    ],
  ])('has an image built from %s', (_, service, keys, build) => {
    const found = one({ image: null, ...service }, { '/w/.env': 'X=x\n' });

    expect(found).toEqual({
      table: { name: 'db', env: [] },
      build,
      notices: keys === '"x"' ? [] : [ignored(keys)],
    });
  });

  test('starts services in the order that they ask for', () => {
    const condition = (name: string) => ({ condition: `service_${name}` });
    const on = {
      app: condition('healthy'),
      two: condition('healthy'),
      three: condition('completed_successfully'),
      four: condition('started'),
    };
    const services = {
      app: { image: 'a' },
      one: { image: 'a', depends_on: on },
      two: { image: 'a' },
      three: { image: 'a' },
      four: { image: 'a', depends_on: ['two'] },
    };

    expect(
      beside({ '/w/c.yml': { services } }).services.map(({ table }) => [table.after, table.ends]),
    ).toEqual([
      [['two', 'three'], undefined],
      [undefined, undefined],
      [undefined, true],
      [undefined, undefined],
    ]);
  });

  test.each<[string, object, object]>([
    ['a command', { command: ['a', 'b c', 1] }, { command: ['a', 'b c', '1'] }],
    [
      'words',
      { command: `a 'b c' "d \\" $$e"f\\ g '' -x` },
      { command: ['a', 'b c', 'd " $ef g', '', '-x'] },
    ],
    ['no command', { command: null }, { command: undefined }],
    ['variables', { environment: { A: 'x', B: 1, C: true, D: '' } }, { env: ['A=x', 'B=1', 'C=true', 'D='] }],
    ['a list of variables', { environment: ['A=x=y'] }, { env: ['A=x=y'] }],
    ['a check', { healthcheck: { test: ['CMD', 'a', 'b'] } }, { health: ['a', 'b'] }],
    ['a check by a shell', { healthcheck: { test: ['CMD-SHELL', 'a || b'] } }, { health: ['/bin/sh', '-c', 'a || b'] }], // prettier-ignore
    ['a check as text', { healthcheck: { test: 'a' } }, { health: ['/bin/sh', '-c', 'a'] }],
    ['no check', { healthcheck: { test: ['NONE'] } }, { health: undefined }],
    ['a check that is off', { healthcheck: { test: 'a', disable: true } }, { health: undefined }],
    ['a volume', { volumes: ['data:/data/:rw'] }, { volume: '/data' }],
    ['a volume at length', { volumes: [{ type: 'volume', source: 'd', target: '/d' }] }, { volume: '/d' }],
    ['memory', { mem_limit: '512m' }, { memory: '524288KiB' }],
    ['little memory', { mem_limit: 1000 }, { memory: '65536KiB' }],
    ['all memory', { mem_limit: 0 }, { memory: undefined }],
    ['a limit', { deploy: { resources: { limits: { memory: '1.5gb' } } } }, { memory: '1572864KiB' }],
    ['what does not matter', { depends_on: ['app'], restart: 'always', 'x-a': 1, privileged: false }, {}],
  ])('takes %s', (_, service, table) => {
    expect(one(service)).toEqual({
      table: { env: [], name: 'db', image: 'i', ...table },
      notices: [],
    });
  });

  test.each<[object, string]>([
    [{ privileged: true, ports: ['1:1'], network_mode: 'host' }, '"privileged", "ports" and "network_mode" are'], // prettier-ignore
    [{ cap_add: ['ALL'], devices: ['/dev/kvm'], user: 'x', entrypoint: 'x' }, '"cap_add", "devices", "user" and "entrypoint" are'], // prettier-ignore
    [{ secrets: ['s'], configs: ['c'], networks: ['n'], extends: { service: 'app' } }, '"secrets", "configs", "networks" and "extends" are'], // prettier-ignore
    [{ environment: { HOME: null } }, '"environment.HOME" is'],
    [{ environment: ['HOME'] }, '"environment.HOME" is'],
    [{ volumes: ['/var/run/docker.sock:/s', './x:/x', '~/x:/x'] }, '"volumes: /var/run/docker.sock:/s", "volumes: ./x:/x" and "volumes: ~/x:/x" are'], // prettier-ignore
    [{ volumes: [{ type: 'bind', source: 'x', target: '/x' }, '/y'] }, '"volumes: x" and "volumes: /y" are'],
    [{ deploy: { replicas: 2, resources: { limits: { cpus: '1' }, reservations: { memory: '1g' } } } }, '"deploy.replicas", "deploy.resources.reservations" and "deploy.resources.limits.cpus" are'], // prettier-ignore
  ])('names what is ignored of %j', (service, keys) => {
    const { table, notices } = one(service);

    expect(table).toEqual({ env: [], name: 'db', image: 'i' });
    expect(notices).toEqual([ignored(keys)]);
  });

  test('keeps one volume', () => {
    expect(one({ volumes: ['a:/a', 'b:/b'] })).toEqual({
      table: { env: [], name: 'db', image: 'i', volume: '/a' },
      notices: [ignored('"volumes: b:/b" is')],
    });
  });

  test.each<[object, string]>([
    [{ image: null }, 'it has no "image" and no "build"'],
    [{ image: null, build: '../db' }, '"/db/Dockerfile" is not in the workspace "/w"'],
    [{ image: null, build: { dockerfile: '/etc/passwd' } }, '"/etc/passwd" is not in the workspace "/w"'],
    [{ command: 'a "b' }, 'its "command" has a quotation mark without an end, or is no list of words'],
    [{ command: [{}] }, 'its "command" has a quotation mark without an end, or is no list of words'],
    [{ mem_limit: 'much' }, 'its limit of memory is no size'],
    [{ env_file: 'none' }, 'its "env_file" "none" is not there'],
    [{ env_file: '/etc/environment' }, '"/etc/environment" is not in the workspace "/w"'],
    [{ env_file: ['../x'] }, '"/x" is not in the workspace "/w"'],
  ])('does not start what would be another service: %j', (service, why) => {
    expect(one(service)).toEqual({ table: undefined, notices: [notStarted(why)] });
  });

  test('takes variables from files of the workspace, the later ones first', () => {
    const service = {
      image: '${IMAGE}',
      env_file: ['a.env', { path: 'none', required: false }, { path: 'b.env' }],
      environment: { C: '${C:-c}', D: '$HOME' },
    };
    const files = { '/w/.env': 'IMAGE=x:1\n', '/w/a.env': 'A=a\nB=a\n', '/w/b.env': 'B=${A}\nC=b # c\n' };

    expect(one(service, files)).toEqual({
      table: { name: 'db', image: 'x:1', env: ['A=a', 'B=${A}', 'C=c', 'D='] },
      notices: [],
    });
  });

  test('has no file that takes long to parse', () => {
    expect(one({ env_file: 'a.env' }, { '/w/a.env': 'A\n'.repeat(2 ** 15 + 1) }).notices).toEqual([
      notStarted('"/w/a.env" is longer than 64 KiB: shorten it'),
    ]);
  });

  test('has only so much of such files', () => {
    const service = { env_file: Array.from({ length: 17 }, () => 'a.env') };

    expect(one(service, { '/w/a.env': `A=${'a'.repeat(63 * 1_024)}` }).notices).toEqual([
      notStarted('the variables of the Compose files stand for more than 1 MiB'),
    ]);
  });

  test('joins files, the later ones first', () => {
    const files = {
      '/w/a.yml': 'services:\n  app: { image: a }\n  db: { image: i, command: x, environment: [A=1, B=1] }\n',
      '/w/b.yml': 'include: [c.yml]\nservices:\n\n  db: { command: y, environment: { B: 2 } }\n  c: { image: c }\n', // prettier-ignore
    };

    const { services, notices } = beside(files);

    expect(services).toEqual([
      {
        name: 'db',
        from: '/w/b.yml:4',
        table: { name: 'db', image: 'i', command: ['y'], env: ['A=1', 'B=2'] },
      },
      { name: 'c', from: '/w/b.yml:5', table: { name: 'c', image: 'c', env: [] } },
    ]);
    expect(notices).toEqual([expect.stringContaining('"/w/b.yml": "include" is ignored')]);
  });

  const files = {
    '/w/c.yml': {
      services: {
        app: { image: 'a', depends_on: ['one'] },
        one: { image: 'a', depends_on: { two: { condition: 'service_healthy' } } },
        two: { image: 'a', profiles: ['x'] },
        three: { image: 'a' },
        four: { image: 'a', profiles: ['x'] },
      },
    },
  };
  test.each<[string, JsonObject, string[]]>([
    ['all without a profile', {}, ['one', 'three', 'two']],
    ['all where none is named', { runServices: [] }, ['one', 'three', 'two']],
    ['those that are named', { runServices: ['app'] }, ['one', 'two']],
    ['one with a profile', { runServices: ['four'] }, ['four', 'one', 'two']],
  ])('chooses %s, and what these depend on', (_, more, names) => {
    expect(beside(files, more).services.map(({ name }) => name)).toEqual(names);
  });

  test('says of a name that there is no such service', () => {
    expect(beside(files, { runServices: ['db'] }).notices).toEqual([
      `"${file}": the service "db" is not started, because no Compose file has it`,
    ]);
  });
});
