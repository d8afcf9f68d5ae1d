import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { AgentFolders, rememberAgentFolders } from '../../../../src/system/paths/agent-folders';
import { checkListen, checkSocketPath } from '../../../../src/served/server/door/listen';
import { expectedError } from '../../../expected-error';
import { newFolder } from '../../../support/temp-folder';

const plain = { hasCertificate: false, isBehindProxy: false };

describe('checkSocketPath', () => {
  const state = newFolder();
  const [workspace, other] = [newFolder(), newFolder()];
  rememberAgentFolders(state, [workspace]);
  const folders = new AgentFolders(state);

  test('refuses a path on which an agent can write', () => {
    symlinkSync(workspace, join(other, 'link'));
    for (const path of [join(workspace, 's'), join(workspace, 'deep/s'), join(other, 'link/s')])
      expect(() => checkSocketPath(path, folders)).toThrow(
        expect.objectContaining(expectedError('USAGE', 'where agents can write')) as Error,
      );
  });

  test('lets a server listen elsewhere', () => {
    expect(() => checkSocketPath(join(other, 'not-there/s'), folders)).not.toThrow();
  });
});

describe('checkListen', () => {
  test('lets a server listen on loopback', () => {
    expect(() => checkListen(['127.0.0.1', '::1', 'localhost'], plain)).not.toThrow();
    expect(() => checkListen([], plain)).not.toThrow();
  });

  test.each(['0.0.0.0', '::', '192.168.1.5', 'agents.example.com'])('refuses %s in the open', (host) => {
    expect(() => checkListen(['127.0.0.1', host], plain)).toThrow(
      expect.objectContaining(expectedError('USAGE', `${host} can be reached from other machines`)) as Error,
    );
  });

  test('lets it listen everywhere behind a proxy', () => {
    expect(() => checkListen(['0.0.0.0', '::'], { ...plain, isBehindProxy: true })).not.toThrow();
  });

  test('names what is missing: a certificate, or that it is used', () => {
    expect(() => checkListen(['0.0.0.0'], plain)).toThrow('set "tls_cert" and "tls_key"');
    expect(() => checkListen(['0.0.0.0'], { ...plain, hasCertificate: true })).toThrow(
      'listen by https:// instead of http://',
    );
  });
});
