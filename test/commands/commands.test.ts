import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { commands } from '../../src/commands/commands';
import { cai, runCli, userWith } from '../support/cli';
import { runHere } from '../support/cli-here';
import { newFolder } from '../support/temp-folder';

describe('the commands about containers', () => {
  // All are in one bundle, so that one real start shows that it has them.
  test.each([...Object.keys(commands).map((name) => [name, runHere] as const), ['exec', runCli] as const])(
    'explain themselves on stdout: cai %s --help',
    async (name, run) => {
      const { status, stdout, stderr } = await run([name, '--help'], userWith(''));

      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(new RegExp(`^Usage: cai ${name} `));
      expect(stdout).toContain('-h, --help');
    },
  );

  test('explain themselves in lines that are wrapped once', async () => {
    const { stdout } = await runHere(['shell', '--help'], userWith(''));

    const [, , ...lines] = stdout.split('\n');
    const description = lines.slice(0, lines.indexOf(''));
    expect(description.join(' ')).toMatch(/^Opens a shell .* agents have\.$/);
    // All but the last are as long as they can be.
    for (const [index, line] of description.slice(0, -1).entries()) {
      expect(`${line} ${description[index + 1]!.split(' ')[0]}`.length).toBeGreaterThan(76);
    }
  });

  test.each([
    [
      'stop',
      /starts them again. A container whose configuration, image or folders have changed since is recreated/,
    ],
    ['exec', /--fresh +recreate the container, which ends all commands in it/],
    ['login', /--fresh +recreate the container, which ends all commands in it/],
  ])('say what becomes of a container and its commands: cai %s', async (name, what) => {
    const { stdout } = await runHere([name, '--help'], userWith(''));

    expect(stdout.replace(/\s+/g, ' ')).toMatch(what);
  });

  test('show no default where there is none', async () => {
    expect((await runHere(['exec', '--help'], userWith(''))).stdout).not.toContain('[]');
  });

  test.each([
    ['exce', 'exec'],
    ['--doctor', 'doctor'],
  ])('are suggested for a slip: cai %s', async (name, meant) => {
    const { stderr } = await runHere([name], userWith(''));

    expect(stderr).toBe(`cai: "${name}" is not a command, did you mean "${meant}"?: see "cai --help"\n`);
  });

  test.each(['runn', '--acpp', '__proto__', 'constructor', ''])('do not include "%s"', async (name) => {
    const { status, stdout, stderr } = await runHere([name], userWith(''));

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toBe(`cai: "${name}" is not a command: see "cai --help"\n`);
  });

  test.each([
    [['ps', '--jsn'], /^cai: unknown option '--jsn' \(Did you mean --json\?\): see "cai ps --help"\n$/],
    [
      ['stop', '--all', '--workspace', '.'],
      /^cai: option '--all' cannot be used with option '-w, --workspace/,
    ],
    [['rm', '--all', '--no-workspace'], /^cai: option '--all' cannot be used with/],
    [['ps', 'x'], /^cai: too many arguments\. Expected 0 arguments but got 1: see "cai ps --help"\n$/],
    [['login'], /^cai: missing required argument 'agent': see "cai login --help"\n$/],
    [['login', 'nobody'], /^cai: Unsupported agent: nobody\n/],
    [['login', 'mine'], /^cai: how to sign in to "mine" is not known: .* "cai login mine -- COMMAND"\n$/],
    [['logout', 'mine'], /^cai: how to sign out of "mine" is not known: /],
    [['logout', 'gemini'], /^cai: gemini has no command to sign out.* Use --yes to agree\.\n$/],
  ])('say what is wrong with the command line: cai %j', async (args, message) => {
    const { status, stdout, stderr } = await runHere(args, userWith('[agents.mine]\ncommand = ["mine"]'));

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  test.each(['0', '65536', 'http', '5173:', ':5173', '1:2:3', '70000:80', '5173.5'])(
    'forward no port "%s"',
    async (port) => {
      const { status, stdout, stderr } = await runHere(['forward', '8080', port], userWith(''));

      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).toBe(
        `cai: "${port}" is not a port: write PORT or LOCAL:PORT, such as 5173 or 8080:5173\n`,
      );
    },
  );

  test.each([
    ['cai', 'doctor'],
    ['cai', '--version'],
    ['cai', '--help'],
    ['cai-cursor', '--help'],
  ])('end without a word when nobody reads what they print: %s %s', async (name, word) => {
    const folder = newFolder();
    const env = { PATH: process.env.PATH, HOME: folder, DOCKER_HOST: 'unix:///no/such/engine.sock' };
    const child = spawn(process.execPath, [join(dirname(cai), name), word], { cwd: folder, env });
    child.stdout.destroy();

    const closed = once(child, 'close') as Promise<[number | null]>;
    const [stderr, [status]] = await Promise.all([text(child.stderr), closed]);

    expect({ status, stderr }).toEqual({ status: 141, stderr: '' });
  });

  test('open no shell without a terminal', async () => {
    const { status, stdout, stderr } = await runHere(['shell'], userWith(''));

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('cai exec -- COMMAND');
  });

  test.each([[['ps']], [['ps', '--json']], [['stop', '--all']], [['rm', '--workspace', '/gone']]])(
    'say what to do without an engine: cai %j',
    async (args) => {
      const options = userWith('', { DOCKER_HOST: 'unix:///no/such/engine.sock' });

      const { status, stdout, stderr } = await runHere(args, options);

      expect({ status, stdout }).toEqual({ status: 11, stdout: '' });
      expect(stderr).toContain('the engine at unix:///no/such/engine.sock');
    },
  );
});

test("the name of an agent stands for the agent's own interface, in a container", async () => {
  const options = userWith('', { DOCKER_HOST: 'unix:///no/such/engine.sock' });

  const { status, stderr } = await runHere(['gemini', '--help'], { ...options, cwd: newFolder() });

  expect(stderr).toContain('is not running');
  expect(status).toBe(11);
});
