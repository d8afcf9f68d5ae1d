import { readEntry } from '../../../src/agent/registry/entry';
import { commandOf, installationOf } from '../../../src/agent/registry/installation';

const entry = (distribution: object) =>
  readEntry({ id: 'some', name: 'Some', version: '1.0.0', description: 'x', distribution });
const npx = { package: '@some/agent@1.0.0', args: ['--acp'], env: { A: 'b' }, cmd: 'agent' };
const uvx = { package: 'agent[acp]==1.0.0', args: ['serve'] };
const binary = { 'linux-aarch64': { archive: 'https://example.com/a.zip', cmd: './bin/a', args: ['acp'] } };

describe('installationOf', () => {
  test('installs a package of npm, where there is one', () => {
    expect(installationOf(entry({ npx, uvx, binary }))).toEqual({
      program: 'some',
      what: '@some/agent@1.0.0 (npm)',
      env: { A: 'b' },
      from: { kind: 'npm', spec: '@some/agent@1.0.0', name: '@some/agent', cmd: 'agent' },
    });
    expect(commandOf(entry({ npx, uvx, binary }))).toEqual(['--acp']);
  });

  test('installs a package of PyPI, where npm has none', () => {
    expect(installationOf(entry({ uvx, binary })).from).toEqual({
      ...{ kind: 'pypi', spec: 'agent[acp]==1.0.0', name: 'agent[acp]' },
    });
    expect(commandOf(entry({ uvx, binary }))).toEqual(['serve']);
  });

  test('takes an archive, under the name that is asked for', () => {
    expect(installationOf(entry({ binary }), 'known-agent')).toMatchObject({
      program: 'known-agent',
      what: 'https://example.com/a.zip',
      from: { kind: 'archive', targets: { aarch64: { cmd: 'bin/a' } } },
    });
    expect(commandOf(entry({ binary }))).toEqual(['acp']);
  });
});
