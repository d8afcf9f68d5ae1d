import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import { AgentFolders } from '../../src/system/paths/agent-folders';
import { checkFilePath, checkMountPath } from '../../src/config/chosen-path';
import { newFolder } from '../support/temp-folder';

describe('a path of the configuration that leads through what an agent can write', () => {
  let host: Host;
  let theirs: string;
  let folders: AgentFolders;

  beforeEach(() => {
    const home = newFolder();
    host = new Host({ HOME: home });
    theirs = newFolder();
    mkdirSync(join(theirs, 'sub'));
    mkdirSync(join(home, '.config/containai'), { recursive: true });
    const lines = [`[[mounts]]`, `path = "${theirs}/sub"`, '[network]', `ca_file = "${theirs}/ca.pem"`];
    writeFileSync(join(home, '.config/containai/config.toml'), lines.join('\n'));
    folders = new AgentFolders(host.folders.state, [theirs]);
  });

  test('is not mounted; the message tells the line, the folder and what to do', () => {
    expect(() =>
      checkMountPath(host, { key: 'mounts[].path', path: `${theirs}/sub`, root: undefined }, folders),
    ).toThrow(
      `config.toml:2: "mounts[0].path" names ${theirs}/sub, which cannot be mounted, because the way there leads through "${theirs}", where an agent could put a link to any other folder: mount "${theirs}" itself, or move what is to be mounted; if no agent works there any more, run: cai trust --forget "${theirs}"`,
    );
  });

  test('is not read; likewise', () => {
    expect(() =>
      checkFilePath(host, { key: 'network.ca_file', path: `${theirs}/ca.pem`, root: undefined }, folders),
    ).toThrow(
      new RegExp(`config.toml:4: "network.ca_file" names ${theirs}/ca.pem, which is not read, .*: move it`),
    );
  });

  test('can be mounted where it is that folder itself', () => {
    const chosen = { key: 'mounts[].path', path: theirs, root: undefined };

    expect(() => checkMountPath(host, chosen, folders)).not.toThrow();
  });
});
