import { existsSync, mkdirSync, mkdtempSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownIdentity } from '../../../src/system/process-identity';
import { fakeEngine } from '../../container/fake-engine';
import { userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { newFolder } from '../../support/temp-folder';

jest.mock('node:os', () => {
  const actual = jest.requireActual<{ tmpdir: () => string }>('node:os');
  return { ...actual, tmpdir: jest.fn(actual.tmpdir) };
});

test('removes folders of builds of development containers that were ended, and no other', async () => {
  const temporary = newFolder();
  jest.mocked(tmpdir).mockReturnValue(temporary);
  const folder = (owner?: string): string => {
    const made = mkdtempSync(join(temporary, 'cai-devcontainer-'));
    mkdirSync(join(made, 'workspace'));
    if (owner !== undefined) writeFileSync(join(made, 'process'), owner);
    return made;
  };
  const ended = folder(ownIdentity().replace(/\.\d+/, '.1'));
  const old = folder();
  utimesSync(old, 0, 0);
  const staying = [folder(ownIdentity()), folder(), folder('1.1@another-machine')];
  symlinkSync(newFolder(), join(temporary, 'cai-devcontainer-link'));
  const { address } = await fakeEngine({
    'GET /_ping': { headers: { 'api-version': '1.47' }, body: 'OK' },
    'GET /containers/json': { body: [] },
    'GET /volumes': { body: { Volumes: [] } },
    'GET /images/json': { body: [] },
    'GET /system/df': { body: {} },
  });
  const user = userWith('', { DOCKER_HOST: address.endpoint });

  const shown = await runHere(['prune', '--dry-run', '--json'], user);
  const { status, stdout } = await runHere(['prune', '--yes'], user);

  const why = 'a build that was ended has left it';
  expect(new Set(JSON.parse(shown.stdout) as object[])).toEqual(
    new Set([ended, old].map((name) => ({ kind: 'folder', name, bytes: null, why }))),
  );
  expect(status).toBe(0);
  for (const each of [ended, old])
    expect(stdout).toMatch(new RegExp(`^folder +${each} +\\? +a build that was ended has left it$`, 'm'));
  expect([ended, old].filter(existsSync)).toEqual([]);
  expect(staying.filter(existsSync)).toEqual(staying);
  expect((await runHere(['prune', '--yes'], user)).stderr).toBe('cai: nothing to remove\n');
});
