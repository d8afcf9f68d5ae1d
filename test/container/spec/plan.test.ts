import { engineProfile } from '../../../src/container/engine/container-info';
import { planOf } from '../../../src/container/spec/plan';
import { label, recordedOf } from '../../../src/container/spec/labels';
import type { Settings } from '../../../src/container/spec/spec';
import { circumstances, settings } from '../given';

/** What is asked for with these changes. */
const plan = (changes: Partial<Settings> = {}, engine: Partial<typeof circumstances.engine> = {}) =>
  planOf(
    settings(changes),
    { ...circumstances, engine: { ...circumstances.engine, ...engine } },
    'SHA256:key',
  );

describe('planOf', () => {
  it('takes all rights away and gives none', () => {
    expect(plan().rights).toEqual({
      capabilities: [],
      isConfined: true,
      hasNetwork: false,
      seccomp: circumstances.engine.seccomp,
      cgroups: 'private',
      memoryBytes: 4 * 2 ** 30,
      pids: 1024,
      publishedOn: [],
    });
  });

  it('leaves the engine its own profile of system calls where it takes no other', () => {
    const { rights, labels } = plan({}, { seccomp: engineProfile });

    expect(rights.seccomp).toBe(engineProfile);
    expect(JSON.parse(labels[label.spec]!)).toMatchObject({ seccomp: 'default' });
  });

  it('mounts the workspace at its own path, the data volume, and nothing else', () => {
    expect(plan().mounts.map(({ type, source, target }) => `${type} ${source} ${target}`)).toEqual([
      'volume cai-data-claude-1000 /home/agent/.data',
      'bind /home/u/app /home/u/app',
    ]);
  });

  it('gives it a host name where the agent needs one, and leaves that to the engine otherwise', () => {
    expect(plan({ hostname: 'cai-x' }).hostname).toBe('cai-x');
    expect(plan()).not.toHaveProperty('hostname');
  });

  it('gives this machine a name where ports of it are reached, beside those of services', () => {
    const services = [{ name: 'db', image: 'postgres', env: [], after: [], ends: false, memoryBytes: 1 }];

    expect(plan()).not.toHaveProperty('loopbackNames');
    expect(plan({ namesMachine: true, services }).loopbackNames).toEqual(['db', 'host.docker.internal']);
  });

  it('records what it asks for', () => {
    expect(JSON.parse(plan().labels[label.spec]!)).toEqual(recordedOf(settings(), circumstances));
    expect(plan().labels).toMatchObject({
      'containai.managed': 'true',
      'containai.workspace': '/home/u/app',
      'containai.agent': 'claude',
      'containai.host-key': 'SHA256:key',
    });
  });

  it.each([
    [4 * 2 ** 30, 2 * 2 ** 30],
    [64 * 2 ** 30, 8 * 2 ** 30],
  ])('leaves a machine with %d bytes of memory half of it: %d', (ofMachine, memoryBytes) => {
    expect(plan({}, { memoryBytes: ofMachine }).rights.memoryBytes).toBe(memoryBytes);
  });

  it.each([
    [{ memoryBytes: 1 }, 1],
    [{ memoryBytes: 8 * 2 ** 30 }, 8 * 2 ** 30],
    [{ memoryAtMostBytes: 3 }, 3],
    [{ memoryAtMostBytes: 8 * 2 ** 30 }, 4 * 2 ** 30],
  ])("takes the user's memory as it is, and a repository's for the most: %j", (wanted, expected) => {
    expect(plan(wanted).rights.memoryBytes).toBe(expected);
  });

  it.each([
    [{}, 2 ** 30],
    [{ memoryBytes: 2 ** 30 }, 2 ** 28],
    [{ memoryBytes: 2 ** 26 }, 2 ** 26],
    [{ memoryBytes: 2 ** 30, shmBytes: 2 ** 29 }, 2 ** 29],
  ])('gives it a quarter of its memory to share, but 64 MiB, unless it is told: %j', (wanted, expected) => {
    expect(plan(wanted).shmBytes).toBe(expected);
  });

  it('asks for no more processors than there are', () => {
    expect([{}, { cpus: 1.5 }, { cpus: 64 }, { cpus: 1e300 }].map((each) => plan(each).cpus)).toEqual([
      0, 1.5, 4, 4,
    ]);
  });

  it('asks for no limit that the engine cannot hold', () => {
    const can = { ...circumstances.engine.can, memory: false, pids: false, cpus: false };
    const { rights, cpus, labels } = plan({ cpus: 2 }, { can });

    expect({ ...rights, cpus }).toMatchObject({ memoryBytes: 0, pids: 0, cpus: 0 });
    expect(JSON.parse(labels[label.spec]!)).toMatchObject({ memoryBytes: 0, pids: 0 });
  });

  it('gives root on a rootless engine what sshd needs, and tells agents that this is a sandbox', () => {
    const { rights, env } = planOf(settings(), { ...circumstances, user: { uid: 0, gid: 0 } }, 'k');

    expect(rights.capabilities).toEqual(['SETGID', 'SETUID', 'SYS_CHROOT']);
    expect(env).toMatchObject({ IS_SANDBOX: '1' });
    expect(plan().env).not.toHaveProperty('IS_SANDBOX');
  });

  it('gives a workspace a data volume of its own when that is asked for', () => {
    const sourceOf = (changes: Partial<Settings>) =>
      plan({ data: 'workspace', ...changes }).mounts[0]!.source;

    expect(sourceOf({})).toMatch(/^cai-app-[0-9a-f]{12}-data$/);
    expect(sourceOf({ workspace: '/home/u/other/app' })).not.toBe(sourceOf({}));
    // Who gets a new key keeps what the agent keeps.
    expect(sourceOf({ authorizedKey: 'ssh-ed25519 BBBB' })).toBe(sourceOf({}));
  });

  it.each(['../../etc', 'a b', 'X', '.hidden'])(
    'names a volume for the agent %j that engines take',
    (agent) => {
      expect(plan({ agent }).mounts[0]!.source).toMatch(/^cai-data-[0-9a-f]{12}-1000$/);
    },
  );
});
