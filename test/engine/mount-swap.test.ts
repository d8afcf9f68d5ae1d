import { renameSync, symlinkSync } from 'node:fs';
import { interferingEngine } from './engine-proxy';
import { buildTimeoutMs, Place } from './place';
import { Cai, ownFile, ownFolder } from './support';

const cai = new Cai();
const secret = `${cai.home}/private/secret`;

beforeAll(async () => {
  ownFile(secret, 'of the host');
  // What is mounted in a workspace besides itself is there as well.
  ownFile(`${cai.home}/private/.git/config`, '');
  ownFolder(`${cai.home}/private/.git/hooks`);
  await new Place(cai).opened();
}, buildTimeoutMs);

/** An engine with which the workspace is swapped for a link to something else as soon as that is answered. */
async function swappingEngine(place: Place, request: RegExp): Promise<string> {
  let isDone = false;
  return await interferingEngine({
    request,
    whenAnswered: () => {
      if (!isDone) {
        renameSync(place.workspace, `${place.workspace}-away`);
        symlinkSync(`${cai.home}/private`, place.workspace);
      }
      isDone = true;
      return Promise.resolve();
    },
  });
}

describe('a workspace that somebody swaps for a link', () => {
  test.each([
    // The first that is asked once the folder was looked at.
    ['before its container is made', /^GET \/containers\//],
    ['before its container is started', /^POST \/containers\/create/],
  ])('%s is not mounted for a command', async (_when, request) => {
    const place = new Place(cai);
    const address = await swappingEngine(place, request);

    const { status, stdout, stderr } = await place.run(['cat', `${place.workspace}/secret`], {
      env: { DOCKER_HOST: address },
    });

    expect([status, stdout.toString()]).toEqual([11, '']);
    expect(stderr).toContain('is not what it was when cai looked at it');
  });

  test('while its container is stopped is not mounted either', async () => {
    const place = await new Place(cai).opened();
    await cai.run(['stop', '--force', '--workspace', place.workspace]);
    const address = await swappingEngine(place, /^GET \/containers\/[^/]+\/json/);

    const { status, stdout } = await place.run(['cat', `${place.workspace}/secret`], {
      env: { DOCKER_HOST: address },
    });

    expect([status, stdout.toString()]).toEqual([11, '']);
  });
});
