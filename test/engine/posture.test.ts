import { statSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { ownMountPoints as own, testUnless } from './engines';
import { Place, buildTimeoutMs } from './place';
import { Cai, docker, newWorkspace, user } from './support';

let place: Place;

beforeAll(async () => (place = await new Place().opened()), buildTimeoutMs);

/** What a shell prints inside; complaints of its commands are theirs. */
async function shell(script: string): Promise<string> {
  return (await place.run(['sh', '-c', script])).stdout.toString().trimEnd();
}

describe('a command in a container', () => {
  test('has no rights, and no way to any', async () => {
    const status = await place.prints(['cat', '/proc/self/status']);
    const fields = new Map(status.split('\n').map((line) => line.split(/:\s*/, 2) as [string, string]));

    expect(Object.fromEntries(fields)).toMatchObject({
      CapInh: '0000000000000000',
      CapPrm: '0000000000000000',
      CapEff: '0000000000000000',
      CapBnd: '0000000000000000',
      CapAmb: '0000000000000000',
      NoNewPrivs: '1',
      // A filter is in force. Source: proc_pid_status(5).
      Seccomp: '2',
    });
  });

  test('is the ordinary user of the host, as is all else there', async () => {
    const ids = `grep -hE '^(Uid|Gid|CapEff|NoNewPrivs|Seccomp):' /proc/[0-9]*/status | sort -u`;

    expect((await shell(ids)).split('\n')).toEqual([
      'CapEff:\t0000000000000000',
      `Gid:${`\t${user.gid}`.repeat(4)}`,
      'NoNewPrivs:\t1',
      'Seccomp:\t2',
      `Uid:${`\t${user.uid}`.repeat(4)}`,
    ]);
    expect(await shell('whoami; id -G; getent passwd agent')).toBe(
      `agent\n${user.gid}\nagent:x:${user.uid}:${user.gid}:agent:/home/agent:/bin/sh`,
    );
  });

  test('cannot become anybody else', async () => {
    for (const each of ['su root -c id', 'setpriv --reuid 0 id', 'chroot / id']) {
      const { status, stdout } = await place.run(['sh', '-c', each]);
      expect([each, status === 0, stdout.toString()]).toEqual([each, false, '']);
    }
  });

  testUnless('no user namespaces')('cannot be root in a user namespace of its own', async () => {
    const { status, stdout } = await place.run(['unshare', '--user', '--map-root-user', 'id']);

    expect([status === 0, stdout.toString()]).toEqual([false, '']);
  });

  test('writes files that belong to the user of the host', async () => {
    await place.prints(['sh', '-c', 'mkdir made && echo text > made/file']);

    for (const path of ['made', 'made/file'])
      expect(statSync(`${place.workspace}/${path}`)).toMatchObject({ uid: user.uid, gid: user.gid });
  });

  test('sees what happens to the workspace on the host', async () => {
    writeFileSync(`${place.workspace}/from-outside`, 'text', { mode: 0o644 });

    expect(await shell(`cat from-outside '${place.workspace}/from-outside' ~/workspace/from-outside`)).toBe(
      'texttexttext',
    );
  });

  test('has no engine to ask', async () => {
    expect(
      await shell(
        'find / -type s ! -path /run/cai/door/ssh 2>/dev/null; env | grep -i docker; command -v docker',
      ),
    ).toBe('');
  });

  test('can change nothing of what keeps it in', async () => {
    const targets = '/run/cai/authorized_keys /run/cai/sshd_config /run/cai/supervisor /run/cai/keeper /etc/passwd /etc/group /etc/gitconfig /usr/sbin/sshd'; // prettier-ignore
    const tries = 'echo x >> $each; rm -f $each; mv $each $each.x; chmod 777 $each; ln -sf /tmp/x $each';

    // What each command touches is told without its time.
    const look = `sha256sum ${targets}; ls -lan --ignore=used /run/cai /etc/passwd /etc/group /usr/sbin/sshd; stat -c '%A %u %g %s' /run/cai/used`;
    const before = await shell(look);
    await shell(
      `exec 2> /dev/null; for each in ${targets}; do ${tries}; done; touch /run/cai/new; mv /run/cai /run/x`,
    );

    expect(before.split('\n').length).toBeGreaterThan(15);
    expect(await shell(look)).toBe(before);
  });
});

describe('the mounts of a container', () => {
  const isOfKernel = (path: string) =>
    /^\/(?:dev|proc|sys)(?:\/|$)|^\/(?:usr\/)?sbin\/docker-init$/.test(path);

  async function mountPoints(from: Place): Promise<string[]> {
    const lines = (await from.prints(['cat', '/proc/self/mountinfo'])).split('\n');
    // Source: proc_pid_mountinfo(5), the fifth field.
    return lines.map((line) => line.split(' ')[4]!).filter((path) => !isOfKernel(path)).sort(); // prettier-ignore
  }

  async function sources(from: Place): Promise<string[]> {
    const lines = await from.inspect(
      '{{range .Mounts}}{{.Type}} {{.Source}} {{.Destination}}{{println}}{{end}}',
    );
    return lines.split('\n').filter(Boolean).sort();
  }

  /** A repository that can be written, with what is protected in it. */
  function repository(path: string): string[] {
    return ['', '/.git', '/.git/config', '/.git/hooks'].map((below) => path + below);
  }

  test('are the workspace and the data volume', async () => {
    const parts = repository(place.workspace);
    expect(await mountPoints(place)).toEqual([...own, '/home/agent/.data', ...parts].sort());
    const [volume, ...binds] = (await sources(place)).reverse();
    expect(binds.reverse()).toEqual(parts.map((part) => `bind ${part} ${part}`));
    const name = `cai-${basename(place.workspace)}-[0-9a-f]{12}-data`;
    expect(volume).toMatch(new RegExp(`^volume \\S*/${name}/_data /home/agent/.data$`));
  });

  test('are the folders that the user has configured, too', async () => {
    const [data, notes] = [newWorkspace('data'), newWorkspace('notes')];
    const mounts = `[[mounts]]\npath = "${data}"\n[[mounts]]\npath = "${notes}"\nread_only = true\n`;
    const wide = await new Place(new Cai(mounts)).opened();

    expect(await mountPoints(wide)).toEqual(
      [...own, '/home/agent/.data', ...repository(wide.workspace), ...repository(data), notes].sort(),
    );
    await wide.prints(['touch', `${data}/new`]);
    expect((await wide.run(['touch', `${notes}/new`])).stderr).toMatch(/Read-only file system/);
  });

  test('are the data volume alone where there is no workspace', async () => {
    const args = ['exec', '--quiet', '--no-workspace', '--', 'sh', '-c'];
    const { stdout } = await place.cai.run([...args, 'pwd; cut -d" " -f5 /proc/self/mountinfo; hostname']);

    const [folder, ...points] = stdout.toString().trimEnd().split('\n');
    const name = points.pop()!;
    expect(folder).toBe('/home/agent');
    expect(points.filter((path) => !isOfKernel(path)).sort()).toEqual([...own, '/home/agent/.data'].sort());
    expect(await docker('inspect', '--format', '{{.HostConfig.AutoRemove}}', name)).toBe('true');
  });
});
