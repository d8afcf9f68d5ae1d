import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import { Host } from '../../../src/system/host';
import { catalog } from '../../../src/agent/catalog';
import type { ImageStore } from '../../../src/container/engine/image-store';
import type { EngineAbout, ImageInfo } from '../../../src/container/engine/engine-info';
import { buildImage, imageNotice, provideImage, pushImage } from '../../../src/container/image/image';
import type { ImageRequest } from '../../../src/container/image/image-request';
import { imageTagOf } from '../../../src/container/image/image-tag';
import { CaiError } from '../../../src/errors';
import type { Progress } from '../../../src/container/image/progress';
import { loadConfig } from '../../../src/config/config';
import { newFolder } from '../../support/temp-folder';
import { expectedError } from '../../expected-error';

const base = 'node:22-bookworm-slim';
const ownImage = { autoBuild: true, base, apt: [], packages: [] };
let folder: string;
let engine: FakeEngine;
let progress: Said;

beforeEach(() => {
  folder = newFolder();
  engine = new FakeEngine();
  progress = new Said();
});

type BuildArguments = Parameters<ImageStore['build']>[1];

/** Keeps images by name, and what it was asked to build. */
class FakeEngine implements ImageStore {
  readonly images = new Map([[base, image('sha256:base', {}, ['A=1', 'PATH=/opt/bin:/bin'])]]);
  readonly removed: string[] = [];
  readonly builds: (BuildArguments & { files: Record<string, string> })[] = [];
  readonly pulls: string[] = [];
  readonly pushes: unknown[] = [];
  canPull = true;
  canBuild = true;

  about(): Promise<EngineAbout> {
    return Promise.resolve({ can: { build: this.canBuild } } as unknown as EngineAbout);
  }

  push(...pushed: Parameters<ImageStore['push']>): Promise<void> {
    this.pushes.push(pushed.slice(0, 2));
    return Promise.resolve();
  }

  find(ref: string): Promise<ImageInfo | undefined> {
    const nameless = this.builds.map((_, index) => image(`sha256:built${index + 1}`));
    const byId = [...this.images.values(), ...nameless].find(({ id }) => id === ref);
    const found = this.images.get(ref) ?? byId;
    const tags = [...this.images].flatMap(([tag, { id }]) => (id === found?.id ? [tag] : []));
    return Promise.resolve(found && { ...found, tags });
  }

  remove(ref: string): Promise<void> {
    this.removed.push(ref);
    return Promise.resolve();
  }

  async build(context: Readable, options: BuildArguments): Promise<void> {
    this.builds.push({ ...options, files: await filesOf(context) });
    this.images.set(options.tag, image(`sha256:built${this.builds.length}`, options.labels));
  }

  pull(name: string): Promise<void> {
    this.pulls.push(name);
    if (!this.canPull)
      return Promise.reject(new CaiError('IMAGE', `cannot pull the image ${name}: no such host`));
    this.images.set(name, image('sha256:pulled'));
    return Promise.resolve();
  }
}

function image(id: string, labels: ImageInfo['labels'] = {}, env: ImageInfo['env'] = []): ImageInfo {
  return { id, tags: [], labels, env };
}

async function filesOf(context: Readable): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const entry of context.pipe(extract())) files[entry.header.name] = await text(entry);
  return files;
}

/** What the user would read. */
class Said implements Progress {
  readonly said: string[] = [];
  readonly begun: string[] = [];
  hasEnded = false;
  begin = (what: string): void => void this.begun.push(what);
  say = (sentence: string): void => void this.said.push(sentence);
  report = (): void => undefined;
  end = (): void => void (this.hasEnded = true);
}

function request(changes: Partial<ImageRequest> = {}): ImageRequest {
  return {
    agent: 'claude',
    packages: catalog.claude!.packages,
    image: ownImage,
    network: {},
    stateFolder: join(folder, 'state'),
    ...changes,
  };
}

function file(name: string, content: string): string {
  mkdirSync(join(folder, name, '..'), { recursive: true });
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

const provide = (changes?: Partial<ImageRequest>) =>
  provideImage({ images: engine, about: () => engine.about() }, request(changes), progress);
const build = (changes?: Partial<ImageRequest>, upgrade = false) =>
  buildImage(engine, request(changes), { noCache: false, upgrade }, progress);

const top = join(__dirname, '../../..');
const dockerfile = readFileSync(join(top, 'Dockerfile'), 'utf8');
const agentDockerfile = readFileSync(join(top, 'src/container/image/agent.Dockerfile'), 'utf8');
const npmInstall = readFileSync(join(top, 'src/container/image/npm-install.cjs'), 'utf8');
/** The environment is built first. */
const environmentTag = /^containai-environment:[0-9a-f]{12}$/;

describe('the Dockerfiles', () => {
  test('begin with the base image that the configuration has', () => {
    const { image } = loadConfig(new Host({ HOME: folder }));

    expect(/^ARG BASE_IMAGE=(.*)$/m.exec(dockerfile)?.[1]).toBe(image.base);
  });

  test('need no syntax that only newer builders know', () => {
    expect(dockerfile + agentDockerfile).not.toMatch(
      /^# *syntax=|--mount|--link|--chmod|<<|--parents|--exclude/m,
    );
  });
});

describe('provideImage', () => {
  test('gives the image that is there, though it was made by other means', async () => {
    engine.images.set('containai:claude', image('sha256:there'));

    expect(await provide()).toMatchObject({ id: 'sha256:there' });

    expect(engine.builds).toEqual([]);
    expect(progress.said).toEqual([]);
  });

  test('builds a missing one, and finds it from then on', async () => {
    expect(await engine.find(imageTagOf(request()))).toBeUndefined();
    const built = await provide();

    expect(await engine.find(imageTagOf(request()))).toMatchObject({ id: built.id });
    expect(await provide()).toMatchObject({ id: built.id });
    expect(engine.builds).toHaveLength(2);
    expect(progress.begun).toEqual([
      expect.stringMatching(/^building containai-environment:/),
      'building containai:claude',
    ]);
    expect(progress.said).toEqual([]);
    expect(progress.hasEnded).toBe(true);
  });

  test('builds once for several at the same time', async () => {
    const images = await Promise.all([provide(), provide(), provide()]);

    expect(new Set(images.map(({ id }) => id)).size).toBe(1);
    expect(engine.builds).toHaveLength(2);
  });

  test('uses one that was built from something else, and says what to do', async () => {
    await provide();

    const found = await provide({ packages: ['@agentclientprotocol/claude-agent-acp@0.99.0'] });

    expect(found.id).toBe('sha256:built2');
    expect(progress.said).toEqual([
      'the image containai:claude was built by another version or configuration: cai build claude',
    ]);
  });

  test('fails where nothing may be built, and names the command that does', async () => {
    await expect(provide({ image: { ...ownImage, autoBuild: false } })).rejects.toMatchObject(
      expectedError('IMAGE', /containai:claude.*cai build claude$/),
    );
    expect(engine.builds).toEqual([]);
  });
});

describe('an image for a registry', () => {
  const registry = '127.0.0.1:5000/team/cai';
  const name = `${registry}/containai:claude`;
  const login = { username: 'me', password: 'secret' };
  const push = (has: boolean) =>
    pushImage(
      engine,
      request({ registry }),
      {
        login: (ref) => Promise.resolve(ref === name ? login : undefined),
        find: (ref) => Promise.resolve(has ? { id: `${ref}@sha256:1`, env: [], labels: {} } : undefined),
      },
      progress,
    );

  test('is built by its name there, and pushed with the login for it', async () => {
    await build({ registry });

    expect(await push(true)).toBe(`${name}@sha256:1`);

    expect(engine.builds.map(({ tag }) => tag)).toEqual([expect.stringMatching(environmentTag), name]);
    expect(engine.pushes).toEqual([[name, login]]);
    expect(progress.begun.at(-1)).toBe(`pushing ${name}`);
  });

  test('has not got there if the registry does not have it', async () => {
    await expect(push(false)).rejects.toMatchObject(expectedError('IMAGE', /the registry does not have it$/));
  });

  test('is not built where the engine builds none: the error says what to do', async () => {
    engine.canBuild = false;

    await expect(provide({ registry, repository: '/w' })).rejects.toMatchObject(
      expectedError('IMAGE', `there is no image ${registry}/containai:claude-`),
    );
    await expect(provide({ registry })).rejects.toMatchObject(
      expectedError(
        'IMAGE',
        /^there is no image \S+ in the registry: on a machine with Docker or podman, run: cai build claude --push$/,
      ),
    );
    await expect(provide()).rejects.toMatchObject(
      expectedError(
        'IMAGE',
        /^the image containai:claude is in no registry: name one .* as "registry" in \[image\] .* cai build claude --push$/,
      ),
    );
    expect(engine.builds).toEqual([]);
  });

  test('is to be pushed again when it is built again', async () => {
    await build({ registry });

    await provide({ registry, packages: [] });

    expect(progress.said).toEqual([expect.stringMatching(/: cai build claude --push$/)]);
  });
});

describe('imageNotice', () => {
  test('fails for a Dockerfile that is gone', () => {
    const gone = { ...ownImage, dockerfile: join(folder, 'gone') };

    expect(() => imageNotice(request({ image: gone }), { labels: { 'containai.recipe': 'x' } })).toThrow(
      /^"image.dockerfile" names .*gone, which cannot be read: .*: put it there, or .*"cai config"/,
    );
  });
});

describe('buildImage', () => {
  test('builds the environment, and the layer of the agent on top of it', async () => {
    await build({ image: { ...ownImage, apt: ['golang'], packages: ['left-pad@1.3.0'] } });

    const [environment, layer] = engine.builds;
    expect(engine.builds).toHaveLength(2);
    expect(environment).toMatchObject({
      tag: expect.stringMatching(environmentTag) as string,
      dockerfile: 'Dockerfile',
      isFresh: false,
      files: { Dockerfile: dockerfile },
    });
    expect(environment?.args).toEqual({
      BASE_IMAGE: base,
      APT: 'golang',
      NPM: 'left-pad@1.3.0',
      BASE_PATH: '/opt/bin:/bin',
    });
    expect(layer).toMatchObject({
      tag: 'containai:claude',
      dockerfile: 'agent.Dockerfile',
      isFresh: false,
      labels: { 'containai.packages': '@agentclientprotocol/claude-agent-acp@0.100.0' },
      files: { 'agent.Dockerfile': agentDockerfile, 'npm-install.cjs': npmInstall },
    });
    expect(layer?.args).toEqual({
      ENVIRONMENT: environment?.tag,
      PACKAGES: '@agentclientprotocol/claude-agent-acp@0.100.0',
    });
  });

  test('builds one environment for all agents that want the same, and another where something is added', async () => {
    await build();
    await build({ agent: 'gemini', packages: catalog.gemini!.packages });
    await build({ agent: 'mine', packages: [], image: { ...ownImage, apt: ['golang'] } });

    const [first, , gemini, second, mine] = engine.builds;
    expect(engine.builds).toHaveLength(5);
    expect(gemini).toMatchObject({ tag: 'containai:gemini', args: { ENVIRONMENT: first!.tag } });
    expect(mine).toMatchObject({ tag: 'containai:mine', args: { ENVIRONMENT: second!.tag, PACKAGES: '' } });
    expect(second!.tag).not.toBe(first!.tag);
  });

  test('builds the environment once for two agents at the same time', async () => {
    await Promise.all([build(), build({ agent: 'gemini', packages: catalog.gemini!.packages })]);

    expect(engine.builds.map(({ dockerfile: name }) => name).sort()).toEqual([
      'Dockerfile',
      'agent.Dockerfile',
      'agent.Dockerfile',
    ]);
  });

  test('labels nothing as a container of ours, because containers inherit labels', async () => {
    await build();

    const [environment, layer] = engine.builds.map(({ labels }) => Object.keys(labels).sort());
    expect(environment).toEqual(['containai.recipe']);
    expect(layer).toEqual(['containai.environment', 'containai.packages', 'containai.recipe']);
  });

  test('passes certificates and the registry as files, and proxies as what builders keep to themselves', async () => {
    await build({
      network: {
        caFile: file('ca.pem', 'CERTIFICATE'),
        npmRegistry: 'https://npm.example/',
        pipIndex: 'https://pip.example/simple',
        httpProxy: 'http://proxy.example',
        noProxy: 'a,b',
      },
    });

    const [environment, layer] = engine.builds;
    expect(environment!.files).toMatchObject({
      'network/pip.conf': '[global]\nindex-url = https://pip.example/simple\n',
    });
    expect(layer!.files).toMatchObject({ 'network/npmrc': 'registry=https://npm.example/\n' });
    const made = environment;
    expect(made).toMatchObject({
      files: { 'network/ca.pem': 'CERTIFICATE', 'network/npmrc': 'registry=https://npm.example/\n' },
      args: {
        HTTP_PROXY: 'http://proxy.example',
        http_proxy: 'http://proxy.example',
        NO_PROXY: 'a,b',
        no_proxy: 'a,b',
      },
    });
    expect(made!.args).not.toHaveProperty('HTTPS_PROXY');
    expect(JSON.stringify(made!.labels)).not.toMatch(/example|CERT/);
  });

  test.each([
    [{ httpProxy: 'http://user:word@127.0.0.1:3128' }, true],
    [{ httpsProxy: 'http://localhost:3128/' }, true],
    [{ npmRegistry: 'http://[::1]:4873/' }, true],
    [{ pipIndex: 'http://127.0.0.1:3141/simple' }, true],
    [{ npmRegistry: 'https://localhost.example/', httpProxy: 'http://10.127.0.1' }, false],
    [{}, false],
  ])("shares this machine's network only if something is on its loopback: %j", async (network, isShared) => {
    await build({ network });

    expect(engine.builds[0]?.usesHostNetwork).toBe(isShared);
  });

  test('does not take an image for outdated because the network is another one', async () => {
    await build({ network: { npmRegistry: 'https://npm.example/' } });

    await provide();

    expect(progress.said).toEqual([]);
  });

  test('pulls a base image that is missing', async () => {
    engine.images.delete(base);

    await build();

    expect(engine.pulls).toEqual([base]);
    expect(progress.begun[0]).toBe(`pulling ${base}`);
    expect(engine.builds[0]?.args).not.toHaveProperty('BASE_PATH');
  });

  test('fails if that cannot be pulled, and says what to do', async () => {
    engine.images.delete(base);
    engine.canPull = false;

    await expect(build()).rejects.toMatchObject(
      expectedError('IMAGE', /node:22-bookworm-slim.*no such host\n.*"base" in \[image\]/),
    );
  });

  test('takes the newest of everything for an upgrade, but for packages that the user has named', async () => {
    const packages = [...catalog.claude!.packages, '@my/agent@1.0.0'];

    await build({ packages }, true);

    expect(engine.pulls).toEqual([base]);
    expect(engine.builds[0]?.isFresh).toBe(true);
    expect(engine.builds[1]).toMatchObject({
      isFresh: true,
      args: { PACKAGES: '@agentclientprotocol/claude-agent-acp@latest @my/agent@1.0.0' },
    });
    expect(await provide({ packages })).toMatchObject({ id: 'sha256:built2' });
    expect(progress.said).toEqual([]);
  });

  test('upgrades what can be upgraded where the base image is only here', async () => {
    engine.canPull = false;

    await build({}, true);

    expect(engine.builds).toHaveLength(2);
    expect(progress.said).toEqual([
      expect.stringMatching(/^node:22-bookworm-slim could not be updated.*no such host$/),
    ]);
  });

  test('removes the image whose name the new one takes, unless that has another name', async () => {
    await build();
    await build();
    expect(engine.removed).toEqual(['sha256:built2']);

    engine.images.set('mine:keep', engine.images.get('containai:claude')!);
    await build();

    expect(engine.removed).toEqual(['sha256:built2']);
    await build({}, true);

    expect(engine.removed).toEqual(['sha256:built2', 'sha256:built1', 'sha256:built4']);
  });

  test('says of an agent that npm does not have how it gets into an image', async () => {
    await expect(build({ agent: 'cursor', packages: [] })).rejects.toMatchObject(
      expectedError('IMAGE', /^cursor .*"dockerfile" in \[image\]/),
    );
  });

  test.each([
    ['npm error code SELF_SIGNED_CERT_IN_CHAIN', {}, 'name a file with it (PEM)'],
    ['npm error code UNABLE_TO_GET_ISSUER_CERT_LOCALLY', {}, 'name a file with it (PEM)'],
    ['curl: (60) SSL certificate problem', { caFile: 'ca.pem' }, 'see whether it is in '],
  ])('says what to do about certificates: %s', async (line, { caFile }: { caFile?: string }, advice) => {
    engine.build = () => Promise.reject(new CaiError('IMAGE', `cannot build it\n${line}`));

    const failed = build({ network: caFile === undefined ? {} : { caFile: file(caFile, 'CERTIFICATE') } });

    await expect(failed).rejects.toMatchObject(
      expectedError('IMAGE', /^cannot build it\n.*\n.*"ca_file" in \[network\]/),
    );
    await expect(failed).rejects.toThrow(advice);
  });

  test('says what to do where there is no PyPI, unless an index is named', async () => {
    const line = 'ERROR: No matching distribution found for uv==0.12.9';
    engine.build = () => Promise.reject(new CaiError('IMAGE', `cannot build it\n${line}`));

    await expect(build()).rejects.toThrow(/"pip_index" in \[network\]/);
    await expect(build({ network: { pipIndex: 'https://pip.example/' } })).rejects.not.toThrow(/pip_index/);
  });

  test('says nothing of certificates where they are not what is wrong', async () => {
    const message = 'cannot build it\nSetting up ca-certificates (20230311) ...\nE: no';
    engine.build = () => Promise.reject(new CaiError('IMAGE', message));

    await expect(build()).rejects.toMatchObject({ code: 'IMAGE', message });
  });

  test('fails for a certificate file that cannot be read', async () => {
    await expect(build({ network: { caFile: join(folder, 'gone') } })).rejects.toMatchObject(
      expectedError('IMAGE', /"network.ca_file" names .*gone/),
    );
  });
});

describe("buildImage, with the user's own Dockerfile", () => {
  const usual = 'ARG CAI_IMAGE\nFROM ${CAI_IMAGE}\nCOPY tool /usr/local/bin/\n';
  const withOwn = () => ({ ...ownImage, dockerfile: file('own/Dockerfile.agent', usual) });

  test('builds it on ours, with its folder to read', async () => {
    file('own/tool', '#!');
    const made = await build({ image: withOwn(), network: { httpProxy: 'http://proxy.example' } });

    expect(made.id).toBe('sha256:built3');
    expect(engine.builds.slice(1).map(({ tag }) => tag)).toEqual([
      'containai:claude-base',
      'containai:claude',
    ]);
    expect(engine.builds[2]).toMatchObject({
      dockerfile: 'Dockerfile.agent',
      files: { 'Dockerfile.agent': usual, tool: '#!' },
      args: { CAI_IMAGE: 'containai:claude-base', HTTP_PROXY: 'http://proxy.example' },
    });
  });

  test("builds a repository's from the text that is trusted, with nothing else of the repository", async () => {
    file('own/tool', '#!');

    await build({ image: { ...withOwn(), dockerfileText: `${usual}# trusted\n` } });

    expect(engine.builds[2]!.files).toEqual({ 'Dockerfile.agent': `${usual}# trusted\n` });
  });

  test('makes an agent possible that npm does not have', async () => {
    await build({ agent: 'cursor', packages: [], image: withOwn() });

    expect(engine.builds).toHaveLength(3);
  });

  test('tells when it has changed', async () => {
    await build({ image: withOwn() });
    await provide({ image: withOwn() });
    expect(progress.said).toEqual([]);

    const changed = file('own/Dockerfile.agent', `${usual}RUN more\n`);
    await provide({ image: { ...ownImage, dockerfile: changed } });

    expect(progress.said).toHaveLength(1);
  });

  test('refuses one that does not begin with our image', async () => {
    const dockerfile = file('own/Dockerfile', 'FROM debian\n');

    await expect(build({ image: { ...ownImage, dockerfile } })).rejects.toMatchObject(
      expectedError('IMAGE', '"ARG CAI_IMAGE" and "FROM ${CAI_IMAGE}"'),
    );
    expect(engine.builds).toEqual([]);
  });

  test('names the workspace in the advice where its configuration asks for it', async () => {
    const repository = '/w/my project';
    await build({ image: withOwn(), repository });
    await provide({ image: ownImage, repository });

    expect(progress.said[0]).toMatch(/cai build claude --workspace "\/w\/my project"$/);
  });
});
