/** Statement A5: an agent with arguments in a terminal, as an editor starts it to sign in. */
import { runInTerminal, userWith, type CliResult } from '../support/cli';

/** Runs an agent that is this shell script, with the usual arguments of an editor. */
async function signIn(script: string, env: NodeJS.ProcessEnv = {}): Promise<CliResult> {
  const config = `[agents.login]\ncommand = ["sh", "-c", ${JSON.stringify(script)}, "login", "own"]\n`;
  return await runInTerminal(['--acp', 'login', 'setup', '--with', 'a b', '$X'], userWith(config, env));
}

describe('an agent with arguments in a terminal, without a container', () => {
  test('A5 gets the arguments behind its own, and its status is that of cai', async () => {
    const result = await signIn('printf "<%s>" "$@"; exit 7');

    expect(result).toEqual({ status: 7, stdout: '<own><setup><--with><a b><$X>', stderr: '' });
  });

  test('A5 has the terminal for itself', async () => {
    expect(await signIn('test -t 0 && test -t 1 && test -t 2')).toMatchObject({ status: 0, stdout: '' });
  });

  test('A5 gets the environment that the editor gives', async () => {
    const script = 'printf "%s %s" "$LOGIN_TOKEN" "$CAI_NO_UPDATE_CHECK"';

    expect(await signIn(script, { LOGIN_TOKEN: 'from the editor' })).toMatchObject({
      status: 0,
      stdout: 'from the editor 1',
    });
  });

  test('A5 that is ended by a signal gives 128 and its number', async () => {
    expect(await signIn('kill -TERM $$')).toMatchObject({ status: 143 });
  });

  test('A5 that is not there is named', async () => {
    const user = userWith('', { CAI_ACP_TEST_MODE: '1' });

    const { status, stdout } = await runInTerminal(['--acp', 'no-such-agent', 'login'], user);

    expect(status).toBe(11);
    expect(stdout).toMatch(/^cai: agent "no-such-agent" could not be started: /);
  });
});
