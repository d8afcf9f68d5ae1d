import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dockerLogin } from '../../../src/container/registry/docker-login';
import { Host } from '../../../src/system/host';
import { expectedError } from '../../expected-error';
import { newFolder } from '../../support/temp-folder';

let home: string;

beforeEach(() => {
  home = newFolder();
  mkdirSync(join(home, '.docker'));
});

/** The login for a registry with this `config.json`, and programs of `programs` at hand. */
async function login(config: unknown, registry = 'ghcr.io') {
  const text = typeof config === 'string' ? config : JSON.stringify(config);
  writeFileSync(join(home, '.docker/config.json'), text);
  return await dockerLogin(new Host({ HOME: home, PATH: `${home}:${process.env.PATH}` }), registry);
}

/** What it fails with, which holds no secret. */
async function failure(config: unknown): Promise<Error> {
  const reason = await login(config).then(
    () => new Error('it did not fail'),
    (error: unknown) => error as Error,
  );
  expect(reason.message).not.toMatch(/s3cret/);
  return reason;
}

function helper(name: string, script: string): void {
  const file = join(home, `docker-credential-${name}`);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
}

const auth = Buffer.from('me:s3cret:x').toString('base64');
const stored = { username: 'me', password: 's3cret:x' };

describe('a login in the file', () => {
  test.each([
    ['by the host', 'ghcr.io', { auths: { 'ghcr.io': { auth } } }, stored],
    ['by an older URL', 'ghcr.io', { auths: { 'https://ghcr.io/v1/': { auth } } }, stored],
    ['of Docker itself', 'docker.io', { auths: { 'https://index.docker.io/v1/': { auth } } }, stored],
    [
      'that is a token',
      'ghcr.io',
      { auths: { 'ghcr.io': { auth, identitytoken: 't' } } },
      { identityToken: 't' },
    ],
    ['of another host', 'ghcr.io', { auths: { 'ghcr.io:5000': { auth }, io: { auth } } }, undefined],
    ['that a store has left behind', 'ghcr.io', { auths: { 'ghcr.io': {} } }, undefined],
    ['that is null', 'ghcr.io', { auths: { 'ghcr.io': null } }, undefined],
    ['without any', 'ghcr.io', {}, undefined],
  ])('%s', async (_, registry, config, expected) => {
    expect(await login(config, registry)).toEqual(expected);
  });

  test('counts where DOCKER_CONFIG says that it is', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ auths: { 'ghcr.io': { auth } } }));

    expect(await dockerLogin(new Host({ HOME: home, DOCKER_CONFIG: folder }), 'ghcr.io')).toEqual(stored);
  });

  test('need not be there', async () => {
    expect(await dockerLogin(new Host({ HOME: '/none' }), 'ghcr.io')).toBeUndefined();
  });

  test.each([
    ['no JSON', '{"auths": s3cret', /config\.json is no JSON/],
    ['no object', '"s3cret"', /config\.json is no JSON/],
    [
      'a damaged login',
      { auths: { 'ghcr.io': { auth: Buffer.from('s3cret').toString('base64') } } },
      /the login for ghcr\.io in .* is damaged: run: docker login ghcr\.io$/,
    ],
  ])('fails for %s', async (_, config, why) => {
    expect(await failure(config)).toMatchObject(expectedError('IMAGE', why));
  });
});

describe('a login that a program keeps', () => {
  const says = (username: string) =>
    `cat >"\${0%/*}/asked"; echo '{"Username":"${username}","Secret":"s3cret"}'`;
  const asked = () => readFileSync(join(home, 'asked'), 'utf8');

  test.each([
    ['ghcr.io', 'ghcr.io'],
    ['docker.io', 'https://index.docker.io/v1/'],
  ])('for %s is asked for by its name', async (registry, name) => {
    helper('test', says('me'));

    expect(await login({ credsStore: 'test' }, registry)).toEqual({ username: 'me', password: 's3cret' });
    expect(asked()).toBe(name);
  });

  test('can be an identity token', async () => {
    helper('test', says('<token>'));

    expect(await login({ credsStore: 'test' })).toEqual({ identityToken: 's3cret' });
  });

  test('is that of the program for this registry, where there is one', async () => {
    helper('all', says('all'));
    helper('one', says('one'));

    expect(await login({ credsStore: 'all', credHelpers: { 'ghcr.io': 'one' } })).toMatchObject({
      username: 'one',
    });
    expect(await login({ credsStore: 'all', credHelpers: { other: 'one' } })).toMatchObject({
      username: 'all',
    });
  });

  test('may be none, and then the file counts', async () => {
    helper('test', 'echo "credentials not found in native keychain"; exit 1');

    expect(await login({ credsStore: 'test' })).toBeUndefined();
    expect(await login({ credsStore: 'test', auths: { 'ghcr.io': { auth } } })).toEqual(stored);
  });

  test.each([
    ['that is not there', 'none', '', /docker-credential-none, .* there is no such program$/],
    ['that fails', 'bad', 'echo s3cret; exit 3', /docker-credential-bad, .* it ended with 3$/],
    ['that says something else', 'bad', 'echo s3cret', /what it prints is no login$/],
    ['that is no name', '../../bin/x', '', /it has the name of no program$/],
  ])('fails for a program %s', async (_, name, script, why) => {
    if (script !== '') helper(name, script);

    expect(await failure({ credsStore: name })).toMatchObject(expectedError('IMAGE', why));
  });
});
