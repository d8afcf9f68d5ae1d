import { interferingEngine } from './engine-proxy';
import { Place, buildTimeoutMs } from './place';
import { Cai, newWorkspace } from './support';

const cai = new Cai();

beforeAll(async () => await new Place(cai).opened(), buildTimeoutMs);

/** Each prints its own number, and the container that it ran in. Resolves with the names of the containers. */
async function runMany(place: Place, count: number, env: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const numbers = Array.from({ length: count }, (_, index) => index);
  const results = await Promise.all(
    numbers.map((number) =>
      place.run(['sh', '-c', 'hostname; echo "$0"; exit "$0"', String(number)], { env }),
    ),
  );
  expect(results.map(({ status, stderr }) => ({ status, stderr }))).toEqual(
    numbers.map((number) => ({ status: number, stderr: '' })),
  );
  const lines = results.map(({ stdout }) => stdout.toString().split('\n'));
  expect(lines.map(([, number]) => number)).toEqual(numbers.map(String));
  return [...new Set(lines.map(([hostname]) => hostname!))];
}

/** An engine that tells nobody of a container before that many have asked: all of them act at the same time. */
async function engineForManyAtOnce(count: number): Promise<NodeJS.ProcessEnv> {
  let asked = 0;
  let allHave: () => void;
  const all = new Promise<void>((resolve) => (allHave = resolve));
  const address = await interferingEngine({
    request: /^GET \/containers\/[^/]+\/json/,
    whenAnswered: async () => {
      if (++asked === count) allHave();
      await all;
    },
  });
  return { DOCKER_HOST: address };
}

describe('twenty first commands at once', () => {
  test('run in one container, each with its own result', async () => {
    const place = new Place(new Cai());

    const ranIn = await runMany(place, 20, await engineForManyAtOnce(20));

    expect(ranIn).toEqual([await place.inspect('{{.Config.Hostname}}')]);
  });

  test('run in one container after a change of the configuration', async () => {
    const place = await new Place(new Cai()).opened();
    const before = await place.containers();
    place.cai.configure('[container]\npids = 500\n');

    const ranIn = await runMany(place, 8, await engineForManyAtOnce(8));

    expect(ranIn).toEqual([await place.inspect('{{.Config.Hostname}}')]);

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
