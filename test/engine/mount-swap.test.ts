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

/** An engine with which a folder is swapped for a link to something else as soon as that is answered. */
async function swappingEngine(
  folder: string,
  request: RegExp,
  other = `${cai.home}/private`,
): Promise<string> {
  let isDone = false;
  return await interferingEngine({
    request,
    whenAnswered: () => {
      if (!isDone) {
        renameSync(folder, `${folder}-away`);
        symlinkSync(other, folder);
      }
      isDone = true;
      return Promise.resolve();
    },
  });
}

describe('a workspace that somebody swaps for a link', () => {
  test.each([
    // Asked once the folder was looked at.
    ['before its container is made', /^GET \/images\//],
    ['before its container is started', /^POST \/containers\/create/],
  ])('%s is not mounted for a command', async (_when, request) => {
    const place = new Place(cai);
    const address = await swappingEngine(place.workspace, request);

    const { status, stdout, stderr } = await place.run(['cat', `${place.workspace}/secret`], {
      env: { DOCKER_HOST: address },
    });

    expect([status, stdout.toString()]).toEqual([11, '']);
    expect(stderr).toContain('is not what it was when cai looked at it');
  });

  // The container is looked at while the folder is; then nothing but its files comes before its start.
  test.each([
    ['while both are looked at', /^GET \/containers\/[^/]+\/json/],
    ['before its container is started again', /^PUT .*\/archive/],
  ])('%s is not mounted either', async (_when, request) => {
    const place = await new Place(cai).opened();
    await cai.run(['stop', '--force', '--workspace', place.workspace]);
    const address = await swappingEngine(place.workspace, request);

    const { status, stdout } = await place.run(['cat', `${place.workspace}/secret`], {
      env: { DOCKER_HOST: address },
    });

    // Either the look refuses, or the start.
    expect([2, 11]).toContain(status);
    expect(stdout.toString()).toBe('');
  });
});

describe('a folder with a volume in its place that somebody swaps for a link', () => {
  test('is not used by a command, which would write elsewhere', async () => {
    const place = new Place(new Cai('[container]\nown = ["node_modules"]\n'));
    const address = await swappingEngine(`${place.workspace}/node_modules`, /^PUT .*\/archive/, '/tmp');

    const { status, stderr } = await place.run(['true'], { env: { DOCKER_HOST: address } });

    expect(status).toBe(11);
    // The first is the word of a runtime that notices it itself.
    expect(stderr).toMatch(/error mounting .*\/node_modules|a volume is not mounted at .*\/node_modules/);
  });
});
