import { processesIn, untilOnly } from './inside';
import { Place, buildTimeoutMs } from './place';
import { patienceMs } from '../support/patience';
import { Cai, docker } from './support';

const [pids, memoryMebibytes] = [80, 160];

let place: Place;

beforeAll(async () => {
  const limits = `[container]\npids = ${pids}\nmemory = "${memoryMebibytes}MiB"\nshm = "80MiB"\n`;
  place = await new Place(new Cai(limits)).opened();
}, buildTimeoutMs);

describe('the limit of processes', () => {
  test('holds', async () => {
    const script = 'while (defined($pid = fork)) { if (!$pid) { sleep 1000 } $count++ } print "$count $!"';

    const { status, stdout } = await place.run(['perl', '-e', script]);

    expect(status).toBe(0);
    const [, count, why] = /^([0-9]+) (.*)$/.exec(stdout.toString()) ?? [];
    expect(why).toBe('Resource temporarily unavailable');
    expect(Number(count)).toBeLessThan(pids);
    expect(Number(count)).toBeGreaterThan(pids / 2);
  });

  test('is named to who can enter no more', async () => {
    const script =
      'while (defined($pid = fork)) { if (!$pid) { sleep 1000 } } syswrite STDOUT, "full"; sleep 1000';
    const [id] = await place.containers();
    const before = await processesIn(id!);
    const hog = place.start(['perl', '-e', script]);
    await hog.says('full');

    const { status, stderr } = await place.run(['true']);

    expect(status).toBe(13);
    expect(stderr).toMatch(/^cai: the container \S+ has no room for another process \(\d+ of 80\): .*"cai stop".*container\.pids .*\n$/); // prettier-ignore
    hog.child.kill('SIGKILL');
    await hog.ends();
    await untilOnly(id!, before, patienceMs);
    expect(await place.prints(['echo', 'in'])).toBe('in');
  });

  test('bounds a fork bomb, which ends with its command', async () => {
    const bomb = place.start([
      'perl',
      '-e',
      'syswrite STDOUT, "lit"; for (;;) { fork; select undef, undef, undef, 0.05 }',
    ]);
    await bomb.says('lit');
    const [id] = await place.containers();
    const perls = async () =>
      (await processesIn(id!)).filter(({ command }) => command.includes('syswrite')).length;
    let most = 0;
    while (most < pids / 2) most = Math.max(most, await perls());
    expect(most).toBeLessThan(pids);

    bomb.child.kill('SIGKILL');

    while ((await perls()) > 0) expect(await perls()).toBeLessThan(pids);
    expect(await place.prints(['echo', 'alive'])).toBe('alive');
  });
});

describe('the limit of memory', () => {
  test('has as much to share as was asked for', async () => {
    const write = (mebibytes: number) => `head -c ${mebibytes}M /dev/zero > /dev/shm/x`;

    expect(await place.prints(['sh', '-c', `${write(70)} && du -m /dev/shm/x`])).toBe('70\t/dev/shm/x');
    expect((await place.run(['sh', '-c', write(90)])).stderr).toContain('No space left on device');
    await place.prints(['rm', '/dev/shm/x']);
  });

  test('holds, and is named where it kills', async () => {
    const { status, stderr } = await place.run(['perl', '-e', '$x = "x" x (400 << 20); print length $x']);

    expect(status).toBe(137);
    expect(stderr).toMatch(/^cai: the command was killed; the container has run out of memory.* raise container.memory in the configuration\n$/); // prettier-ignore
  });

  test('leaves the container and the others in it alone', async () => {
    const other = place.start(['cat']);
    other.child.stdin.write('one ');
    await other.says('one');

    expect(await place.run(['perl', '-e', '$x = "x" x (400 << 20)'])).toMatchObject({ status: 137 });

    other.child.stdin.end('two');
    expect((await other.succeeds()).stdout.toString()).toBe('one two');
  });

  test('is half of the machine, but no more than 8 GiB, without a configuration, and a quarter of that is shared', async () => {
    const [usual] = [await new Place().opened()];
    const total = Number(await docker('info', '--format', '{{.MemTotal}}'));

    const expected = Math.min(8 * 2 ** 30, Math.floor(total / 2));
    expect(
      await usual.inspect(
        '{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}} {{.HostConfig.PidsLimit}} {{.HostConfig.ShmSize}}',
      ),
    ).toBe(`${expected} ${expected} 1024 ${Math.floor(expected / 4)}`);
  });
});
