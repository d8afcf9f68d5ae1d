import { userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';

const nowhere = { DOCKER_HOST: 'unix:///nowhere/docker.sock' };

describe('cai build', () => {
  test('explains itself', async () => {
    const { status, stdout } = await runHere(['build', '--help'], userWith(''));

    expect(status).toBe(0);
    for (const option of ['--agent', '--workspace', '--no-cache', '--upgrade', '--context', '--quiet'])
      expect(stdout).toContain(option);
  });

  test('says what is wrong with the engine, and exits with 11', async () => {
    const { status, stdout, stderr } = await runHere(['build'], userWith('', nowhere));

    expect({ status, stdout }).toEqual({ status: 11, stdout: '' });
    expect(stderr).toMatch(/^cai: .*\/nowhere\/docker\.sock/);
  });

  test('refuses an agent that is none, before it looks for an engine', async () => {
    const { status, stderr } = await runHere(['build', '--agent', 'nobody'], userWith('', nowhere));

    expect(status).toBe(2);
    expect(stderr).toMatch(/^cai: Unsupported agent: nobody/);
  });

  test.each([[['--unknown']], [['claude', 'extra']]])('refuses %j', async (args) => {
    const { status, stderr } = await runHere(['build', ...args], userWith('', nowhere));

    expect(status).toBe(2);
    expect(stderr).toMatch(/^cai: .*see "cai build --help"\n$/);
  });

  test.each([[['nobody']], [['nobody', '--agent', 'nobody']]])(
    'takes the name of the agent: cai build %j',
    async (args) => {
      const { status, stderr } = await runHere(['build', ...args], userWith('', nowhere));

      expect(status).toBe(2);
      expect(stderr).toMatch(/^cai: Unsupported agent: nobody/);
    },
  );

  test('refuses two names of agents', async () => {
    const { status, stderr } = await runHere(['build', 'claude', '--agent', 'codex'], userWith('', nowhere));

    expect(status).toBe(2);
    expect(stderr).toBe('cai: "claude" and --agent codex name two agents: leave one out\n');
  });

  test('takes the agent from the configuration where none is named', async () => {
    const user = userWith('[agent]\ndefault = "nobody"\n', nowhere);

    const { status, stderr } = await runHere(['build'], user);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^cai: Unsupported agent: nobody/);
  });
});
