import { commandEnvironment } from '../../src/container/environment';

const network = { egress: 'open', allow: [], deny: [], hostPorts: [] } as const;
const settings = { workspace: '/w', workingFolder: '/w' };
const container = { env: ['PATH=/bin', 'A=b=c', 'EMPTY='], hostname: 'box' };

describe('commandEnvironment', () => {
  it('is that of the container, with the user of it', () => {
    expect(
      commandEnvironment(
        container,
        { env: { import: [] }, network },
        { SECRET: 'x', TZ: 'Asia/Tokyo' },
        settings,
      ),
    ).toEqual([
      ['TZ', 'Asia/Tokyo'],
      ['LANG', 'C.UTF-8'],
      ['PATH', '/bin'],
      ['A', 'b=c'],
      ['EMPTY', ''],
      ['HOME', '/home/agent'],
      ['USER', 'agent'],
      ['LOGNAME', 'agent'],
      ['HOSTNAME', 'box'],
      ['PATH', '/bin:/home/agent/.local/bin'],
      ['NPM_CONFIG_PREFIX', '/home/agent/.local'],
      ['PIP_BREAK_SYSTEM_PACKAGES', '1'],
    ]);
  });

  it.each([
    ['JST-9', 'JST-9'],
    ['<+03>-3', '<+03>-3'],
    [':/etc/localtime', undefined],
    ['/srv/zone', undefined],
    [undefined, undefined],
  ])('with TZ=%s has the time zone %s, or where there is none the one of this process', (TZ, zone) => {
    const own = new Intl.DateTimeFormat().resolvedOptions().timeZone.replace(/^UTC$/, 'Etc/UTC');
    const set = commandEnvironment(container, { env: { import: [] }, network }, { TZ }, settings);

    expect(new Map(set).get('TZ')).toBe(zone ?? own);
  });

  it('has the time zone and the locale of the image where that sets them', () => {
    const env = ['TZ=Etc/GMT+7', 'LANG=de_DE.UTF-8'];
    const set = commandEnvironment({ env, hostname: 'box' }, { env: { import: [] }, network }, {}, settings);

    expect(Object.fromEntries(set)).toMatchObject({ TZ: 'Etc/GMT+7', LANG: 'de_DE.UTF-8' });
  });

  it('finds programs that an agent has installed after those of the image, and nothing in the current folder', () => {
    const pathOf = (env: string[]) =>
      new Map(
        commandEnvironment({ env, hostname: 'box' }, { env: { import: [] }, network }, {}, settings),
      ).get('PATH');

    expect(pathOf(['PATH=/a:/b'])).toBe('/a:/b:/home/agent/.local/bin');
    expect(pathOf([])).toBe('/home/agent/.local/bin');
  });

  it('has what a devcontainer.json sets, which is neither the home folder nor anything of this machine', () => {
    const devcontainer = JSON.stringify([
      {
        containerEnv: { A: '${localEnv:KEY}${localEnv:SECRET}', HOME: '/root' },
        remoteEnv: { PATH: '${containerEnv:PATH}:/more', W: '${containerWorkspaceFolder}', EMPTY: null },
      },
    ]);
    const config = { env: { import: ['KEY'] }, network };
    const set = commandEnvironment(
      { ...container, devcontainer },
      config,
      { KEY: 'k', SECRET: 'x' },
      settings,
    );

    expect(Object.fromEntries(set)).toMatchObject({
      A: 'k',
      HOME: '/home/agent',
      PATH: '/bin:/more:/home/agent/.local/bin',
      W: '/w',
    });
    expect(set.map(([name]) => name)).not.toContain('EMPTY');
  });

  it('lets in the variables that the user names, as far as they are set, and no other', () => {
    const config = { env: { import: ['KEY', 'UNSET', 'EMPTY'] }, network };

    expect(
      commandEnvironment(container, config, { KEY: 'k', EMPTY: '', SECRET: 'x', TZ: 'UTC' }, settings).slice(
        12,
      ),
    ).toEqual([
      ['KEY', 'k'],
      ['EMPTY', ''],
    ]);
  });

  it('has the proxies in both cases, and tells Node to use them', () => {
    const proxies = {
      httpsProxy: 'http://p:1',
      noProxy: 'local',
      npmRegistry: 'http://r/',
      pipIndex: 'http://i/',
    };
    const config = { env: { import: [] }, network: { ...network, ...proxies } };

    expect(commandEnvironment(container, config, { TZ: 'UTC' }, settings).slice(12)).toEqual([
      ['https_proxy', 'http://p:1'],
      ['HTTPS_PROXY', 'http://p:1'],
      ['no_proxy', 'local'],
      ['NO_PROXY', 'local'],
      ['NODE_USE_ENV_PROXY', '1'],
      ['NODE_NO_WARNINGS', '1'],
      ['npm_config_registry', 'http://r/'],
      ['PIP_INDEX_URL', 'http://i/'],
      ['UV_DEFAULT_INDEX', 'http://i/'],
    ]);
  });

  it('has none of the proxies where only what is allowed may leave', () => {
    const proxies = { egress: 'ask', httpsProxy: 'http://p:1', npmRegistry: 'http://r/' } as const;
    const config = { env: { import: [] }, network: { ...network, ...proxies } };

    expect(commandEnvironment(container, config, { TZ: 'UTC' }, settings).slice(12)).toEqual([
      ['npm_config_registry', 'http://r/'],
    ]);
  });
});
