import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configKeys } from '../../../src/config/config';
import { userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { newFolder } from '../../support/temp-folder';

interface Report {
  readonly workspace: string | null;
  readonly keys: readonly { name: string; value: unknown; from: string[] }[];
  readonly notices: string[];
}

let root: string;
let file: string;

beforeEach(() => {
  root = newFolder();
  file = join(root, '.containai/config.toml');
  mkdirSync(join(root, '.containai'));
  mkdirSync(join(root, 'src'));
});

describe('cai config', () => {
  test('shows each value of a workspace and where it comes from, and says what is ignored', async () => {
    const user = userWith('[container]\npids = 200\n[agents.mine]\ncommand = ["mine", "--acp"]');
    writeFileSync(file, 'container.pids = 100\nimage.base = "evil"');

    const { status, stdout, stderr } = await runHere(['config'], { ...user, cwd: join(root, 'src') });

    expect(status).toBe(0);
    const rows = stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(rows).toContainEqual(['KEY', 'VALUE', 'FROM']);
    expect(rows).toContainEqual(['agent.default', '"claude"', 'default']);
    expect(rows).toContainEqual(['agents.mine.command', '["mine","--acp"]', `${user.file}:4`]);
    expect(rows).toContainEqual(['container.pids', '100', `${file}:1`]);
    expect(rows).toContainEqual(['container.memory', '-', 'default']);
    expect(stderr).toMatch(/^cai: .*config\.toml:2: "image\.base" is ignored, .* cai trust ".*"\n$/);
  });

  test('shows what is of one agent together', async () => {
    const user = userWith('[agents.b]\ncommand = ["b"]\nname = "B"\n[agents.a]\ncommand = ["a"]\nname = "A"');

    const { stdout } = await runHere(['config'], user);

    expect(stdout.match(/^agents\.\S+/gm)).toEqual(['agents.b.command', 'agents.b.name', 'agents.a.command', 'agents.a.name']); // prettier-ignore
  });

  test('shows the same as JSON', async () => {
    const user = userWith('[network]\nhttp_proxy = "http://me:hunter2@proxy.example:3128"');
    writeFileSync(file, 'acp.terminal = "off"');

    const { status, stdout, stderr } = await runHere(['config', '--json', '--workspace', root], user);

    const { workspace, keys, notices } = JSON.parse(stdout) as Report;
    expect({ status, stderr, workspace }).toEqual({ status: 0, stderr: '', workspace: root });
    expect(keys).toContainEqual({ name: 'container.cpus', value: null, from: ['default'] });
    expect(keys).toContainEqual({
      name: 'network.http_proxy',
      value: 'http://***@proxy.example:3128',
      from: [`${user.file}:2`],
    });
    expect(stdout).not.toContain('hunter2');
    expect(keys).toHaveLength(configKeys.filter(({ path }) => path.length === 2).length);
    expect(notices).toEqual([
      `${file}:1: "acp.terminal" is ignored, because a repository cannot set it: if you want it, put it into ${user.file}`,
    ]);
  });

  test("shows the user's file alone in a folder that cannot be a workspace", async () => {
    const user = userWith('[acp]\nidle = "1h"');

    const { status, stdout } = await runHere(['config', '--json'], { ...user, cwd: '/' });

    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ workspace: null, notices: [] });
    expect(stdout).toContain('"1h"');
  });

  test.each([
    ['a folder that cannot be a workspace', ['--workspace', '/'], /^cai: "\/" cannot be a workspace/],
    ['an unknown option', ['--jsno'], /^cai: unknown option '--jsno'.*see "cai config --help"\n$/],
    ['an argument', ['x'], /^cai: too many arguments.*\n$/],
  ])('ends with 2 for %s', async (_, args, message) => {
    const { status, stdout, stderr } = await runHere(['config', ...args], userWith(''));

    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(message);
  });

  test('ends with 2 for an invalid file of the repository, and names the place', async () => {
    writeFileSync(file, '[container]\npid = 100');

    const { status, stderr } = await runHere(['config'], { ...userWith(''), cwd: root });

    expect(status).toBe(2);
    expect(stderr).toBe(
      `cai: ${file}:2:1: "container.pid" is not a known key: did you mean "container.pids"?\n`,
    );
  });
});
