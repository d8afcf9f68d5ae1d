import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import type { ContainerPlan, Engine, InnerFiles } from '../../src/container/engine/engine';
import type { ImageInfo } from '../../src/container/engine/engine-info';
import { makeContainer } from '../../src/container/make';
import type { Settings } from '../../src/container/spec/spec';
import { newFolder } from '../support/temp-folder';
import { circumstances, settings } from './given';

describe('makeContainer', () => {
  const agentSettings = { path: '/etc/codex/config.toml', text: 'ours' };

  /** The names of the files that a container gets whose image has these files and labels, and its plan. */
  async function madeFrom(
    ofImage: Readonly<Record<string, string>>,
    labels: ImageInfo['labels'] = {},
    { host = new Host({}), changes = {} }: { host?: Host; changes?: Partial<Settings> } = {},
  ): Promise<{ names: string[]; plan: ContainerPlan | undefined; told: string[] }> {
    const names: string[] = [];
    const told: string[] = [];
    let plan: ContainerPlan | undefined;
    const inside: InnerFiles = {
      read: (path) =>
        Promise.resolve(
          path in ofImage ? { content: Buffer.from(ofImage[path]!), mode: 0o644, uid: 0, gid: 0 } : undefined,
        ),
      put: (entries) => Promise.resolve(void names.push(...entries.map(({ path }) => path))),
    };
    const engine = {
      about: () => Promise.resolve({ ...circumstances.engine, isRootless: false, sharesKernel: false }),
      createVolume: () => Promise.resolve(),
      listVolumes: () => Promise.resolve([]),
      createContainer: async (
        _name: string,
        wanted: ContainerPlan,
        fill: (files: InnerFiles) => Promise<void>,
      ) => {
        plan = wanted;
        await fill(inside);
        return 'f00';
      },
      startContainer: () => Promise.resolve(),
    } as unknown as Engine;
    const tell = (notice: string) => void told.push(notice);
    const request = { settings: settings({ agentSettings, ...changes }), host, tell };
    const image = { id: 'sha256:image', labels, tags: [], env: [] };
    await makeContainer(engine, 'cai-app-1', image, request);
    return { names, plan, told };
  }

  test('gives the agent its settings, unless the image has that file itself', async () => {
    expect((await madeFrom({})).names).toContain(agentSettings.path);
    expect((await madeFrom({ [agentSettings.path]: 'its own' })).names).not.toContain(agentSettings.path);
  });

  test("puts the image's headers of Node where node-gyp looks for them, unless a home folder has links there", async () => {
    const header = ['MAJOR_VERSION 22', 'MINOR_VERSION 1', 'PATCH_VERSION 0'];
    const text = header.map((line) => `#define NODE_${line}\n`).join('');
    const image = { '/usr/local/include/node/node_version.h': text };
    const devcontainer = { 'containai.devcontainer': 'digest', 'devcontainer.metadata': '[{}]' };
    const cached = ({ names }: { names: string[] }) => names.filter((name) => name.includes('/.cache'));
    const folder = '/home/agent/.cache/node-gyp/22.1.0';

    expect(cached(await madeFrom(image))).toEqual(
      expect.arrayContaining([`${folder}/installVersion`, `${folder}/include`]),
    );
    expect(cached(await madeFrom({}))).toEqual([]);
    expect(cached(await madeFrom(image, devcontainer))).toEqual([]);
  });

  test('says that commits are not signed, where the user wants that and nobody can', async () => {
    const home = newFolder();
    const host = new Host({ PATH: process.env.PATH, HOME: home });
    const none = { shown: [], links: [], knownHosts: '' };
    const signing = { userSettings: { ...none, signingKey: 'ssh-ed25519 KEY' } };
    expect((await madeFrom({}, {}, { host })).told).toEqual([]);

    writeFileSync(join(home, '.gitconfig'), '[commit]\n\tgpgSign = yes\n');

    expect((await madeFrom({}, {}, { host })).told).toEqual([
      expect.stringMatching(/^commits in the container are not signed, .*git\.sign/),
    ]);
    expect((await madeFrom({}, {}, { host, changes: signing })).told).toEqual([]);
  });

  test('records what the image of a development container says, and nothing of another image', async () => {
    const says = { 'devcontainer.metadata': '[{}]' };
    const own = { ...says, 'containai.devcontainer': 'digest' };

    expect((await madeFrom({}, own)).plan!.labels['containai.devcontainer']).toBe('[{}]');
    expect((await madeFrom({}, says)).plan!.labels).not.toHaveProperty(['containai.devcontainer']);
  });
});
