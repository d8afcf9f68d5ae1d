import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import { catalog } from '../../../src/agent/catalog';
import { imageRequestOf } from '../../../src/container/image/image-request';
import { forgetAgentFolder, rememberAgentFolders } from '../../../src/paths/agent-folders';
import { loadConfig, type Config } from '../../../src/config/config';
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
      image: { autoBuild: true, base: 'node:22-bookworm-slim' },
      network: { egress: 'ask', allow: [], deny: [] },
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
    const narrowed: Config = { ...own, image: { ...own.image, autoBuild: false } };

    expect(imageRequestOf(host, trusted, '/w', 'claude').repository).toBe('/w');
    expect(imageRequestOf(host, narrowed, '/w', 'claude')).not.toHaveProperty('repository');
    expect(imageRequestOf(host, own, '/w', 'claude')).not.toHaveProperty('repository');
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
