/** That images get into registries, and from there by their digests to nodes. */
import { writeFileSync } from 'node:fs';
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Registry } from '../../src/container/registry/registry';
import { Host } from '../../src/system/host';
import { Cai, docker, folder, ownFile, ownFolder } from '../engine/support';

const buildTimeoutMs = 600_000;
/** Of a registry of our own: the password is "s3cret". */
const passwords = 'me:$2b$05$abcdefghijklmnopqrstuuLK7U1u6pVRmL7L1BBM2aS35PSZnDXlK\n';
const registries: ChildProcess[] = [];
const tags: string[] = [];

afterAll(async () => {
  for (const each of registries) each.kill('SIGKILL');
  for (const tag of tags) await docker('rmi', '--force', tag);
});

/** Starts a registry that lets in nobody but `me`. Resolves with its host and port. */
async function privateRegistry(): Promise<string> {
  writeFileSync(join(folder, 'passwords'), passwords);
  const config = {
    version: 0.1,
    storage: { filesystem: { rootdirectory: join(folder, 'registry') } },
    http: { addr: '127.0.0.1:0' },
    auth: { htpasswd: { realm: 'test', path: join(folder, 'passwords') } },
  };
  writeFileSync(join(folder, 'registry.yml'), JSON.stringify(config));
  const program = join(process.env.CAI_TEST_K8S_STATE ?? '', 'bin/docker-registry');
  const child = spawn(program, ['serve', join(folder, 'registry.yml')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  registries.push(child);
  for await (const line of createInterface(child.stderr)) {
    const [, place] = /listening on (127\.0\.0\.1:\d+)/.exec(line) ?? [];
    if (place !== undefined) {
      child.stderr.resume();
      return place;
    }
  }
  throw new Error('the registry does not start');
}

/** A user of a cluster who has logged in with a password to a registry. */
function userOf(registry: string, password: string): Cai {
  const cai = new Cai(`[image]\nregistry = "${registry}/team"\n[engine]\nkind = "kubernetes"\n`);
  ownFolder(join(cai.home, '.docker'));
  const auth = Buffer.from(`me:${password}`).toString('base64');
  ownFile(join(cai.home, '.docker/config.json'), JSON.stringify({ auths: { [registry]: { auth } } }));
  tags.push(`${registry}/team/containai:claude`);
  return cai;
}

test(
  'an image gets into a registry that wants a password, and is found in it',
  async () => {
    const place = await privateRegistry();
    const cai = userOf(place, 's3cret');

    const pushed = await cai.run(['build', 'claude', '--push'], { limitMs: buildTimeoutMs });

    const [, id = ''] = /the registry has it: (\S+)/.exec(pushed.stderr) ?? [];
    const found = await new Registry(new Host(cai.env), {}).find(`${place}/team/containai:claude`);
    expect(pushed).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(/the registry has it/) as string,
    });
    expect(pushed.stderr).toMatch(/pushing \S+\/team\/containai:claude: \d+ of \d+ layers/);
    expect(id).toMatch(/^127\.0\.0\.1:\d+\/team\/containai@sha256:[\da-f]{64}$/);
    expect(found).toMatchObject({
      id,
      labels: { 'containai.packages': expect.stringContaining('claude-agent-acp') as string },
    });
    expect(found?.env.join('\n')).toMatch(/^PATH=/m);
  },
  buildTimeoutMs,
);

test(
  'who has another password is told how to log in',
  async () => {
    const place = await privateRegistry();
    const cai = userOf(place, 'wrong');

    const { status, stderr } = await cai.run(['build', 'claude', '--push'], { limitMs: buildTimeoutMs });

    expect(status).toBe(11);
    expect(stderr).toMatch(
      /cannot push the image 127\.0\.0\.1:\d+\/team\/containai:claude: .*(unauthorized|denied)/,
    );
    expect(stderr).toContain(`docker login ${place}`);
    expect(stderr).not.toContain('wrong');
  },
  buildTimeoutMs,
);
