/** What a hostile agent does in its pod to what the cluster starts there beside it, and to files that are mounted one by one. */
import { buildTimeoutMs, Place } from '../engine/place';
import { Cai } from '../engine/support';

let cai: Cai;
let place: Place;

beforeAll(async () => {
  cai = new Cai('[container]\ndisk = "64MiB"\n');
  place = await new Place(cai).opened();
}, buildTimeoutMs);

/** In the pod, for each process that the cluster has started beside the first: this Perl, in which `$process` is its folder. */
function watching(perl: string) {
  const script = String.raw`$| = 1; print "begun\n"; for (;;) { for my $process (glob '/proc/[0-9]*') { next if $process eq '/proc/1'; open my $f, '<', "$process/stat" or next; my ($parent) = (<$f> // '') =~ /^\d+ \(.*\) \S (\d+)/s or next; next if $parent; ${perl} } }`;
  return place.start(['perl', '-e', script]);
}

test('an agent cannot open the memory of what lists the processes of its pod', async () => {
  const watcher = watching(
    String.raw`print "seen\n"; print "opened\n" if open my $memory, '+<', "$process/mem";`,
  );
  await watcher.says('begun');
  // Each look takes a moment, in which the watcher may miss it.
  for (let looks = 0; looks < 5 || !watcher.stdout.includes('seen'); looks++)
    await cai.start(['ps']).succeeds();
  watcher.child.kill();
  await watcher.ends();
  expect(watcher.stdout.toString()).not.toContain('opened');
});

test('an agent that ends whatever lists the processes of its pod keeps nobody from the others', async () => {
  const other = new Place(cai);
  await other.prints(['true']);
  const killer = watching(String.raw`kill 'KILL', $process =~ /(\d+)$/;`);
  await killer.says('begun');

  expect((await cai.run(['ps'])).stdout.toString()).toContain(other.workspace);
  expect(await cai.run(['stop', '--workspace', place.workspace])).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/what runs in the container \S+ is not known: .*\n.*--force/) as string,
  });
  expect(await cai.run(['rm', '--workspace', other.workspace])).toMatchObject({ status: 0 });
  expect(await cai.run(['stop', '--force', '--workspace', place.workspace])).toMatchObject({ status: 0 });
  await killer.ends();
});

test.each(['/run/cai/used', '/dev/termination-log'])(
  'what an agent writes to %s, a file with a mount of its own, counts in the disk budget',
  async (file) => {
    // A single file cannot become larger than the budget.
    await place.run(['sh', '-c', `exec head -c 1G /dev/zero > ${file}`]);
    const until = (stage: number) => `until grep -qx ${stage} /run/cai/disk-use; do sleep 0.1; done`;
    await place.prints(['sh', '-c', `${until(100)}; : > ${file}; ${until(0)}`]);
  },
);
