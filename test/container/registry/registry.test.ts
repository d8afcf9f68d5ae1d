import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HostNetwork } from '../../../src/config/config';
import { Registry } from '../../../src/container/registry/registry';
import { Host } from '../../../src/system/host';
import { expectedError } from '../../expected-error';
import { certificate } from '../../support/certificate';
import { elsewhere } from '../../support/elsewhere';
import { newFolder } from '../../support/temp-folder';
import { basicOfMe, digestOf, identityToken, me, PlayedRegistry, serving } from './played-registry';

let home: string;

beforeEach(() => {
  home = newFolder();
});

/** What asks, for a user with these entries in Docker's configuration. */
function registryOf(auths: object = {}, network: HostNetwork = {}, limitMs?: number): Registry {
  writeFileSync(join(home, 'config.json'), JSON.stringify({ auths }));
  return new Registry(new Host({ HOME: home, DOCKER_CONFIG: home }), network, limitMs);
}

const auth = Buffer.from(`${me.username}:${me.password}`).toString('base64');
const architecture = { x64: 'amd64', arm64: 'arm64' }[process.arch as string] ?? process.arch;

/** What a failed request tells, which never holds a secret. */
async function failure(work: Promise<unknown>): Promise<Error> {
  const reason = await work.then(
    () => new Error('it did not fail'),
    (error: unknown) => error as Error,
  );
  expect(reason.message).not.toMatch(/s3cret|good-token/);
  return reason;
}

describe('Registry.find', () => {
  test('tells the digest of a manifest, and what the image says', async () => {
    const played = await PlayedRegistry.start();
    const digest = played.addImage('A=1', 'claude');

    expect(await registryOf().find(`${played.place}/team/cai:claude`)).toEqual({
      id: `${played.place}/team/cai@${digest}`,
      env: ['A=1'],
      labels: { 'containai.recipe': 'A=1' },
    });
  });

  test('finds by digest what is found by a tag, and by the tag "latest" where none is named', async () => {
    const played = await PlayedRegistry.start();
    const name = `${played.place}/team/cai`;
    const digest = played.addImage('A=1', 'latest');
    const byTag = await registryOf().find(name);

    expect(byTag).toMatchObject({ id: `${name}@${digest}` });
    expect(await registryOf().find(byTag!.id)).toEqual(byTag);
    expect(await registryOf().find(`${name}:other@${digest}`)).toEqual(byTag);
  });

  test('tells the digest of an index, and what the image for this kind of machine says', async () => {
    const played = await PlayedRegistry.start();
    const manifests = [
      { digest: played.addImage('A=attestation'), platform: { os: 'unknown', architecture: 'unknown' } },
      { digest: played.addImage('A=windows'), platform: { os: 'windows', architecture } },
      { digest: played.addImage('A=other'), platform: { os: 'linux', architecture: 'riscv' } },
      { digest: played.addImage('A=ours'), platform: { os: 'linux', architecture } },
    ];
    const digest = played.add('manifests', { schemaVersion: 2, manifests }, 'x');

    expect(await registryOf().find(`${played.place}/team/cai:x`)).toMatchObject({
      id: `${played.place}/team/cai@${digest}`,
      env: ['A=ours'],
    });
  });

  test('takes what an index says of other machines where nodes are of another kind than this one', async () => {
    const played = await PlayedRegistry.start();
    const platform = { os: 'linux', architecture: 'riscv' };
    played.add('manifests', { manifests: [{ digest: played.addImage('A=other'), platform }] }, 'x');

    expect(await registryOf().find(`${played.place}/team/cai:x`)).toMatchObject({ env: ['A=other'] });
  });

  test('fails for what has nothing for Linux', async () => {
    const played = await PlayedRegistry.start();
    const platform = { os: 'windows', architecture };
    played.add('manifests', { manifests: [{ digest: played.addImage('A=1'), platform }] }, 'x');

    expect(await failure(registryOf().find(`${played.place}/team/cai:x`))).toMatchObject(
      expectedError('IMAGE', /no image for Linux/),
    );
  });

  test('takes nothing that has another digest than was asked for', async () => {
    const played = await PlayedRegistry.start();
    const digest = digestOf('wanted');
    played.content.set(`manifests/${digest}`, '{"config":{}}');

    expect(await failure(registryOf().find(`${played.place}/team/cai@${digest}`))).toMatchObject(
      expectedError('IMAGE', `what it gives for ${digest} is something else`),
    );
  });

  test('finds nothing where nothing is', async () => {
    const { place } = await PlayedRegistry.start();

    expect(await registryOf().find(`${place}/team/cai:none`)).toBeUndefined();
  });

  test('finds nothing by a name that is of no registry', async () => {
    expect(await registryOf().find('containai:claude')).toBeUndefined();
  });
});

describe('a registry that lets in who has a login', () => {
  test('by name and password', async () => {
    const played = await PlayedRegistry.start('basic');
    const digest = played.addImage('A=1', 'x');
    const registry = registryOf({ [played.place]: { auth } });

    expect(await registry.find(`${played.place}/team/cai:x`)).toMatchObject({
      id: `${played.place}/team/cai@${digest}`,
    });
    // Asked for without it once, and then never again.
    expect(played.asked.map((each) => each.includes(basicOfMe))).toEqual([false, true, true]);
  });

  test('by a token, for which a name and a password are shown', async () => {
    const played = await PlayedRegistry.start('token');
    played.addImage('A=1', 'x');

    expect(await registryOf({ [played.place]: { auth } }).find(`${played.place}/team/cai:x`)).toMatchObject({
      env: ['A=1'],
    });
    expect(played.asked).toEqual([
      'GET /v2/team/cai/manifests/x',
      `GET /token?service=a+service&scope=repository%3Ateam%2Fcai%3Apull ${basicOfMe}`,
      'GET /v2/team/cai/manifests/x Bearer good-token',
      expect.stringMatching(/^GET \/v2\/team\/cai\/blobs\/.* Bearer good-token$/),
    ]);
  });

  test('by a token, for which an identity token is shown', async () => {
    const played = await PlayedRegistry.start('token');
    played.addImage('A=1', 'x');
    const registry = registryOf({ [played.place]: { auth, identitytoken: identityToken } });

    expect(await registry.find(`${played.place}/team/cai:x`)).toMatchObject({ env: ['A=1'] });
    expect(played.asked[1]).toBe('POST /token');
  });

  test.each([
    ['basic', {}, /to anybody without a login/],
    ['token', {}, /to anybody without a login/],
    ['basic', { auth: 'bWU6d3Jvbmc=' }, /to you as Docker has you logged in/],
    ['token', { auth: 'bWU6d3Jvbmc=' }, /to you as Docker has you logged in/],
  ] as const)('and nobody else: by %s with %j', async (door, entry, who) => {
    const played = await PlayedRegistry.start(door);

    const { message, ...rest } = await failure(
      registryOf({ [played.place]: entry }).find(`${played.place}/team/cai:x`),
    );

    expect(rest).toMatchObject({ code: 'IMAGE' });
    expect(message).toMatch(who);
    expect(message).toContain('(authentication required)');
    expect(message).toMatch(new RegExp(`run: docker login ${played.place}$`));
  });

  test('does not show it to whom it sends us on', async () => {
    const played = await PlayedRegistry.start('basic');
    played.addImage('A=1', 'x');
    const shown: (string | undefined)[] = [];
    played.blobsAt = await serving((from, to) => {
      shown.push(from.headers.authorization);
      to.end(played.content.get(from.url!.slice(1)));
    });

    const found = await registryOf({ [played.place]: { auth } }).find(`${played.place}/team/cai:x`);

    expect(found).toMatchObject({ env: ['A=1'] });
    expect(shown).toEqual([undefined]);
  });
});

describe('a registry that cannot be used', () => {
  test.each([
    ['sends us on for ever', { location: '/v2/' }, 307, /more than 5 times/],
    ['sends us on to where there is no TLS', { location: 'http://far.invalid/' }, 307, /there is no TLS/],
    ['has an error of its own', {}, 500, /answers with status 500 \(out of\ufffd order\)/],
    ['is no registry', {}, 200, /no image for Linux/],
  ] as const)('%s', async (_, headers, status, why) => {
    const errors = [{ code: 'UNKNOWN', message: 'out of\u001b order' }];
    const place = await serving((_from, to) => to.writeHead(status, headers).end(JSON.stringify({ errors })));

    expect(await failure(registryOf().find(`${place}/x:1`))).toMatchObject(expectedError('IMAGE', why));
  });

  test('says too much', async () => {
    const place = await serving((_from, to) => to.end(Buffer.alloc(5 * 2 ** 20)));

    expect(await failure(registryOf().find(`${place}/x:1`))).toMatchObject(
      expectedError('IMAGE', /more than 4 MiB/),
    );
  });

  test('changes to another protocol', async () => {
    const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';
    const place = await serving((_from, to) => to.socket!.write(switching));

    expect(await failure(registryOf().find(`${place}/x:1`))).toMatchObject(
      expectedError('IMAGE', /cannot be reached \(it changed to another protocol\)/),
    );
  });

  test.each([
    ['never answers', () => undefined],
    ['stops in the middle', (to: NodeJS.WritableStream) => to.write('{')],
  ] as const)('%s', async (_, answer) => {
    const place = await serving((_from, to) => void answer(to));

    expect(await failure(registryOf({}, {}, 300).find(`${place}/x:1`))).toMatchObject(
      expectedError('IMAGE', /cannot be reached \(no answer for 0.3 s\)/),
    );
  });

  test('is not there', async () => {
    expect(await failure(registryOf().find('127.0.0.1:1/x:1'))).toMatchObject(
      expectedError('IMAGE', /127\.0\.0\.1:1 cannot be reached \(.*ECONNREFUSED.*"registry" in \[image\]/),
    );
  });
});

describe('a registry elsewhere', () => {
  const made = certificate('registry.invalid');

  test('is asked over TLS, through the proxy of this machine, with the certificates of the configuration', async () => {
    const { network: own, asked } = await elsewhere(made);
    const caFile = join(home, 'ca.pem');
    writeFileSync(caFile, made.cert);

    expect(await registryOf({}, { ...own, caFile }).find('registry.invalid/x:1')).toBeUndefined();
    expect(asked).toEqual([`registry.invalid:443 Basic ${Buffer.from('u:p').toString('base64')}`]);
  });

  test.each([
    ['sends us on', (at: string) => ({ location: at }), 307],
    ['says that it gives tokens', (at: string) => ({ 'www-authenticate': `Bearer realm="${at}"` }), 401],
  ] as const)('has nothing asked of this machine where it %s', async (_, headers, status) => {
    let isAsked = false;
    const place = await serving((_from, to) => {
      isAsked = true;
      to.end();
    });
    const { network: own } = await elsewhere(made, (_from, to) =>
      to.writeHead(status, headers(`http://${place}/`)).end(),
    );
    const caFile = join(home, 'ca.pem');
    writeFileSync(caFile, made.cert);

    expect(await failure(registryOf({}, { ...own, caFile }).find('registry.invalid/x:1'))).toMatchObject(
      expectedError('IMAGE', /which is this machine, and is not asked/),
    );
    expect(isAsked).toBe(false);
  });

  test('is not trusted with another certificate', async () => {
    const { network: own } = await elsewhere(made);

    expect(await failure(registryOf({}, own).find('registry.invalid/x:1'))).toMatchObject(
      expectedError('IMAGE', /self-signed certificate.*"ca_file" in \[network\]/),
    );
  });

  test('cannot be reached where the proxy refuses', async () => {
    const { network: own } = await elsewhere(made, undefined, 407);

    expect(await failure(registryOf({}, own).find('registry.invalid/x:1'))).toMatchObject(
      expectedError('IMAGE', /proxy of this machine, \S+, answers with status 407 for registry\.invalid:443/),
    );
  });
});
