/** Attacks on the disk of the machine, by a container that has a budget. */
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { provideImages } from '../engine/model';
import { buildTimeoutMs, Place } from '../engine/place';
import { Cai } from '../engine/support';
import { attempt, reachedIf } from './attempt';
import { agent, hostileConfig, Scene } from './hostile-agent';

const budgetMebibytes = 64;
/** What the fastest writes in the seconds in which the budget is looked at. */
const mostMebibytes = 3 * 1024;

let place: Place;

beforeAll(async () => {
  place = await new Place(new Cai(`[container]\ndisk = "${budgetMebibytes}MiB"\n`)).opened();
}, buildTimeoutMs);

/** What is on the disk after a script, whatever its end; it is removed again. */
async function after(script: string): Promise<string | undefined> {
  const flood = join(place.workspace, 'flood');
  await place.run(['sh', '-c', `mkdir flood && cd flood || exit; ${script}`]);
  const { length } = readdirSync(flood);
  const size = parseInt(execFileSync('du', ['-sm', flood], { encoding: 'utf8' }));
  rmSync(flood, { recursive: true });
  if (length === 0) throw new Error('nothing was tried');
  return reachedIf(size > mostMebibytes, `${size} MiB of a budget of ${budgetMebibytes} MiB`);
}

describe('the disk of the machine', () => {
  attempt('an agent fills the disk by one program that writes', async () => {
    return await after(
      'for i in $(seq 1 100); do echo $i; done | perl -ne \'open F, ">", "f$_"; print F "x" x (50 << 20)\'',
    );
  });

  attempt('an agent fills the disk by many programs that each write little', async () => {
    return await after('for i in $(seq 1 1000); do head -c 5M /dev/zero > f$i || exit; done');
  });

  attempt('an agent fills the disk by space that it takes without writing', async () => {
    return await after('for i in $(seq 1 100); do fallocate -l 60M f$i; done');
  });

  attempt(
    'an agent has the user told of a disk budget that was never given',
    async () => {
      await provideImages(agent);
      const scene = await Scene.open({ cai: new Cai(hostileConfig()) });
      const noted = '/run/cai/disk-use';
      // Until it was read, twice: what was read first is told by then.
      const claim = (words: string) =>
        `echo '${words}' > ${noted}; until [ "$(stat -c %.9X ${noted})" \\> "$(stat -c %.9Y ${noted})" ]; do sleep 0.1; done`;
      await scene.sh([...Array<string>(2).fill('100 123456789'), ...Array<string>(2).fill('100')].map(claim).join('; ')); // prettier-ignore
      await scene.sh('true');
      const said = scene.editor.said(scene.session);
      await scene.close();
      const told = /^.*used up the.*$/m.exec(said)?.[0];
      return reachedIf(told !== undefined, String(told));
    },
    buildTimeoutMs,
  );
});
