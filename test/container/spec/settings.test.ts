import { cpSync, existsSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import { settingsForUse, settingsOf } from '../../../src/container/spec/settings';
import type { Settings } from '../../../src/container/spec/spec';
import { configOf, loadConfig, type Config } from '../../../src/config/config';
import { authorityOf } from '../../../src/network/keys/authority';
import { AgentFolders } from '../../../src/system/paths/agent-folders';
import { besidesOf, readBaseline } from '../../../src/workspace/protect/baseline';
import { recorded } from '../../../src/workspace/records';
import { newFolder } from '../../support/temp-folder';
import { expectedError } from '../../expected-error';

const isLinux = process.platform === 'linux';

const standard = { egress: 'ask', allow: [], deny: [], hostPorts: [] } as const;

let home: string;
let root: string;
let host: Host;

/** The state of a user who has an authority for keys: making one takes long. */
const known = newFolder();
beforeAll(() => authorityOf(known));

beforeEach(() => {
  home = newFolder();
  root = newFolder();
  host = new Host({ HOME: home, PATH: process.env.PATH });
});

function settings(changes: Partial<Config> = {}, of = settingsOf, workspace = root): Promise<Settings> {
  const config = { ...loadConfig(host), ...changes };
  if (of === settingsForUse) cpSync(known, host.folders.state, { recursive: true });
  return of({ config, workspace, agent: 'claude', authorizedKey: 'key', host });
}

function kernelLink(): string {
  symlinkSync('/proc/self/root/usr', join(home, 'kernel'));
  return join(home, 'kernel');
}

describe('settingsOf', () => {
  it.each([
    ['gemini', 'cai-gemini'],
    ['claude', undefined],
    ['toString', undefined],
  ])('gives the containers of %s the host name %j', async (agent, hostname) => {
    const config = loadConfig(host);

    const given = await settingsOf({ config, workspace: root, agent, authorizedKey: 'key', host });

    expect(given.hostname).toBe(hostname);
  });

  it.each([
    [
      'codex',
      { path: '/etc/codex/config.toml', text: expect.stringContaining('":root" = "write"') as string },
    ],
    ['claude', undefined],
  ])('gives the containers of %s the settings that the agent needs in one', async (agent, file) => {
    const config = loadConfig(host);

    const given = await settingsOf({ config, workspace: root, agent, authorizedKey: 'key', host });

    expect(given.agentSettings).toEqual(file);
  });

  it('mounts the workspace at its own path, and knows which folder that is', async () => {
    const { dev, ino } = statSync(root);

    const { binds, workingFolder } = await settings();

    expect(workingFolder).toBe(root);
    expect(binds).toEqual([
      { source: root, target: root, isReadOnly: false, identity: `${dev}:${ino}`, isRoot: true },
    ]);
  });

  it('mounts what the user has chosen, from where it really is', async () => {
    const real = newFolder();
    const link = join(home, 'link');
    symlinkSync(real, link);

    const { binds } = await settings({ mounts: [{ path: link, isReadOnly: true }] });

    expect(binds[1]).toMatchObject({ source: real, target: link, isReadOnly: true });
  });

  it('leaves out what the workspace has anyway', async () => {
    mkdirSync(join(root, 'sub'));

    const { binds } = await settings({ mounts: [{ path: join(root, 'sub'), isReadOnly: false }] });

    expect(binds).toHaveLength(1);
  });

  it.each<[string, () => string, RegExp]>([
    ['a file of the image', () => '/etc', /the container needs its own files there/],
    ['a file of ours inside', () => '/usr/bin', /the container needs its own files there/],
    ['what is not there', () => join(home, 'gone'), /cannot be used/],
    ['a link to what the kernel shows', () => kernelLink(), /a view of the system/],
    ['our own folder', () => join(home, '.config'), /it holds cai's own folder/],
  ])('refuses to mount %s', async (_what, path, why) => {
    mkdirSync(join(home, '.config/containai'), { recursive: true });

    await expect(settings({ mounts: [{ path: path(), isReadOnly: false }] })).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(why) as string,
    });
  });

  it.each([
    ['mounts[0].path', '[[mounts]]\npath = "~/gone"\n'],
    ['network.ca_file', '[network]\nca_file = "~/gone"\n'],
  ])('traces what is not there to the line of %s', async (key, config) => {
    const file = join(home, '.config/containai/config.toml');
    mkdirSync(join(home, '.config/containai'), { recursive: true });
    writeFileSync(file, config);

    await expect(settings()).rejects.toMatchObject(
      expectedError(
        'CONFIG',
        /^\/.*\/config\.toml:2: "[^"]+" names .*\/gone, which cannot be used: no such file or directory: put it there/,
      ),
    );
    await expect(settings()).rejects.toThrow(`"${key}"`);
  });

  it.each<[string, Partial<Config['network']>, string[], boolean]>([
    ['not without ports', {}, [], false],
    ['with ports', { hostPorts: [5432] }, ['other:10.0.0.7'], true],
    ['not where the user has defined it', { hostPorts: [5432] }, ['Host.Docker.internal:10.0.0.7'], false],
    ['not where the engine may', { hostPorts: [5432], egress: 'open' }, [], false],
  ])('names this machine %s', async (_, network, extraHosts, isNamed) => {
    const container = { ...configOf([]).container, extraHosts };
    const { namesMachine = false } = await settings({ network: { ...standard, ...network }, container });

    expect(namesMachine).toBe(isNamed);
  });

  it('refuses to keep a part of the workspace from being written, which it could not', async () => {
    mkdirSync(join(root, 'sub'));

    await expect(settings({ mounts: [{ path: join(root, 'sub'), isReadOnly: true }] })).rejects.toMatchObject(
      { code: 'CONFIG' },
    );
  });

  (isLinux ? it : it.skip)('refuses a workspace in whose place a link has come (needs /proc)', async () => {
    rmSync(root, { recursive: true });
    symlinkSync(home, root);

    await expect(settings()).rejects.toMatchObject({ code: 'WORKSPACE' });
  });

  describe('with a workspace of another container', () => {
    let other: string;

    beforeEach(async () => {
      other = newFolder();
      mkdirSync(join(other, 'sub'));
      writeFileSync(join(home, 'secret'), 'SECRET');
      await settings({}, settingsForUse, other);
    });

    const refused = expect.objectContaining(
      expectedError('CONFIG', /the way there leads through ".*", where an agent could put/),
    ) as Error;

    it.each<[string, boolean]>([
      ['writable', false],
      ['read-only', true],
    ])('refuses to mount what lies in it, %s', async (_, isReadOnly) => {
      await expect(settings({ mounts: [{ path: join(other, 'sub'), isReadOnly }] })).rejects.toEqual(refused);
    });

    it('refuses to mount a link that its agent has made, and what is reached through one', async () => {
      symlinkSync(home, join(other, 'link'));
      symlinkSync(join(other, 'link'), join(home, 'way'));

      for (const path of [join(other, 'link'), join(home, 'way'), join(home, 'way/secret')])
        await expect(settings({ mounts: [{ path, isReadOnly: true }] })).rejects.toEqual(refused);
    });

    it('mounts it as a whole', async () => {
      const { binds } = await settings({ mounts: [{ path: other, isReadOnly: true }] });

      expect(binds[1]).toMatchObject({ source: other, isReadOnly: true });
    });

    it('refuses certificates in it, and those to which a link in it leads', async () => {
      symlinkSync(join(home, 'secret'), join(other, 'ca.pem'));
      symlinkSync(join(other, 'ca.pem'), join(home, 'ca.pem'));

      for (const caFile of [join(other, 'ca.pem'), join(home, 'ca.pem')])
        await expect(settings({ network: { ...standard, caFile } })).rejects.toEqual(refused);
    });
  });

  it('refuses certificates in the workspace itself, also before its first container', async () => {
    writeFileSync(join(root, 'ca.pem'), 'PEM');

    await expect(settings({ network: { ...standard, caFile: join(root, 'ca.pem') } })).rejects.toThrow(
      'which is not read',
    );
  });

  it('refuses to mount what lies in another mount that agents can write', async () => {
    const data = newFolder();
    mkdirSync(join(data, 'sub'));
    const mounts = [
      { path: data, isReadOnly: false },
      { path: join(data, 'sub'), isReadOnly: true },
    ];

    await expect(settings({ mounts })).rejects.toThrow(`leads through "${data}"`);
  });

  it('reads the certificates of the network', async () => {
    const caFile = join(home, 'ca.pem');
    writeFileSync(caFile, 'PEM');

    expect((await settings({ network: { ...standard, caFile } })).certificates).toBe('PEM');
    await expect(settings({ network: { ...standard, caFile: '/gone' } })).rejects.toMatchObject({
      code: 'CONFIG',
    });
  });
});

describe('settingsForUse', () => {
  beforeEach(() => {
    mkdirSync(join(root, '.git'));
    writeFileSync(join(root, '.git/HEAD'), '');
    writeFileSync(join(root, '.envrc'), '');
  });

  it('records what agents can write and how that is now, and makes what is to be protected', async () => {
    const beside = newFolder();
    const { state } = host.folders;

    const { protection } = await settings({ mounts: [{ path: beside, isReadOnly: false }] }, settingsForUse);

    expect(protection!.map(({ source }) => source)).toContain(join(root, '.git/hooks'));
    const { kept, states } = readBaseline(state, root)!;
    expect([...states.keys()]).toEqual(['.envrc']);
    expect([...kept.keys()]).toContain('.envrc');
    expect(besidesOf(state, root)).toEqual([beside]);
    expect(new AgentFolders(state).above(join(beside, 'x'))).toBe(beside);
    expect(recorded(state, 'git-folders', root)).toBe('');
  });

  it('makes nothing in a workspace that is not protected', async () => {
    const protect = { isOff: true, paths: [] };

    expect((await settings({ protect }, settingsForUse)).protection).toBeUndefined();

    expect(existsSync(join(root, '.git/hooks'))).toBe(false);
    expect(readBaseline(host.folders.state, root)!.kept.size).toBe(0);
  });

  it('is all that records: settings that are only looked at leave everything as it is', async () => {
    await settings();

    expect(existsSync(join(root, '.git/hooks'))).toBe(false);
    expect(existsSync(host.folders.state)).toBe(false);
  });
});
