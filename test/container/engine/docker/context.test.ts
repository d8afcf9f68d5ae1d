import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../../../src/system/host';
import { endpointOf, resolveEngine } from '../../../../src/container/engine/docker/context';
import { CaiError } from '../../../../src/errors';
import { newFolder } from '../../../support/temp-folder';

let home: string;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  home = newFolder();
  env = { HOME: home };
});

describe('resolveEngine', () => {
  test('takes the standard socket if nothing says otherwise', () => {
    expect(resolveEngine(new Host(env))).toEqual({
      context: 'default',
      endpoint: 'unix:///var/run/docker.sock',
      options: { socketPath: '/var/run/docker.sock' },
    });
  });

  test('takes the first of command line, DOCKER_HOST, DOCKER_CONTEXT, our configuration and that of Docker', () => {
    for (const name of ['wanted', 'variable', 'configured', 'current']) {
      storeContext(name, { Host: `unix:///${name}.sock` });
    }
    writeFileSync(join(home, '.docker/config.json'), '{"currentContext":"current"}');
    const noHost = { ...env, DOCKER_CONTEXT: 'variable' };
    const hostOfUser = new Host({ ...noHost, DOCKER_HOST: 'unix:///host.sock' });

    const chosen = [
      resolveEngine(hostOfUser, 'wanted', 'configured'),
      resolveEngine(hostOfUser, undefined, 'configured'),
      resolveEngine(new Host(noHost), '', 'configured'),
      resolveEngine(new Host({ ...env, DOCKER_HOST: '', DOCKER_CONTEXT: '' }), undefined, 'configured'),
      resolveEngine(new Host(env), undefined, ''),
    ];

    expect(chosen.map(({ context, endpoint }) => `${context} ${endpoint}`)).toEqual([
      'wanted unix:///wanted.sock',
      'default unix:///host.sock',
      'variable unix:///variable.sock',
      'configured unix:///configured.sock',
      'current unix:///current.sock',
    ]);
  });

  test('takes DOCKER_HOST for the context "default"', () => {
    storeContext('other', { Host: 'unix:///other.sock' });
    const hostOfUser = new Host({ ...env, DOCKER_HOST: 'unix:///host.sock', DOCKER_CONTEXT: 'other' });

    expect(resolveEngine(hostOfUser, 'default').endpoint).toBe('unix:///host.sock');
    expect(resolveEngine(new Host({ ...env, DOCKER_CONTEXT: 'default' }), undefined, 'other').endpoint).toBe(
      'unix:///var/run/docker.sock',
    );
  });

  test('finds contexts in DOCKER_CONFIG, with no config.json there', () => {
    const folder = newFolder();
    storeContext('mine', { Host: 'unix:///mine.sock' }, folder);

    expect(resolveEngine(new Host({ ...env, DOCKER_CONFIG: folder }), 'mine').options).toEqual({
      socketPath: '/mine.sock',
    });
  });

  test('names the contexts that there are', () => {
    storeContext('b', { Host: 'unix:///b.sock' });
    storeContext('a', { Host: 'unix:///a.sock' });

    expect(failure(() => resolveEngine(new Host({ ...env, DOCKER_CONTEXT: 'nope' })))).toBe(
      'there is no Docker context "nope" (named by DOCKER_CONTEXT): choose one of "default", "a", "b"',
    );
  });

  test('says where a context is named that does not exist', () => {
    mkdirSync(join(home, '.docker'));
    const file = join(home, '.docker/config.json');
    writeFileSync(file, '{"currentContext":"gone"}');

    expect(failure(() => resolveEngine(new Host(env), 'nope'))).toMatch(/"nope" \(named by --context\)/);
    expect(failure(() => resolveEngine(new Host(env), undefined, 'nope'))).toMatch(
      /"nope" \(named by \[engine\] context\)/,
    );
    expect(failure(() => resolveEngine(new Host(env)))).toMatch(
      `"gone" (named by currentContext in ${file})`,
    );
  });

  test('says what is wrong with files that cannot be used', () => {
    storeContext('broken', { Host: '' });
    const file = join(home, '.docker/config.json');
    writeFileSync(file, '{"currentContext":');

    expect(failure(() => resolveEngine(new Host(env)))).toBe(
      `${file} is not JSON, so the Docker context is unknown: mend it, or name one with --context`,
    );
    expect(failure(() => resolveEngine(new Host(env), 'broken'))).toBe(
      'the Docker context "broken" (named by --context) has no engine: choose another with --context',
    );

    chmodSync(join(home, '.docker/config.json'), 0o000);
    writeFileSync(join(home, '.docker', 'contexts', 'meta', idOf('broken'), 'meta.json'), 'x');

    expect(failure(() => resolveEngine(new Host(env), 'broken'))).toMatch(
      /meta\.json is not JSON: recreate that Docker context, or name another with --context$/,
    );
  });

  test.each([
    ['unix://', { socketPath: '/var/run/docker.sock' }],
    ['tcp://127.0.0.1:2375', { protocol: 'http', host: '127.0.0.1', port: 2375 }],
    ['tcp://localhost', { protocol: 'http', host: 'localhost', port: 2375 }],
    ['tcp://:1234/', { protocol: 'http', host: 'localhost', port: 1234 }],
  ])('reads %s', (endpoint, options) => {
    expect(resolveEngine(new Host({ ...env, DOCKER_HOST: endpoint }))).toEqual({
      context: 'default',
      endpoint,
      isFromHost: true,
      options,
    });
  });

  test.each(['garbage', 'garbage:2375'])('does not guess what %s is to be', (endpoint) => {
    expect(failure(() => resolveEngine(new Host({ ...env, DOCKER_HOST: endpoint })))).toBe(
      `the engine ${endpoint} (from DOCKER_HOST) cannot be used: the address has to be unix:///PATH, ssh://[USER@]HOST[:PORT] or tcp://HOST:PORT`,
    );
  });

  test('knows that ssh leads to another machine', () => {
    storeContext('far', { Host: 'ssh://me@build.example:2222' });

    expect(resolveEngine(new Host(env), 'far')).toEqual({
      context: 'far',
      endpoint: 'ssh://me@build.example:2222',
      isElsewhere: true,
      ssh: { host: 'build.example', user: 'me', port: '2222' },
      options: { protocol: 'http', host: 'localhost' },
    });
  });

  test('refuses tcp://127.0.0.1.example:1 without TLS that is verified, for it is on another machine', () => {
    const endpoint = 'tcp://127.0.0.1.example:1';
    storeContext('far', { Host: endpoint });
    storeContext('unverified', { Host: endpoint, SkipTLSVerify: true });

    for (const name of ['far', 'unverified'])
      expect(failure(() => resolveEngine(new Host(env), name))).toBe(
        `the engine ${endpoint} (Docker context "${name}") cannot be used: it is on another machine, and whoever is on the way there could read and change everything: use ssh://, or TLS with certificates that are verified`,
      );
  });

  test.each([
    [
      'npipe:////./pipe/docker_engine',
      /cai does not speak to Windows pipes: run cai inside WSL, with an engine there$/,
    ],
    ['fd://', /the address has to be unix:\/\/\/PATH, ssh:\/\/\[USER@\]HOST\[:PORT\] or tcp:\/\/HOST:PORT$/],
    ['ssh://me:secret@build', /the address has to be ssh:\/\/\[USER@\]HOST\[:PORT\]\[\/SOCKET\]$/],
    ['http://127.0.0.1:1', /the address has to be unix/],
    ['tcp://127.0.0.1:port', /the address has to be tcp:\/\/HOST:PORT$/],
  ])('refuses %s', (endpoint, why) => {
    expect(failure(() => resolveEngine(new Host({ ...env, DOCKER_HOST: endpoint })))).toMatch(why);
  });
});

describe('resolveEngine, with TLS', () => {
  const [ca, cert, key] = ['ca', 'cert', 'key'].map((name) => Buffer.from(name)) as [Buffer, Buffer, Buffer];
  const local = { protocol: 'https', host: '127.0.0.1', port: 2376 };

  test('takes them for another machine, too', () => {
    storeContext('tls', { Host: 'tcp://192.0.2.7' });
    certificatesIn(join(home, '.docker/contexts/tls', idOf('tls'), 'docker'));

    const { isElsewhere, options } = resolveEngine(new Host(env), 'tls');

    expect(isElsewhere).toBe(true);
    expect(options).toEqual({ ...local, host: '192.0.2.7', ca, cert, key });
  });

  test('does not verify where the context says so', () => {
    storeContext('tls', { Host: 'tcp://127.0.0.1', SkipTLSVerify: true });

    const { agent, ...options } = resolveEngine(new Host(env), 'tls').options;

    expect(options).toEqual(local);
    expect(agent?.options.rejectUnauthorized).toBe(false);
  });

  test('takes those in DOCKER_CERT_PATH, or beside the configuration, with DOCKER_TLS_VERIFY only', () => {
    const folder = newFolder();
    certificatesIn(folder);
    certificatesIn(join(home, '.docker'));
    const set = { ...env, DOCKER_HOST: 'tcp://127.0.0.1:2376' };

    const options = [
      { ...set, DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: folder },
      { ...set, DOCKER_TLS_VERIFY: '1' },
      { ...set, DOCKER_TLS_VERIFY: '', DOCKER_CERT_PATH: folder },
    ].map((each) => resolveEngine(new Host(each)).options);

    expect(options).toEqual([
      { ...local, ca, cert, key },
      { ...local, ca, cert, key },
      { ...local, protocol: 'http' },
    ]);
  });

  function certificatesIn(folder: string): void {
    mkdirSync(folder, { recursive: true });
    for (const name of ['ca', 'cert', 'key']) writeFileSync(join(folder, `${name}.pem`), name);
  }
});

function idOf(name: string): string {
  return createHash('sha256').update(name).digest('hex');
}

/** As `docker context create` of version 28 writes it. */
function storeContext(
  name: string,
  docker: { Host: string; SkipTLSVerify?: boolean },
  folder = join(home, '.docker'),
): void {
  const meta = join(folder, 'contexts/meta', idOf(name));
  mkdirSync(meta, { recursive: true });
  writeFileSync(join(meta, 'meta.json'), JSON.stringify({ Name: name, Metadata: {}, Endpoints: { docker } }));
}

function failure(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof CaiError && error.code === 'NO_ENGINE') return error.message;
    throw error;
  }
  throw new Error('it did not fail');
}

describe('endpointOf', () => {
  const of = (env: NodeJS.ProcessEnv) => endpointOf(resolveEngine(new Host({ HOME: newFolder(), ...env })));

  test('tells how a program without any settings of the user reaches an engine', () => {
    const folder = newFolder();
    for (const name of ['ca', 'cert', 'key']) writeFileSync(join(folder, `${name}.pem`), name);
    const tls = { DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: folder };

    expect(of({ DOCKER_HOST: 'unix:///run/x.sock' })).toEqual({ url: 'unix:///run/x.sock' });
    expect(of({ DOCKER_HOST: 'tcp://engine.example:2376', ...tls })).toEqual({
      url: 'tcp://engine.example:2376',
      certificates: {
        'ca.pem': Buffer.from('ca'),
        'cert.pem': Buffer.from('cert'),
        'key.pem': Buffer.from('key'),
      },
    });
  });

  test('tells no way over ssh', () => expect(of({ DOCKER_HOST: 'ssh://engine.example' })).toBeUndefined());
});
