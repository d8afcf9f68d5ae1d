import { mkdirSync, symlinkSync } from 'node:fs';
import fc from 'fast-check';
import { isNightly } from '../support/nightly';
import { Place, buildTimeoutMs, forEachOf } from './place';
import { ownFolder } from './support';

/** On a machine that does nothing else they take a tenth of that. */
const manyRunsTimeoutMs = 300_000;

/** `CAI_TEST_SEED` makes the texts of an earlier run again. */
const seed = Number(process.env.CAI_TEST_SEED ?? Date.now() % 2 ** 31);

const characters = fc.oneof(
  fc.constantFrom(...Array.from('\'"`$\\ \n\r\t*?~!#%&|;<>(){}[]=-\x01\x1b\x7f')),
  fc.constantFrom('é', 'ß', '漢', '\u200d', '\ufeff', '\u202e', '\u{1f600}', '\u{10ffff}'),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((each) => each !== '\0'),
);
const texts = fc.oneof(
  fc.constantFrom('', '-', '--', '-e', '-w', '--quiet', '--workspace=/', '$HOME', '$(id)', '%s', '~', '*'),
  fc.string({ unit: characters, maxLength: 40 }),
);

/** Prints its arguments behind the first one, their number before them and a NUL behind each; exits with the first. */
const script = '$status = shift; print "$_\\0" for scalar(@ARGV), @ARGV; exit $status';

let place: Place;

beforeAll(async () => (place = await new Place().opened()), buildTimeoutMs);

async function argumentsInside(given: readonly string[], wanted = 0): Promise<string[]> {
  const { status, stdout, stderr } = await place.run(['perl', '-e', script, '--', String(wanted), ...given]);
  expect({ status, stderr }).toEqual({ status: wanted, stderr: '' });
  const [count, ...fields] = stdout.toString().split('\0');
  expect([count, fields.pop()]).toEqual([String(fields.length), '']);
  return fields;
}

async function environmentInside(
  options: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Map<string, string>> {
  const printed = await place.prints(['env', '-0'], { options, env });
  const pairs = printed.split('\0').filter((each) => each !== '');
  return new Map(pairs.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]));
}

const runs = isNightly ? 256 : 32;

describe('the arguments of a command', () => {
  test(
    // Of 32 runs each has another eighth status; the first is by the seed.
    `arrive as they are in ${runs} runs, and so does the exit status (CAI_TEST_SEED=${seed})`,
    async () => {
      const lists = fc.sample(fc.array(texts, { maxLength: 20 }), { seed, numRuns: runs });

      const arrived = await forEachOf([...lists.entries()], ([run, given]) =>
        argumentsInside(given, (256 / runs) * run + (seed % (256 / runs))),
      );

      expect(arrived).toEqual(lists);
    },
    manyRunsTimeoutMs,
  );

  test('may be a megabyte together', async () => {
    const piece = 'ä"\n\u{1f600} $x\\';
    const given = Array.from({ length: 100 }, (_, index) => `${index}${piece.repeat(900)}`);
    expect(Buffer.byteLength(given.join(''))).toBeGreaterThan(2 ** 20);

    expect(await argumentsInside(given)).toEqual(given);
  });
});

describe('the environment of a command', () => {
  test(`has 200 variables that one call gives (CAI_TEST_SEED=${seed})`, async () => {
    const values = fc.sample(texts, { seed, numRuns: 200 });
    const wanted = new Map(values.map((value, index) => [`GIVEN_${index}`, value]));
    const pairs = [...wanted];
    const [said, ours] = [pairs.slice(0, 100), pairs.slice(100)];

    const arrived = await environmentInside(
      [...said.flatMap(([name, value]) => ['-e', `${name}=${value}`]), ...ours.flatMap(([name]) => ['-e', name])],
      Object.fromEntries(ours),
    ); // prettier-ignore

    expect([...arrived].filter(([name]) => wanted.has(name)).sort()).toEqual(pairs.sort());
  });

  test('is that of a user at home', async () => {
    const arrived = await environmentInside([]);

    expect(Object.fromEntries(arrived)).toMatchObject({
      CAI_HOST_WORKSPACE: place.workspace,
      CLAUDE_CONFIG_DIR: '/home/agent/.claude',
      HOME: '/home/agent',
      LOGNAME: 'agent',
      SHELL: '/bin/bash',
      USER: 'agent',
    });
    expect(arrived.get('PATH')).toMatch(/\/usr\/bin/);
  });

  test('has the time zone of this machine, and its characters', async () => {
    const env = { TZ: 'Asia/Tokyo', LANG: 'de_DE.UTF-8' };

    expect(await place.prints(['date', '-d', '@0', '+%H%z'], { env })).toBe('09+0900');
    expect(await place.prints(['locale', 'charmap'], { env })).toBe('UTF-8');
  });
});

describe('the folder that a command starts in', () => {
  test('is the one of the caller', async () => {
    const below = `${place.workspace}/below/ü "x"`;
    ownFolder(below);

    const { stdout } = await place.cai.run(['exec', '--quiet', '--', 'pwd'], { cwd: below });

    expect(stdout.toString()).toBe(`${below}\n`);
  });

  test('is the one that --workspace names', async () => {
    const below = `${place.workspace}/deeper`;
    mkdirSync(below);
    symlinkSync(below, `${place.workspace}-link`);

    for (const named of [below, `${place.workspace}-link`]) {
      const { stdout } = await place.cai.run(['exec', '--quiet', '-w', named, '--', 'pwd']);

      expect(stdout.toString()).toBe(`${below}\n`);
    }
  });

  test('is the one that --cwd names', async () => {
    expect(await place.prints(['pwd'], { options: ['--cwd', '/usr/share'] })).toBe('/usr/share');
  });

  test('that is not there ends with 126', async () => {
    expect(await place.run(['touch', 'file'], { options: ['--cwd', '/no/such'] })).toMatchObject({
      status: 126,
      stderr:
        'cai: cannot enter /no/such: No such file or directory: choose a folder that the container has\n',
    });
  });
});
