import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { InnerEntry } from '../../../src/container/engine/engine';
import { containerFiles, packagedFilesHash } from '../../../src/container/spec/files';

const settings = {
  agent: 'claude',
  workingFolder: '/home/u/app',
  isCopied: false,
  authorizedKey: 'ssh-ed25519 AAAA cai',
  binds: [],
  own: [],
  protection: [],
  certificates: undefined,
  hasNetwork: false,
};
const request = {
  user: { uid: 4321, gid: 4322 },
  hostKey: 'PRIVATE',
  passwd: 'root:x:0:0:root:/root:/bin/bash\nnode:x:1000:1000::/home/node:/bin/bash\n',
  group: 'root:x:0:\nnode:x:1000:\n',
  git: { identity: { name: 'A "B" \\ C', email: 'a@example.org' }, safe: [] },
  systemCa: 'SYSTEM\n',
  hasAgentSettings: false,
};

interface Entry {
  readonly type: string;
  readonly mode: number;
  readonly owner: string;
  readonly link: string | undefined;
  readonly content: string;
}

function entries(files: readonly InnerEntry[]): Map<string, Entry> {
  return new Map(
    files.map(({ path, is, mode, uid, gid }) => {
      const type = is === 'folder' ? 'directory' : 'link' in is ? 'symlink' : 'file';
      const link = is !== 'folder' && 'link' in is ? is.link : undefined;
      const content = is !== 'folder' && 'file' in is ? is.file : '';
      return [path, { type, mode, owner: `${uid}:${gid}`, link, content }];
    }),
  );
}

describe('containerFiles', () => {
  let found: Map<string, Entry>;

  beforeAll(() => void (found = entries(containerFiles(settings, request))));

  it('gives what decides who may enter to root, readable for all', () => {
    for (const name of ['keeper', 'supervisor', 'join', 'ports', 'watch', 'sshd_config', 'authorized_keys']) {
      const entry = found.get(`/run/cai/${name}`);
      expect([name, entry?.owner, (entry?.mode ?? 0) & 0o022]).toEqual([name, '0:0', 0]);
    }
    expect(found.get('/run/cai')).toMatchObject({ type: 'directory', owner: '0:0', mode: 0o755 });
    expect(found.get('/run/cai/authorized_keys')?.content).toBe('ssh-ed25519 AAAA cai\n');
  });

  it('tells ssh the way to the network, unless the container has one of its own', () => {
    const withNetwork = entries(containerFiles({ ...settings, hasNetwork: true }, request));
    const file = '/etc/ssh/ssh_config.d/cai.conf';

    expect(found.get(file)?.content).toContain('ProxyCommand /run/cai/join %h %p\n');
    expect(withNetwork.has(file)).toBe(false);
  });

  it('has git sign with a key of the user, and ssh know servers, where that is wanted', () => {
    const userSettings = {
      shown: [],
      links: [],
      knownHosts: 'git.example ssh-ed25519 AAAA\n',
      signingKey: 'ssh-ed25519 KEY',
    };
    const signing = entries(containerFiles({ ...settings, hasNetwork: true, userSettings }, request));

    expect(signing.get('/etc/gitconfig')?.content).toContain(
      'signingKey = "key::ssh-ed25519 KEY"\n[gpg]\n\tformat = ssh',
    );
    expect(signing.get('/etc/gitconfig')?.content).toContain('[commit]\n\tgpgSign = true\n');
    expect(signing.get('/etc/ssh/ssh_config.d/cai.conf')?.content).toBe(
      'Host *\n  GlobalKnownHostsFile /run/cai/known_hosts /etc/ssh/ssh_known_hosts\n',
    );
    expect(found.get('/etc/gitconfig')?.content).not.toContain('gpg');
  });

  it('tells the supervisor by sshd how much a file may hold', () => {
    const { content } = found.get('/run/cai/sshd_config')!;
    const limited = entries(containerFiles({ ...settings, diskBytes: 4096 }, request));

    expect(content.split('\n')).toContain('SetEnv CAI_DISK_BYTES=0');
    expect(limited.get('/run/cai/sshd_config')!.content.split('\n')).toContain('SetEnv CAI_DISK_BYTES=4096');
  });

  it('lets only the user read the host key', () => {
    expect(found.get('/run/cai/host_key')).toMatchObject({ owner: '4321:4322', mode: 0o600 });
  });

  it('lets commands note that they have run', () => {
    expect(found.get('/run/cai/used')).toMatchObject({ type: 'file', owner: '4321:4322', mode: 0o600 });
  });

  it('names the user first, and the group if the image does not', () => {
    const [first, ...others] = found.get('/etc/passwd')!.content.split('\n');
    expect(first).toBe('agent:x:4321:4322:agent:/home/agent:/bin/sh');
    expect(others.join('\n')).toBe(request.passwd);
    expect(found.get('/etc/group')?.content).toBe(`agent:x:4322:\n${request.group}`);
  });

  it('leaves a group of the image its name, and replaces a user of ours', () => {
    const again = containerFiles(settings, {
      ...request,
      user: { uid: 1000, gid: 1000 },
      passwd: `agent:x:7:7:agent:/:/bin/sh\n${request.passwd}`,
    });
    const files = entries(again);

    expect(files.get('/etc/group')?.content).toBe(request.group);
    expect(files.get('/etc/passwd')?.content.match(/^agent:/gm)).toHaveLength(1);
  });

  it('gives the home folder and the data volume to the user', () => {
    expect(found.get('/home/agent')).toMatchObject({ type: 'directory', owner: '4321:4322' });
    expect(found.get('/home/agent/.data')).toMatchObject({ owner: '4321:4322', mode: 0o700 });
    expect(found.get('/home/agent/.claude')).toMatchObject({ type: 'symlink', link: '.data/.claude' });
    expect(found.get('/home/agent/.data/.claude')).toMatchObject({ type: 'directory', owner: '4321:4322' });
  });

  it('links to the workspace, unless the workspace itself is there', () => {
    expect(found.get('/home/agent/workspace')).toMatchObject({ type: 'symlink', link: '/home/u/app' });
    const there = entries(containerFiles({ ...settings, workingFolder: '/home/agent/workspace' }, request));
    expect(there.has('/home/agent/workspace')).toBe(false);
  });

  it("quotes git's author", () => {
    const writable = entries(containerFiles({ ...settings, protection: undefined }, request));
    expect(writable.get('/etc/gitconfig')?.content).toBe(
      '[user]\n\tname = "A \\"B\\" \\\\ C"\n\temail = "a@example.org"\n',
    );
  });

  it('lets git use those folders of others that the user lets it use, as far as they are inside', () => {
    const binds = [{ source: '/srv/app', target: '/inside', isReadOnly: false, isRoot: true, identity: '' }];
    const git = { ...request.git, safe: ['*', '/srv/app', '/srv/app/sub', '/srv/appendix', '/home/u/x'] };
    const { content } = entries(containerFiles({ ...settings, binds }, { ...request, git })).get(
      '/etc/gitconfig',
    )!;

    expect([...content.matchAll(/directory = (.*)/g)].map(([, folder]) => folder)).toEqual([
      '"*"',
      '"/inside"',
      '"/inside/sub"',
    ]);
  });

  it('sets git so that it need not write the configuration of a repository where that is protected', () => {
    expect(found.get('/etc/gitconfig')?.content).toContain(
      '[branch]\n\tautoSetupMerge = false\n[push]\n\tdefault = current\n',
    );
  });

  it('adds certificates to those of the image, and has none otherwise', () => {
    const files = entries(containerFiles({ ...settings, certificates: 'EXTRA\n' }, request));

    expect(files.get('/run/cai/ca.pem')?.content).toBe('EXTRA\n');
    expect(files.get('/etc/ssl/certs/ca-certificates.crt')?.content).toBe('SYSTEM\nEXTRA\n');
    const unended = containerFiles(
      { ...settings, certificates: 'EXTRA\n' },
      { ...request, systemCa: 'SYSTEM' },
    );
    expect(unended.find(({ path }) => path === '/etc/ssl/certs/ca-certificates.crt')?.is).toEqual({
      file: 'SYSTEM\nEXTRA\n',
      added: '\nEXTRA\n',
    });
    expect(found.has('/etc/ssl/certs/ca-certificates.crt')).toBe(false);
  });

  it('has the settings of the agent, which it cannot change', () => {
    const agentSettings = { path: '/etc/codex/config.toml', text: 'default_permissions = "container"\n' };
    const files = entries(containerFiles({ ...settings, agentSettings }, request));

    expect(files.get('/etc/codex/config.toml')).toMatchObject({
      content: agentSettings.text,
      owner: '0:0',
      mode: 0o644,
    });
  });
});

test('only the containers of Cursor have the adapter, which cannot be changed there', () => {
  const adapter = '/run/cai/cai-cursor';

  expect(entries(containerFiles(settings, request)).has(adapter)).toBe(false);
  expect(entries(containerFiles({ ...settings, agent: 'cursor' }, request)).get(adapter)).toMatchObject({
    ...{ owner: '0:0', mode: 0o755 },
    content: readFileSync(join(__dirname, '../../../dist/cursor/main.js'), 'utf8'),
  });
});

describe('packagedFilesHash', () => {
  it('is the same each time', () => {
    expect(packagedFilesHash('claude')).toMatch(/^[0-9a-f]{16}$/);
    expect(packagedFilesHash('claude')).toBe(packagedFilesHash('claude'));
    // The adapter is only in Cursor's containers.
    expect(packagedFilesHash('cursor')).not.toBe(packagedFilesHash('claude'));
  });
});
