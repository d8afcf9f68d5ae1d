import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { placeholderOf, SignIns } from '../../../src/network/keys/kept-sign-in';
import { Host } from '../../../src/system/host';
import { newFolder } from '../../support/temp-folder';

const signIn = {
  id: '0123456789ab',
  generation: 1,
  tokens: { access: 'sk-ant-oat01-the-access-token' },
  answer: {},
};

/** Somebody whose keyring's program does as the script says: it has `$STORE`, a file, and its first argument. */
function userWith(name: string, script: string): Host {
  const home = newFolder();
  mkdirSync(join(home, 'bin'));
  const program = join(home, 'bin', name);
  writeFileSync(program, `#!/bin/sh\nSTORE=${home}/store\n${script}\n`);
  chmodSync(program, 0o755);
  return new Host({ HOME: home, PATH: join(home, 'bin') });
}

const secretTool = 'case $1 in lookup) /bin/cat $STORE;; store) /bin/cat > $STORE;; esac';
const security =
  'case $1 in find-generic-password) /bin/cat $STORE;; -i) read -r line; echo "${line##* -w }" > $STORE;; esac';

const users = [
  ['secret-tool', secretTool],
  ['security', security],
] as const;

async function keptBy(host: Host) {
  const signIns = new SignIns(host, { agent: 'claude', workspace: undefined, isForAll: true });
  await signIns.own.keep(signIn);
  const file = join(host.folders.state, 'credentials/sign-ins/claude/all-workspaces.json');
  return { signIns, text: () => readFileSync(file, 'utf8') };
}
const placeholder = placeholderOf(signIn, 'access')!;

describe('a sign-in of a user with a keyring', () => {
  it.each(users)('is sealed by a key in it, which %s has', async (name, script) => {
    const host = userWith(name, script);
    const { signIns, text } = await keptBy(host);

    expect(text()).not.toContain('the-access-token');
    expect(text()).not.toContain(readFileSync(join(host.home, 'store'), 'utf8').trim());
    // Another process.
    const later = new SignIns(host, { agent: 'claude', workspace: undefined, isForAll: true });
    await later.unlock();
    expect(later.tokenFor(placeholder)).toBe('sk-ant-oat01-the-access-token');
    expect(signIns.own.read()).toEqual(signIn);
  });

  it('leaves a keyring alone for a while that does not answer', async () => {
    const host = userWith('secret-tool', secretTool);
    await keptBy(host);
    const program = join(host.home, 'bin/secret-tool');
    const script = readFileSync(program);
    const later = new SignIns(host, { agent: 'claude', workspace: undefined, isForAll: true });

    writeFileSync(program, '#!/nowhere\n');
    await later.unlock();
    expect(() => later.tokenFor(placeholder)).toThrow(/cannot be read/);
    writeFileSync(program, script);
    await later.unlock();

    expect(() => later.tokenFor(placeholder)).toThrow(/cannot be read/);
  });

  it('keeps nothing else waiting while the keyring asks for a password, and asks once', async () => {
    const host = userWith('secret-tool', secretTool);
    await keptBy(host);
    const [asked, answers] = [join(host.home, 'asked'), join(host.home, 'answers')];
    spawnSync('mkfifo', [answers]);
    const waiting = `#!/bin/sh\necho >> ${asked}\nread -r line < ${answers}\n/bin/cat ${host.home}/store\n`;
    writeFileSync(join(host.home, 'bin/secret-tool'), waiting);
    const later = new SignIns(host, { agent: 'claude', workspace: undefined, isForAll: true });

    const both = Promise.all([later.unlock(), later.unlock()]);
    await writeFile(answers, 'the password\n');
    await both;

    expect(later.tokenFor(placeholder)).toBe('sk-ant-oat01-the-access-token');
    expect(readFileSync(asked, 'utf8')).toBe('\n');
  });

  it('cannot be read without the keyring, but found and replaced', async () => {
    const host = userWith('secret-tool', secretTool);
    const { text } = await keptBy(host);
    const locked = new Host({ ...host.env, PATH: '/nowhere' });
    const signIns = new SignIns(locked, { agent: 'claude', workspace: undefined, isForAll: true });

    await signIns.unlock();
    expect(() => signIns.tokenFor(placeholder)).toThrow(
      /is sealed by a key in your keyring, which cannot be read: unlock the keyring, or run "cai login claude"$/,
    );
    expect(placeholderOf(signIns.outline()!, 'access')).toBe(placeholder);
    await signIns.own.keep(signIn);
    expect(text()).toContain('the-access-token');
  });

  it('cannot be read by another key', async () => {
    const host = userWith('secret-tool', secretTool);
    const { signIns } = await keptBy(host);
    writeFileSync(join(host.home, 'store'), 'ab'.repeat(32));
    const later = new SignIns(host, { agent: 'claude', workspace: undefined, isForAll: true });

    await later.unlock();
    expect(() => later.own.read()).toThrow(/sealed by a key/);
    expect(signIns.own.read()).toEqual(signIn);
  });

  it.each(['exit 1', 'case $1 in store) exit 1;; esac', 'echo no key'])(
    'is kept as it is where the keyring does not work: %s',
    async (script) => {
      const { signIns, text } = await keptBy(userWith('secret-tool', script));

      expect(text()).toContain('the-access-token');
      expect(signIns.own.read()).toEqual(signIn);
    },
  );
});

const tools = ['secret-tool', 'gnome-keyring-daemon', 'dbus-daemon'];
const missing = tools.filter((name) => spawnSync('which', [name]).status !== 0);
const isThere = missing.length === 0;

(isThere ? test : test.skip)(
  isThere ? 'a real keyring seals and unseals' : `a real keyring (this machine lacks ${missing.join(', ')})`,
  async () => {
    const home = newFolder();
    const bus = spawn('dbus-daemon', ['--session', '--nofork', '--print-address']);
    const [address] = (await once(bus.stdout, 'data')) as [Buffer];
    const env = {
      HOME: home,
      XDG_RUNTIME_DIR: home,
      PATH: process.env.PATH,
      DBUS_SESSION_BUS_ADDRESS: String(address).trim(),
    };
    try {
      // It goes on in the background once it can be used, and ends with the bus.
      const starting = ['--unlock', '--daemonize', '--components=secrets'];
      const ring = spawn('gnome-keyring-daemon', starting, { env, stdio: ['pipe', 'ignore', 'ignore'] });
      ring.stdin.end('the password');
      expect(await once(ring, 'exit')).toEqual([0, null]);

      const { signIns, text } = await keptBy(new Host(env));

      expect(text()).toContain('"sealed"');
      expect(text()).not.toContain('the-access-token');
      const later = new SignIns(new Host(env), { agent: 'claude', workspace: undefined, isForAll: true });
      await later.unlock();
      expect(later.own.read()).toEqual(signIn);
      expect(signIns.own.read()).toEqual(signIn);
    } finally {
      bus.kill();
    }
  },
);
