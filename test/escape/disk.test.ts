/** Attacks on the disk of the machine, by a container that has a budget. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
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
  // Paths can be too long for Node.
  execFileSync('rm', ['-r', flood]);
  if (length === 0) throw new Error('nothing was tried');
  return reachedIf(size > mostMebibytes, `${size} MiB of a budget of ${budgetMebibytes} MiB`);
}

/** Python that writes up to 6 GiB in files of 60 MiB, no faster than 300 MiB a second; `made` is run when a file is made, `written` when it is written. */
const writes = (made = 'pass', open = "open(name, 'wb', 0)", written = 'pass') => `
import ctypes, os, socket, time
kept = []
for i in range(100):
    name = 'f%d' % i
    f = ${open}
    ${made}
    for part in range(60): f.write(b'x' * (1 << 20))
    ${written}
    time.sleep(0.2)
print('wrote all')`;

/** Python that makes a folder its working folder that is so deep below it, by names of that length. */
const goesDeep = (levels: number, nameLength: number) => `
for i in range(${levels}):
    os.mkdir('d' * ${nameLength})
    os.chdir('d' * ${nameLength})
`;
/** Longer than a path may be that the kernel takes. */
const longPath = goesDeep(30, 200);

/** What is reached by a script of Python that writes what it can and comes to its end; its folder is removed. */
async function reachesEnd(script: string, python = 'python3'): Promise<string | undefined> {
  const flood = join(place.workspace, 'flood');
  const { stdout } = await place.run([python, '-c', `import os; os.mkdir('flood'); os.chdir('flood'); print('began', flush=True)${script}`]); // prettier-ignore
  // Paths can be too long for Node.
  execFileSync('rm', ['-r', flood]);
  const said = stdout.toString();
  if (!said.includes('began')) throw new Error('nothing was tried');
  return reachedIf(said.includes('wrote all'), `all of it, with a budget of ${budgetMebibytes} MiB`);
}

describe('the disk of the machine', () => {
  // No faster than 250 MiB a second: what a fast disk takes until the budget is looked at is no matter of the budget.
  attempt('an agent fills the disk by one program that writes', async () => {
    return await after(
      'seq 1 100 | perl -ne \'open F, ">", "f$_"; print F "x" x (50 << 20); select undef, undef, undef, 0.2\'',
    );
  });

  attempt('an agent fills the disk by many programs that each write little', async () => {
    return await after('for i in $(seq 1 1000); do head -c 5M /dev/zero > f$i || exit; done');
  });

  attempt('an agent fills the disk by space that it takes without writing', async () => {
    return await after('for i in $(seq 1 100); do fallocate -l 60M f$i; done');
  });

  attempt('an agent fills the disk by files that have no name any more', async () => {
    return await reachesEnd(writes('os.remove(name); kept.append(f)'));
  });

  attempt(
    'an agent fills the disk by removed files of a program that has said that nobody may look at it',
    async () => {
      const hides = 'import ctypes\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n';
      return await reachesEnd(`\n${hides}${writes('os.remove(name); kept.append(f)')}`);
    },
  );

  attempt('an agent fills the disk by removed files of a program that nobody may read', async () => {
    const copy = '/tmp/unreadable';
    await place.prints(['sh', '-c', `cp "$(readlink -f "$(which python3)")" ${copy} && chmod 111 ${copy}`]);
    return await reachesEnd(writes('os.remove(name); kept.append(f)'), copy);
  });

  attempt('an agent fills the disk by files that never had a name', async () => {
    const unnamed = "os.fdopen(os.open('.', os.O_TMPFILE | os.O_WRONLY), 'wb', 0)";
    return await reachesEnd(writes('kept.append(f)', unnamed));
  });

  /** What is done with a removed file that was written, so that no process has it open. */
  const removed = (kept: string) => writes('os.remove(name)', "open(name, 'w+b', 0)", `${kept}; f.close()`);

  attempt('an agent fills the disk by removed files that are only mapped', async () => {
    return await reachesEnd(removed('ctypes.CDLL(None).mmap(None, 4096, 1, 1, f.fileno(), 0)'));
  });

  attempt('an agent fills the disk by removed files in messages that nobody receives', async () => {
    const send = 'socket.send_fds(pair[0], [b"x"], [f.fileno()])';
    return await reachesEnd(`\nimport socket\npair = socket.socketpair()${removed(send)}`);
  });

  attempt('an agent fills the disk by files whose paths are longer than the kernel takes', async () => {
    return await reachesEnd(`${longPath}${writes()}`);
  });

  attempt('an agent fills the disk by files in more folders than can be open', async () => {
    return await reachesEnd(`${goesDeep(2000, 1)}${writes()}`);
  });

  attempt('an agent fills the disk by files whose other names are nowhere to be met', async () => {
    const manyNames = `
    for other in range(50): os.link(name, '%d-%d' % (i, other))
    os.rename(name, '../' * 30 + name)`;
    return await reachesEnd(`${longPath}${writes(manyNames)}`);
  });

  attempt('an agent uses up the files for which the disk has room', async () => {
    return await reachesEnd(`
for i in range(300000): os.close(os.open('f%d' % i, os.O_CREAT))
print('wrote all')`);
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
