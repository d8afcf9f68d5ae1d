import { label } from '../../../src/container/spec/labels';
import { fakeEngine } from '../../container/fake-engine';
import { userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';

/** What a command says where the engine has nothing of ours. */
async function toldWithNothing(command: string, ...args: string[]) {
  const { address } = await fakeEngine({
    'GET /_ping': { headers: { 'api-version': '1.47' }, body: 'OK' },
    'GET /containers/json': { body: [] },
    'GET /volumes': { body: { Volumes: [] } },
  });
  const { status, stderr } = await runHere(
    [command, ...args],
    userWith('', { DOCKER_HOST: address.endpoint }),
  );
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
    expect(await toldWithNothing('rm', ...args)).toEqual({
      status: 0,
      stderr: `cai: nothing to remove: ${why}\n`,
    });
  });
});

test('cai rm --volumes tells which volumes are removed where another one cannot be', async () => {
  const Labels = {
    [label.managed]: 'true',
    [label.agent]: 'claude',
    [label.user]: String(process.getuid!()),
  };
  const volume = (Name: string) => ({ Name, Labels });
  const { address } = await fakeEngine({
    'GET /_ping': { headers: { 'api-version': '1.47' }, body: 'OK' },
    'GET /containers/json': { body: [] },
    'GET /volumes': { body: { Volumes: [volume('one'), volume('two'), volume('three')] } },
    'DELETE /volumes/one': { status: 204 },
    'DELETE /volumes/two': { status: 409, body: { message: 'it is in use' } },
    'DELETE /volumes/three': { status: 204 },
  });

  const { status, stderr } = await runHere(
    ['rm', '--all', '--volumes', '--yes'],
    userWith('', { DOCKER_HOST: address.endpoint }),
  );

  expect(status).toBe(11);
  expect(stderr).toContain('removed the volume one, ');
  expect(stderr).toContain('removed the volume three, ');
  expect(stderr).toMatch(/cannot remove the volume two: it is in use\n$/);
});

describe('a container that is named', () => {
  test.each(['stop', 'rm'])('and is not there ends cai %s with 10', async (command) => {
    expect(await toldWithNothing(command, 'cai-nobody')).toEqual({
      status: 10,
      stderr: 'cai: there is no container "cai-nobody": see "cai ps --all"\n',
    });
  });

  test.each([[['stop', 'x', '--all']], [['rm', 'x', '--agent', 'claude']], [['rm', 'x', '-w', '.']]])(
    'needs no options that say which: cai %j',
    async ([command, ...args]) => {
      expect(await toldWithNothing(command!, ...args)).toEqual({
        status: 2,
        stderr: 'cai: a container that is named needs no --workspace, --agent or --all: leave it out\n',
      });
    },
  );
});

test('cai rm --volumes removes what the services of a container keep, and keeps what serves another one', async () => {
  const own = { [label.managed]: 'true', [label.user]: String(process.getuid!()), [label.agent]: 'claude' };
  const container = (Id: string) => ({
    ...{ Id, Names: [`/cai-${Id}`], State: 'exited', Created: 1 },
    Labels: { ...own, [label.workspace]: `/${Id}`, [label.services]: 'db', [label.spec]: '{}' },
  });
  const volume = (Name: string) => ({ Name, Labels: { ...own, [label.service]: 'db' } });
  const { address, requests } = await fakeEngine({
    'GET /_ping': { headers: { 'api-version': '1.47' }, body: 'OK' },
    'GET /containers/json': { body: [container('one'), container('two')] },
    'GET /volumes': { body: { Volumes: [volume('cai-one-db-data'), volume('cai-two-db-data')] } },
    'GET /containers/cai-one-db/json': { status: 404 },
    'DELETE /containers/one': { status: 204 },
    'DELETE /volumes/cai-one-db-data': { status: 204 },
  });

  const { status, stderr } = await runHere(
    ['rm', 'cai-one', '--volumes', '--yes'],
    userWith('', { DOCKER_HOST: address.endpoint }),
  );

  expect(stderr).toBe(
    'cai: removed cai-one\ncai: removed the volume cai-one-db-data, with the data of the service db\n',
  );
  expect(status).toBe(0);
  expect(requests.some((each) => each.includes('cai-two'))).toBe(false);
});
