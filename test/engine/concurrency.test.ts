import { Place, buildTimeoutMs } from './place';
import { Cai, newWorkspace } from './support';

const cai = new Cai();

beforeAll(async () => {
  await new Place(cai).opened();
}, buildTimeoutMs);

/** Each prints its own number, and the container that it ran in. */
async function runMany(place: Place, count: number, options: readonly string[] = []): Promise<string[]> {
  const numbers = Array.from({ length: count }, (_, index) => index);
  const results = await Promise.all(
    numbers.map((number) =>
      place.run(['sh', '-c', 'hostname; echo "$0"; exit "$0"', String(number)], { options }),
    ),
  );
  expect(results.map(({ status, stderr }) => ({ status, stderr }))).toEqual(
    numbers.map((number) => ({ status: number, stderr: '' })),
  );
  const lines = results.map(({ stdout }) => stdout.toString().split('\n'));
  expect(lines.map(([, number]) => number)).toEqual(numbers.map(String));
  return [...new Set(lines.map(([hostname]) => hostname!))];
}

describe('twenty first commands at once', () => {
  test('run in one container, each with its own result', async () => {
    const place = new Place(new Cai());

    expect(await runMany(place, 20)).toEqual([await place.inspect('{{.Config.Hostname}}')]);
  });

  test('run in one container after a change of the configuration', async () => {
    const place = await new Place(new Cai()).opened();
    const before = await place.containers();
    place.cai.configure('[container]\npids = 500\n');

    expect(await runMany(place, 8)).toEqual([await place.inspect('{{.Config.Hostname}}')]);

    expect(await place.containers()).not.toEqual(before);
    expect(await place.inspect('{{.HostConfig.PidsLimit}}')).toBe('500');
  });

  test('run in a container each, in a workspace each', async () => {
    const places = Array.from({ length: 4 }, (_, index) => new Place(cai, newWorkspace(`at-once-${index}`)));

    const folders = await Promise.all(places.map((place) => place.prints(['sh', '-c', 'pwd; hostname'])));

    expect(folders.map((each) => each.split('\n')[0])).toEqual(places.map(({ workspace }) => workspace));
    expect(new Set(folders.map((each) => each.split('\n')[1])).size).toBe(4);
  });
});
