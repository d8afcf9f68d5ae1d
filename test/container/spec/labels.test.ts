import { configHash } from '../../../src/container/spec/labels';
import { settings } from '../given';

describe('configHash', () => {
  it('changes with every setting', () => {
    const changed = [
      { hostname: 'h' },
      { workingFolder: '/elsewhere' },
      { binds: [{ source: '/a', target: '/a', isReadOnly: false, identity: '1:1', isRoot: true }] },
      { binds: [{ source: '/a', target: '/a', isReadOnly: true, identity: '1:1', isRoot: true }] },
      { data: 'workspace' as const },
      { memoryBytes: 1 },
      { memoryAtMostBytes: 1 },
      { cpus: 1 },
      { pids: 7 },
      { idleMs: 7 },
      { extraHosts: ['a:1.2.3.4'] },
      { certificates: 'PEM' },
      { filesHash: 'other' },
      { authorizedKey: 'other' },
    ].map((change) => configHash(settings(change)));

    expect(new Set([configHash(settings()), ...changed]).size).toBe(changed.length + 1);
  });

  it('does not depend on the numbers of files, which can change when the machine is started', () => {
    const [bind] = settings().binds;

    expect(configHash(settings({ binds: [{ ...bind!, identity: '3:4' }] }))).toBe(configHash(settings()));
  });

  it('does not depend on the order in which settings were written', () => {
    const given = settings();
    const reversed = Object.fromEntries(Object.entries(given).reverse()) as unknown as typeof given;

    expect(configHash(reversed)).toBe(configHash(given));
  });
});
