import { userInfo } from 'node:os';
import { join } from 'node:path';
import { Host, passwdUser } from '../../src/system/host';

describe('ownFolders', () => {
  test('lie where the environment says', () => {
    const host = new Host({
      HOME: '/h',
      XDG_CONFIG_HOME: '/c/',
      XDG_STATE_HOME: '/s',
      XDG_RUNTIME_DIR: '/r',
    });

    expect(host.folders).toEqual({
      config: '/c/containai',
      state: '/s/containai',
      runtime: '/r/containai',
    });
  });

  test.each([{}, { XDG_CONFIG_HOME: '', XDG_STATE_HOME: 'relative', XDG_RUNTIME_DIR: 'r' }])(
    'lie in the home folder without absolute paths in %j',
    (env) => {
      expect(new Host({ HOME: '/h', ...env }).folders).toEqual({
        config: '/h/.config/containai',
        state: '/h/.local/state/containai',
      });
    },
  );

  test('do without a HOME', () => {
    expect(new Host({}).folders.config).toBe(join(userInfo().homedir, '.config/containai'));
  });
});

describe('cwd', () => {
  test('is the current folder of this process, or the one that is to count as it', () => {
    expect(new Host({}).cwd).toBe(process.cwd());
    expect(new Host({}, '/h/project').cwd).toBe('/h/project');
  });
});

describe('passwdUser', () => {
  test('is the user of this process', () => {
    expect(passwdUser()).toMatchObject({ uid: process.geteuid?.(), homedir: userInfo().homedir });
  });
});

describe('the folders that workspaces may lie in', () => {
  test('are all without the variable', () => expect(new Host({}).workspaces).toBeUndefined());

  test('are those of the variable, which is for us alone', () => {
    const host = new Host({ CAI_SERVE_WORKSPACES: '["/srv/shop"]', PATH: '/bin' });

    expect(host.workspaces).toEqual(['/srv/shop']);
    expect(host.envForOthers).toEqual({ PATH: '/bin' });
  });

  test.each(['', '[', '{}', 'null', '"/srv"', '["srv"]', '[1]', '["/srv", ""]'])('are never %j', (text) => {
    expect(() => new Host({ CAI_SERVE_WORKSPACES: text }).workspaces).toThrow(
      'a JSON list of absolute paths',
    );
  });
});
