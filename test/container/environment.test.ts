import { commandEnvironment } from '../../src/container/environment';

const network = { egress: 'open', allow: [], deny: [] } as const;
const container = { env: ['PATH=/bin', 'A=b=c', 'EMPTY='], hostname: 'box' };

describe('commandEnvironment', () => {
  it('is that of the container, with the user of it', () => {
    expect(commandEnvironment(container, { env: { import: [] }, network }, { SECRET: 'x' })).toEqual([
      ['PATH', '/bin'],
      ['A', 'b=c'],
      ['EMPTY', ''],
      ['HOME', '/home/agent'],
      ['USER', 'agent'],
      ['LOGNAME', 'agent'],
      ['HOSTNAME', 'box'],
    ]);
  });

  it('lets in the variables that the user names, as far as they are set, and no other', () => {
    const config = { env: { import: ['KEY', 'UNSET', 'EMPTY'] }, network };

    expect(commandEnvironment(container, config, { KEY: 'k', EMPTY: '', SECRET: 'x' }).slice(7)).toEqual([
      ['KEY', 'k'],
      ['EMPTY', ''],
    ]);
  });

  it('has the proxies in both cases, and tells Node to use them', () => {
    const proxies = { httpsProxy: 'http://p:1', noProxy: 'local', npmRegistry: 'http://r/' };
    const config = { env: { import: [] }, network: { ...network, ...proxies } };

    expect(commandEnvironment(container, config, {}).slice(7)).toEqual([
      ['https_proxy', 'http://p:1'],
      ['HTTPS_PROXY', 'http://p:1'],
      ['no_proxy', 'local'],
      ['NO_PROXY', 'local'],
      ['NODE_USE_ENV_PROXY', '1'],
      ['NODE_NO_WARNINGS', '1'],
      ['npm_config_registry', 'http://r/'],
    ]);
  });

  it('has none of the proxies where only what is allowed may leave', () => {
    const proxies = { egress: 'ask', httpsProxy: 'http://p:1', npmRegistry: 'http://r/' } as const;
    const config = { env: { import: [] }, network: { ...network, ...proxies } };

    expect(commandEnvironment(container, config, {}).slice(7)).toEqual([
      ['npm_config_registry', 'http://r/'],
    ]);
  });
});
