import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import { catalog } from '../../../src/agent/catalog';
import { imageRequestOf, readRecipe } from '../../../src/container/image/image-request';
import { imageTagOf } from '../../../src/container/image/image-tag';
import { readDevcontainer } from '../../../src/workspace/devcontainer/devcontainer';
import { forgetAgentFolder, rememberAgentFolders } from '../../../src/system/paths/agent-folders';
import { loadConfig, type Config } from '../../../src/config/config';
import { record } from '../../../src/workspace/records';
import { newRoot } from '../../workspace/devcontainer/files';
import { newFolder } from '../../support/temp-folder';

let home: string;
let host: Host;

beforeEach(() => {
  home = newFolder();
  host = new Host({ HOME: home });
});

function configure(text: string): void {
  mkdirSync(join(home, '.config/containai'), { recursive: true });
  writeFileSync(join(home, '.config/containai/config.toml'), text);
}

describe('imageRequestOf', () => {
  test('takes the packages of a known agent', () => {
    expect(imageRequestOf(host, loadConfig(host), undefined, 'gemini')).toEqual({
      agent: 'gemini',
      packages: catalog.gemini!.packages,
      image: { autoBuild: true, base: 'node:22-bookworm-slim', apt: [], packages: [] },
      network: { egress: 'ask', allow: [], deny: [], hostPorts: [] },
      stateFolder: join(home, '.local/state/containai'),
    });
  });

  test('prefers the packages that the user has named', () => {
    configure('[agents.claude]\ncommand = ["claude-code-acp"]\npackages = ["my-claude@1.0.0"]\n');

    expect(imageRequestOf(host, loadConfig(host), '/w', 'claude').packages).toEqual(['my-claude@1.0.0']);
  });

  test.each(['mine', 'toString'])('needs no packages for an agent like %s, which npm may not know', (agent) =>
    expect(imageRequestOf(host, loadConfig(host), undefined, agent).packages).toEqual([]),
  );

  test("keeps a workspace's image apart if its own configuration has a say in it, and only then", () => {
    configure('[image]\nbase = "mine:1"\n');
    const own = loadConfig(host);
    const trusted: Config = { ...own, image: { ...own.image, base: 'theirs:1' } };
    const added: Config = { ...own, image: { ...own.image, apt: ['golang'] } };
    const narrowed: Config = { ...own, image: { ...own.image, autoBuild: false } };

    expect(imageRequestOf(host, trusted, '/w', 'claude').repository).toBe('/w');
    expect(imageRequestOf(host, added, '/w', 'claude').repository).toBe('/w');
    expect(imageRequestOf(host, narrowed, '/w', 'claude')).not.toHaveProperty('repository');
    expect(imageRequestOf(host, own, '/w', 'claude')).not.toHaveProperty('repository');
  });

  test.each([
    [['chromium=1.2'], true],
    [['chromium-l10n'], false],
  ])('has the variables of a browser only with one: %j', (apt, isThere) => {
    const config = loadConfig(host);
    const request = imageRequestOf(host, { ...config, image: { ...config.image, apt } }, '/w', 'claude');
    expect(readRecipe(request).environment.dockerfile.includes('PUPPETEER')).toBe(isThere);
  });

  test('gives a worktree the image of its repository, unless its own configuration has a say in it', () => {
    const repository = newRoot({ '.devcontainer.json': { image: 'debian' } });
    const tree = newRoot({ '.devcontainer.json': { image: 'debian' } });
    const made = { repository, branch: 'cai/a', base: 'b', isOfSession: true };
    record(host.folders.state, 'worktrees', tree, JSON.stringify(made));
    const requestFor = (root: string, changes: Partial<Config['image']> = {}) => {
      const { image, devcontainer, ...rest } = loadConfig(host);
      const trusted = readDevcontainer(root, join(root, '.devcontainer.json'), {});
      const config: Config = {
        ...rest,
        image: { ...image, ...changes },
        devcontainer: { ...devcontainer, trusted },
      };
      return imageRequestOf(host, config, root, 'claude');
    };

    expect(imageTagOf(requestFor(tree))).toBe(imageTagOf(requestFor(repository)));
    expect(requestFor(tree, { base: 'theirs:1' }).repository).toBe(tree);
  });

  test('gives what a development container says an image of its own, and another with each change', () => {
    configure('[env]\nimport = ["KEY"]\n');
    const build = { dockerfile: 'Dockerfile', args: { A: '${localEnv:KEY}' } };
    const file = '.devcontainer/devcontainer.json';
    const root = newRoot({ [file]: { build }, '.devcontainer/Dockerfile': 'FROM debian\n' });
    const requestWith = (env: Record<string, string>) => {
      const config = loadConfig(host);
      const trusted = readDevcontainer(root, join(root, file), env);
      const withIt: Config = { ...config, devcontainer: { ...config.devcontainer, trusted } };
      return imageRequestOf(new Host({ HOME: home, ...env }), withIt, root, 'claude');
    };
    const requests = [requestWith({}), requestWith({ KEY: 'k' }), requestWith({ OTHER: 'x' })];
    writeFileSync(join(root, '.devcontainer/Dockerfile'), 'FROM debian:13\n');
    requests.push(requestWith({}));

    const names = requests.map((each) => imageTagOf(each));

    expect(requests[0]).toMatchObject({ repository: root, devcontainer: { hostUser: host.user } });
    expect(names[2]).toBe(names[0]);
    expect(new Set(names).size).toBe(3);
    expect(new Set(requests.map((each) => readRecipe(each).environment.tag)).size).toBe(3);
  });

  test.each([
    ['network.ca_file', '[network]\nca_file = "FILE"'],
    ['image.dockerfile', '[image]\ndockerfile = "FILE"'],
  ])('refuses a file that an agent can change, of another workspace or this one: %s', (key, text) => {
    const other = join(home, 'other');
    mkdirSync(other);
    rememberAgentFolders(host.folders.state, [other]);
    configure(text.replace('FILE', join(other, 'file')));
    const request = (root: string | undefined) => () =>
      imageRequestOf(host, loadConfig(host), root, 'gemini');

    expect(request(undefined)).toThrow(`"${key}" names ${join(other, 'file')}, which is not read`);
    forgetAgentFolder(host.folders.state, other);
    expect(request(undefined)).not.toThrow();
    expect(request(other)).toThrow(`"${key}" names`);
  });
});
