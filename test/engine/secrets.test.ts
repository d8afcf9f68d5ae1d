import { readdirSync } from 'node:fs';
import { commandOf } from '../support/processes';
import { Place, buildTimeoutMs } from './place';
import { Cai, docker } from './support';

/** Parts that are only put together where they are used, so that no process list has them from here. */
const [kept, imported, given] = ['kept', 'imported', 'given'].map((name) =>
  [name, process.pid, 'secret'].join('-'),
);
const env = { KEPT: kept, IMPORTED: imported, GIVEN: given };

let place: Place;

beforeAll(async () => {
  place = await new Place(new Cai('[env]\nimport = ["IMPORTED", "NOT_SET"]\n')).opened();
}, buildTimeoutMs);

/** The command lines of all processes of this machine, those in containers included. */
function commandLines(): string {
  const ids = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name));
  return ids.map(commandOf).join('\n');
}

describe('the environment of the host', () => {
  test('does not get into a container', async () => {
    const names = await place.prints(['sh', '-c', 'env -0 | cut -z -d= -f1 | tr "\\0" "\\n"'], { env });

    const host = Object.keys({ ...place.cai.env, ...env, SSH_AUTH_SOCK: '' });
    const expected = ['PATH', 'HOME', 'IMPORTED'];
    expect(
      names
        .split('\n')
        .filter((name) => host.includes(name))
        .sort(),
    ).toEqual(expected.sort());
    expect(await place.prints(['printenv', 'HOME', 'PATH', 'IMPORTED'], { env })).toBe(
      `/home/agent\n${await place.inspect('{{range .Config.Env}}{{println .}}{{end}}').then((lines) => /^PATH=(.*)$/m.exec(lines)?.[1])}:/home/agent/.local/bin\n${imported}`,
    ); // prettier-ignore
  });

  test('gets to a command as far as the user lets it, and no one else sees that', async () => {
    const program = place.start(['sh', '-c', 'echo "$IMPORTED $GIVEN"; read line; cat ~/.bash_history 2>&1'], {
      env: { ...env, CAI_LOG_LEVEL: 'trace' },
      options: ['-e', 'GIVEN'],
    }); // prettier-ignore
    await program.says(`${imported} ${given}`);

    const [id] = await place.containers();
    const seen = {
      processes: commandLines(),
      top: await docker('top', id!, '-eo', 'pid,args'),
      inspect: await docker('inspect', id!),
      log: await docker('logs', id!),
    };
    program.child.stdin.end('\n');
    const ours = (await program.ends()).stderr;

    // This is where it would stand.
    expect(seen.processes).toContain(place.workspace);
    expect(seen.top).toContain('read line');
    expect(seen.inspect).toContain('CLAUDE_CONFIG_DIR');
    for (const secret of [kept!, imported!, given!])
      expect(Object.entries({ ...seen, ours }).filter(([, text]) => text.includes(secret)).map(([where]) => where)).toEqual([]); // prettier-ignore
  });

  test('stays out where the repository asks for it', async () => {
    const other = await new Place(place.cai).opened();
    await other.prints([
      'sh',
      '-c',
      'mkdir .containai && echo "env.import = [\\"KEPT\\"]" > .containai/config.toml',
    ]);

    const { status, stdout, stderr } = await other.cai.run(
      ['exec', '-w', other.workspace, '--', 'sh', '-c', 'echo "[$KEPT]"'],
      { env },
    );

    expect({ status, stdout: stdout.toString() }).toEqual({ status: 0, stdout: '[]\n' });
    expect(stderr).toMatch(/config.toml:1: "env.import" is ignored/);
  });
});
