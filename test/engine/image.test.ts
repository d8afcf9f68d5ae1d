import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { Host } from '../../src/system/host';
import { textContext } from '../../src/container/image/build-context';
import type { Engine } from '../../src/container/engine/engine';
import { findEngine } from '../../src/container/engine/find-engine';
import { buildImage, provideImage } from '../../src/container/image/image';
import { imageTagOf } from '../../src/container/image/image-tag';
import type { ImageRequest } from '../../src/container/image/image-request';
import { openProgress } from '../../src/container/image/progress';
import { proxyNames, testUnless } from './engines';
import { docker, folder, ownFile } from './support';

/** Stands in what must not stay behind: certificates, the registry's address, the proxy's. */
const marker = `cai-marker-${randomUUID()}`;
const agent = `test-${process.pid}`;
const tag = imageTagOf({ agent });
/** An image that no build of before began with, so that nothing of one is taken: also not where it was cut off. */
const base = `containai-test-base:${process.pid}`;
const buildTimeoutMs = 600_000;

let engine: Engine;
let registry: Server;
let proxy: Server;
let request: ImageRequest;
let environmentTag: string | undefined;
const asked = { registry: [] as string[], proxy: [] as string[] };
const told: string[] = [];
const progress = openProgress({ write: (text) => told.push(String(text)) > 0 }, false);

beforeAll(async () => {
  const dockerfile = `FROM node:22-bookworm-slim\nLABEL run=${randomUUID()}\n`;
  execFileSync('docker', ['build', '--quiet', '--tag', base, '-'], { input: dockerfile, stdio: 'pipe' });
  engine = await findEngine(new Host(process.env)).connect();
  registry = createServer((from, to) => void answer(from, to)).listen(0, '127.0.0.1');
  proxy = createServer(forward).on('connect', tunnel).listen(0, '127.0.0.1');
  for (const server of [registry, proxy]) if (!server.listening) await once(server, 'listening');
  const caFile = join(folder, 'ca.pem');
  const own = process.env.CAI_TEST_CA_FILE;
  ownFile(caFile, `# ${marker}\n${own !== undefined && existsSync(own) ? readFileSync(own, 'utf8') : ''}`);
  request = {
    agent,
    packages: ['tiny-agent@1.0.0'],
    image: { autoBuild: true, base, apt: ['tree'], packages: ['tiny-agent@1.0.0'] },
    network: {
      caFile,
      npmRegistry: `http://127.0.0.1:${portOf(registry)}/${marker}/`,
      httpProxy: `http://${marker}@127.0.0.1:${portOf(proxy)}`,
      httpsProxy: `http://${marker}@127.0.0.1:${portOf(proxy)}`,
      noProxy: '127.0.0.1',
    },
    stateFolder: join(folder, 'state'),
  };
});

afterAll(async () => {
  for (const server of [registry, proxy]) server.close();
  await docker('rmi', '--force', ...(await imagesOfTest()));
});

/** The stages of our builds stay behind as well, for later builds, and have no name. */
async function imagesOfTest(): Promise<string[]> {
  const nameless = (await docker('images', '--quiet', '--filter', 'dangling=true')).split('\n');
  const ids = [tag, `${tag}-base`, environmentTag, base].flatMap((each) => each ?? []);
  for (const id of nameless.filter(Boolean)) {
    // Somebody else may just have removed it.
    if ((await docker('history', '--no-trunc', id).catch(() => '')).includes('tiny-agent')) ids.push(id);
  }
  return ids;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** A registry with one package, an adapter by its older name. Source: npm's registry API. */
async function answer(from: IncomingMessage, to: ServerResponse): Promise<void> {
  asked.registry.push(from.url ?? '');
  const { port } = from.socket.address() as AddressInfo;
  if (from.url?.endsWith('.tgz')) {
    to.end(await tinyPackage());
    return;
  }
  const tarball = `http://127.0.0.1:${port}/${marker}/tiny-agent-1.0.0.tgz`;
  const version = { name: 'tiny-agent', version: '1.0.0', bin: { 'claude-code-acp': 'run.js' }, dist: { tarball } }; // prettier-ignore
  to.setHeader('content-type', 'application/json');
  const tags = { latest: '1.0.0' };
  to.end(JSON.stringify({ name: 'tiny-agent', 'dist-tags': tags, versions: { '1.0.0': version } }));
}

async function tinyPackage(): Promise<Buffer> {
  const description = { name: 'tiny-agent', version: '1.0.0', bin: { 'claude-code-acp': 'run.js' } };
  const script = '#!/usr/bin/env node\nconsole.log("tiny", process.getuid());\n';
  const files = { 'package/package.json': JSON.stringify(description), 'package/run.js': script };
  return gzipSync(await buffer(textContext(files)));
}

/** Passes plain HTTP on. */
function forward(from: IncomingMessage, to: ServerResponse): void {
  asked.proxy.push(from.url ?? '');
  const onward = httpRequest(from.url ?? '', { method: from.method, headers: from.headers }, (reply) => {
    to.writeHead(reply.statusCode ?? 502, reply.headers);
    reply.pipe(to);
  });
  onward.on('error', () => to.destroy());
  from.pipe(onward);
}

/** Passes TLS on. */
function tunnel(from: IncomingMessage, socket: NodeJS.ReadWriteStream): void {
  asked.proxy.push(from.url ?? '');
  const [host = '', port] = (from.url ?? '').split(':');
  const onward = connect(Number(port), host, () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    socket.pipe(onward).pipe(socket);
  });
  for (const end of [socket, onward]) end.on('error', () => onward.destroy());
}

/** What a command prints in a container without any rights, as a user that nobody knows. */
async function inside(...command: string[]): Promise<string> {
  const rights = ['--user', '4242:4343', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
  return await docker('run', '--rm', '--network', 'none', ...rights, tag, ...command);
}

describe('an image that is built', () => {
  test(
    'takes packages from the registry and everything else through the proxy',
    async () => {
      const image = await provideImage(engine, request, progress);

      environmentTag = image.labels['containai.environment'];
      // podman puts a registry before it.
      expect(image.tags.map((each) => each.split('/').at(-1))).toContain(tag);
      const once = [`/${marker}/tiny-agent`, `/${marker}/tiny-agent-1.0.0.tgz`];
      expect(asked.registry).toEqual([...once, ...once]);
      expect(asked.proxy.length).toBeGreaterThan(10);
      expect(told[0]).toBe(`cai: building ${environmentTag}\n`);
      expect(told).toContain(`cai: building ${tag}\n`);
      expect(told.at(-1)).toMatch(/step (\d+) of \1: LABEL "?containai/);
    },
    buildTimeoutMs,
  );

  test('runs its agent as anybody, by the newer name of an older adapter', async () => {
    expect(await inside('claude-agent-acp')).toBe('tiny 4242');
    expect(await inside('sh', '-c', 'command -v claude || echo none')).toBe('none');
  });

  test('has what agents and we need', async () => {
    const programs = ['/usr/sbin/sshd', '/usr/bin/perl', ...'bash cc curl file gh git jq less make node npm patch pip3 pipx pkg-config ps python3 rg unzip uv vi wget xz'.split(' ')]; // prettier-ignore

    const missing = `for each in ${programs.join(' ')}; do command -v $each > /dev/null || echo $each; done`;

    expect(await inside('sh', '-c', `${missing}; test -d /run/sshd || echo /run/sshd`)).toBe('');
  });

  test('tells who asks for root what to do instead', async () => {
    expect(await inside('sh', '-c', 'sudo apt-get install x 2>&1 || echo "status $?"')).toMatch(
      /^sudo: nobody becomes root .*'cai image add PACKAGE' .*\nstatus 1$/,
    );
  });

  test('has what the configuration adds, from Debian and from npm', async () => {
    expect(await inside('sh', '-c', 'tree --version; /usr/local/bin/claude-code-acp')).toMatch(
      /^tree v.*\ntiny 4242$/s,
    );
  });

  test(
    'shares all but the layer of its agent with that of another agent',
    async () => {
      const other = { ...request, agent: `${agent}-other`, packages: [] };
      const name = imageTagOf(other);
      await provideImage(engine, other, progress);
      try {
        const layersOf = async (ref: string) =>
          JSON.parse(await docker('inspect', '--format', '{{json .RootFS.Layers}}', ref)) as string[];
        const [one, another] = [await layersOf(tag), await layersOf(name)];

        expect(another.slice(0, -1)).toEqual(one.slice(0, -1));
        expect(one).toHaveLength((await layersOf(environmentTag!)).length + 1);
      } finally {
        await docker('rmi', name);
      }
    },
    buildTimeoutMs,
  );

  test('has no key of its own, and lets no agent replace itself', async () => {
    const files = '/etc/gemini-cli/settings.json /etc/qwen-code/settings.json';

    expect(await inside('sh', '-c', 'ls /etc/ssh | grep host_key || true')).toBe('');
    expect((await inside('cat', ...files.split(' '))).match(/"enableAutoUpdate":false/g)).toHaveLength(2);
    expect(await inside('env')).toMatch(/^DISABLE_AUTOUPDATER=1$/m);
  });

  test('shows nothing of certificates, registry and proxy, neither in its files nor in its history', async () => {
    // Whatever it looks at: files that only root can read, too.
    const search = `grep -rlF ${marker} / --exclude-dir=proc --exclude-dir=sys --exclude-dir=dev || true`;

    expect(await docker('run', '--rm', '--network', 'none', tag, 'sh', '-c', search)).toBe('');
    expect(await docker('run', '--rm', tag, 'sh', '-c', 'ls /run/cai-build 2>&1 || true')).toMatch(/No such/);
    const shown = await docker('history', '--no-trunc', tag);
    expect(shown + (await docker('inspect', tag))).not.toMatch(new RegExp([marker, ...proxyNames].join('|')));
  });

  test('is found from then on', async () => {
    const before = asked.registry.length;
    const first = await provideImage(engine, request, progress);

    expect((await provideImage(engine, request, progress)).id).toBe(first.id);
    expect(asked.registry).toHaveLength(before);
  });

  testUnless('the same image again')(
    'takes what nothing has changed from the last build',
    async () => {
      const before = await provideImage(engine, request, progress);

      const after = await buildImage(engine.images, request, { noCache: false, upgrade: false }, progress);

      expect(after.id).toBe(before.id);
    },
    buildTimeoutMs,
  );
});

describe("the user's own Dockerfile", () => {
  const dockerfile = join(folder, 'own/Dockerfile');
  const build = async () => {
    const own = { ...request, image: { ...request.image, dockerfile } };
    return await buildImage(engine.images, own, { noCache: false, upgrade: false }, progress);
  };

  test(
    'adds to our image, with files of its folder',
    async () => {
      ownFile(join(folder, 'own/tool'), '#!/bin/sh\necho a tool\n');
      ownFile(join(folder, 'own/secret'), 'secret');
      ownFile(join(folder, 'own/.dockerignore'), 'secret\n');
      ownFile(dockerfile, 'ARG CAI_IMAGE\nFROM ${CAI_IMAGE}\nCOPY . /own/\nRUN chmod +x /own/tool\n');

      await build();

      expect(await inside('sh', '-c', '/own/tool; ls /own; claude-agent-acp')).toBe(
        'a tool\nDockerfile\ntool\ntiny 4242',
      );
    },
    buildTimeoutMs,
  );

  test(
    'fails with what was printed last',
    async () => {
      ownFile(dockerfile, 'ARG CAI_IMAGE\nFROM ${CAI_IMAGE}\nRUN seq 1 40; exit 3\n');

      const failure = await build().catch((reason: unknown) => reason);

      expect(failure).toMatchObject({ code: 'IMAGE', exitCode: 11 });
      const lines = (failure as Error).message.split('\n');
      expect(lines[0]).toMatch(new RegExp(`^cannot build the image ${tag}: .*(?:code:|status) 3`));
      const printed = lines.filter((line) => /^\d+$/.test(line));
      expect(printed.at(-1)).toBe('40');
      expect(printed.length).toBeGreaterThan(15);
      expect(printed.length).toBeLessThan(21);
    },
    buildTimeoutMs,
  );
});
