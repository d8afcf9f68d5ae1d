import { fakeEngine } from '../../container/fake-engine';
import { runCli, userWith } from '../../support/cli';

/** What `cai rm` says where the engine has nothing of ours. */
async function toldWithNothing(...args: string[]) {
  const { address } = await fakeEngine({
    'GET /_ping': { headers: { 'api-version': '1.47' }, body: 'OK' },
    'GET /containers/json': { body: [] },
    'GET /volumes': { body: { Volumes: [] } },
  });
  const { status, stderr } = await runCli(['rm', ...args], userWith('', { DOCKER_HOST: address.endpoint }));
  return { status, stderr };
}

describe('cai rm where nothing is', () => {
  test.each([
    [['--all', '--volumes'], 'no container and no volume'],
    [['--all', '--volumes', '--agent', 'x'], 'no container and no volume for the agent "x"'],
    [['--all'], 'there is no container'],
    [
      ['--no-workspace', '--volumes'],
      'there is no container without a workspace; what no container uses goes with: cai rm --volumes --all',
    ],
  ])('does not advise the command that was typed: cai rm %j', async (args, why) => {
    expect(await toldWithNothing(...args)).toEqual({
      status: 0,
      stderr: `cai: nothing to remove: ${why}\n`,
    });
  });
});
