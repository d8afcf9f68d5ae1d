import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Scene, agent, hostileConfig } from '../escape/hostile-agent';
import { provideImages } from './model';
import { Place, buildTimeoutMs } from './place';
import { Cai, docker } from './support';

const budgetMebibytes = 64;
const config = `[container]\ndisk = "${budgetMebibytes}MiB"\n`;

let place: Place;

beforeAll(async () => (place = await new Place(new Cai(config)).opened()), buildTimeoutMs);

/** Resolves when the keeper has noted that stage of the budget. */
async function untilStage(stage: number, from = place): Promise<void> {
  await from.prints(['sh', '-c', `until grep -qx '${stage}' /run/cai/disk-use; do sleep 0.1; done`]);
}

/** A program that writes so many MiB, one after another, to the file that follows. */
const write = (mebibytes: number) => ['perl', '-e', `open F, '>', shift; print F 'x' x (1 << 20) for 1 .. ${mebibytes}; close F or die`]; // prettier-ignore

describe('the disk budget', () => {
  test('warns at 80 %, wherever that is, and takes it back', async () => {
    await place.prints([...write(27), '/tmp/first']);
    await place.prints([...write(27), join(place.workspace, 'second')]);
    await untilStage(80);

    await place.prints(['rm', '/tmp/first']);
    await untilStage(0);
    await place.prints(['rm', join(place.workspace, 'second')]);
  });

  test('ends what writes on above it, and nothing else', async () => {
    const other = place.start(['cat']);
    other.child.stdin.write('one ');
    await other.says('one');
    for (const name of ['a', 'b', 'c']) await place.prints([...write(22), `/tmp/${name}`]);
    await untilStage(100);

    const { status, stderr } = await place.run(['perl', '-e', 'open F, ">", "/tmp/d"; for (;;) { print F "x" x (1 << 20); seek F, 0, 0 if tell(F) > 2 << 20; select undef, undef, undef, 0.1 }']); // prettier-ignore

    expect(status).toBe(137);
    expect(stderr).toContain('because the container has used up its disk budget and the command went on');
    expect(await docker('logs', (await place.containers())[0]!).catch(String)).not.toContain(
      'the container ends',
    );
    await place.prints(['sh', '-c', 'rm /tmp/?']);
    await untilStage(0);
    other.child.stdin.end('two');
    expect((await other.succeeds()).stdout.toString()).toBe('one two');
  });

  test('ends the container when many go on, and says so', async () => {
    const own = await new Place(new Cai(config)).opened();
    const script = 'for i in $(seq 1000); do (head -c 900000 /dev/zero > /tmp/f$i &); sleep 0.02; done';

    const { status, stderr } = await own.run(['sh', '-c', script]);

    expect(status).toBe(11);
    expect(stderr).toContain('was ended, because it has used up its disk budget and something went on');
  });

  test('is the most that one file can have', async () => {
    const { status } = await place.run([...write(budgetMebibytes + 1), 'large']);

    // By SIGXFSZ.
    expect(status).toBe(128 + 25);
    expect(statSync(join(place.workspace, 'large')).size).toBeLessThanOrEqual(budgetMebibytes * 2 ** 20);
    await place.prints(['rm', 'large']);
  });

  test(
    'is told of in the thread at 80 %, and so are other limits',
    async () => {
      await provideImages(agent);
      const limits = 'memory = "300MiB"\npids = 120\n';
      const scene = await Scene.open({ cai: new Cai(hostileConfig() + config + limits) });

      await scene.sh(`head -c ${54 * 2 ** 20} /dev/zero > /tmp/first`);

      await scene.editor.hears(scene.session, "The agent's container has used 80 % of the 64 MiB of disk");
      await scene.tries(`perl -e '$x = "x" x (600 << 20)'`);
      await scene.editor.hears(scene.session, "The agent's container has run out of memory");
      await scene.tries(
        `perl -e 'while (defined($pid = fork)) { if (!$pid) { sleep 1000 } push @all, $pid } kill 9, @all'`,
      );
      await scene.editor.hears(scene.session, "The agent's container has as many processes as it may have");
      await scene.close();
    },
    buildTimeoutMs,
  );

  test('is none without a configuration', async () => {
    const usual = await new Place().opened();

    expect(await usual.prints(['sh', '-c', 'cat /run/cai/disk-use; ulimit -f'])).toBe('unlimited');
  });
});
