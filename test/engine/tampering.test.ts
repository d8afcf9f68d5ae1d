import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isPodman, testUnless, type Exception } from './engines';
import { Place, buildTimeoutMs } from './place';
import { Cai, docker, folder, ownFolder, user } from './support';

const cai = new Cai();

beforeAll(async () => await new Place(cai).opened(), buildTimeoutMs);

/** What a container was made with, as arguments of `docker create`. */
interface Made {
  readonly name: string;
  readonly image: string;
  readonly labels: readonly string[];
  readonly confinement: readonly string[];
  readonly user: readonly string[];
  readonly mounts: readonly string[];
}

/** As `docker inspect` tells it. */
interface Mounted {
  readonly Type: string;
  readonly Name: string;
  readonly Source: string;
  readonly Destination: string;
  readonly RW: boolean;
}

/** Takes the place's own container away, and tells how it was made. */
async function takeAway(place: Place): Promise<Made> {
  const name = (await place.inspect('{{.Name}}')).slice(1);
  const labels = JSON.parse(await place.inspect('{{json .Config.Labels}}')) as Record<string, string>;
  const memory = await place.inspect('{{.HostConfig.Memory}}');
  const image = await place.inspect('{{.Image}}');
  const security = await securityOptions(place);
  const mounts = JSON.parse(await place.inspect('{{json .Mounts}}')) as Mounted[];
  await docker('rm', '--force', name);
  return {
    name,
    image,
    labels: Object.entries(labels).flatMap(([key, value]) => ['--label', `${key}=${value}`]),
    confinement: ['--cap-drop', 'ALL', ...security, '--cgroupns', 'private', '--network', 'none', '--memory', memory, '--memory-swap', memory, '--pids-limit', '1024'], // prettier-ignore
    user: ['--user', `${user.uid}:${user.gid}`],
    mounts: mounts.flatMap(({ Type, Name, Source, Destination, RW }) => {
      const source = Type === 'volume' ? Name : Source;
      return ['--mount', `type=${Type},source=${source},target=${Destination}${RW ? '' : ',readonly'}`];
    }),
  };
}

/** Docker's command line sends a profile of system calls as its text, podman's service wants the path of a file. */
async function runContainer(...args: readonly string[]): Promise<string> {
  if (!isPodman) return await docker('run', ...args);
  const remote = ['--remote', '--url', process.env.DOCKER_HOST!, 'run', ...args];
  return (await promisify(execFile)('podman', remote)).stdout.trim();
}

/** Command lines want the profile of system calls in a file. */
async function securityOptions(place: Place): Promise<string[]> {
  const options = JSON.parse(await place.inspect('{{json .HostConfig.SecurityOpt}}')) as string[];
  const file = join(folder, 'seccomp.json');
  return options.flatMap((option) => {
    if (option.startsWith('seccomp={')) writeFileSync(file, option.slice('seccomp='.length));
    return ['--security-opt', option.replace(/^seccomp=\{.*/s, `seccomp=${file}`)];
  });
}

/** Somebody makes a container of that name; resolves with its id. */
async function put(made: Made, command: readonly string[] = ['/bin/sleep', '1000']): Promise<string> {
  const { name, image, labels, confinement, user: whom, mounts } = made;
  const [program = '', ...rest] = command;
  const args = [...labels, ...confinement, ...whom, ...mounts, '--entrypoint', program, image, ...rest];
  return await runContainer('--detach', '--name', name, ...args);
}

const without = (words: readonly string[], option: string): string[] => {
  const at = words.indexOf(option);
  return words.filter((_, index) => index !== at && index !== at + 1);
};

interface Change {
  readonly what: string;
  readonly change: (made: Made) => Made;
  /** How the message goes on behind "is not as it was made: ". */
  readonly told: RegExp;
  readonly exception?: Exception;
}

/** check.test.ts has each right, and docker.test.ts what engines tell of them. */
const changes: readonly Change[] = [
  {
    what: 'another mount',
    change: (made) => ({ ...made, mounts: [...made.mounts, '--volume', '/etc:/host-etc'] }),
    told: /^mounts should be \["bind \S+ \S+ rw",.*"volume \S+ \S+ rw"\], and is \["bind \/etc \/host-etc rw",/,
  },
  {
    what: 'another user',
    change: (made) => ({ ...made, user: ['--user', '0:0'] }),
    told: new RegExp(`^user should be "${user.uid}:${user.gid}", and is "0:0"`),
  },
  {
    what: 'no seccomp',
    change: (made) => ({
      ...made,
      confinement: [...made.confinement, '--security-opt', 'seccomp=unconfined'],
    }),
    told: /^seccomp should be "\S+", and is "unconfined"/,
  },
  {
    what: 'a network',
    change: (made) => ({ ...made, confinement: without(made.confinement, '--network') }),
    told: /^hasNetwork should be false, and is true/,
  },
  {
    what: 'a port that everybody reaches',
    change: (made) => ({
      ...made,
      confinement: [...made.confinement, '--publish', '2222'],
    }),
    told: /^publishedOn should be \[\], and is \["0.0.0.0"/,
    exception: 'ports without a network',
  },
  {
    what: 'another image',
    change: (made) => ({ ...made, image: 'node:22-bookworm-slim' }),
    told: /^image should be "sha256:\w+", and is "sha256:\w+"/,
  },
];

describe('a container with our labels', () => {
  let place: Place;
  let made: Made;

  beforeAll(async () => {
    place = await new Place(cai).opened();
    made = await takeAway(place);
  });

  afterEach(async () => await docker('rm', '--force', made.name).catch(() => undefined));

  for (const { what, change, told, exception } of changes) {
    testUnless(exception)(`is refused if it has ${what}`, async () => {
      const id = await put(change(made));

      const { status, stdout, stderr } = await place.run(['echo', 'in']);

      expect({ status, stdout: stdout.toString() }).toEqual({ status: 15, stdout: '' });
      const start = `cai: the container ${made.name} is not as it was made: `;
      expect(stderr.slice(0, start.length)).toBe(start);
      expect(stderr.slice(start.length)).toMatch(told);
      expect(stderr).toMatch(
        /: use --fresh to recreate it; what the agent keeps in its data volume stays\n$/,
      );
      expect(await docker('inspect', '--format', '{{.State.Running}}', id)).toBe('true');
    });
  }

  // Without this one, the others could be refused for anything.
  test('is not refused if it is as they say, though it fails to start', async () => {
    await put(made, ['/bin/false']);

    const { status, stderr } = await place.run(['echo', 'in']);

    expect(status).toBe(11);
    expect(stderr).toMatch(/ended with status 1 as soon as it was started; .*--fresh/);
  });

  test('is made anew by --fresh', async () => {
    const id = await put(changes[0]!.change(made));

    expect(await place.prints(['ls', '-d', place.workspace], { options: ['--fresh'] })).toBe(place.workspace);

    expect(await place.containers()).not.toContain(id);
    expect((await place.run(['ls', '/host-etc'])).status).toBe(2);
  });

  test('is refused if its record cannot be read', async () => {
    const labels = made.labels.map((each) =>
      each.startsWith('containai.spec=') ? 'containai.spec=x' : each,
    );
    await put({ ...made, labels });

    const { status, stderr } = await place.run(['echo', 'in']);

    expect(status).toBe(15);
    expect(stderr).toMatch(/has no readable record of how it was made: use --fresh/);
  });
});

describe('a container without our labels', () => {
  test('that has the name is never touched, not by --fresh either', async () => {
    const place = await new Place(cai).opened();
    const made = await takeAway(place);
    const id = await put({ ...made, labels: [] });

    for (const options of [[], ['--fresh']]) {
      const { status, stderr } = await place.run(['echo', 'in'], { options });

      expect(status).toBe(15);
      expect(stderr).toBe(`cai: the container ${made.name} was not made by cai: rename or remove it: docker rm ${made.name}\n`); // prettier-ignore
    }

    const state = await docker('inspect', '--format', '{{.State.Running}} {{.RestartCount}}', id);
    await docker('rm', '--force', id);
    expect(state).toBe('true 0');
  });

  test('that was made for another workspace is not touched either', async () => {
    const place = await new Place(cai).opened();
    const made = await takeAway(place);
    ownFolder(`${folder}/other`);
    const labels = made.labels.map((each) => (each.startsWith('containai.workspace=') ? `containai.workspace=${folder}/other` : each)); // prettier-ignore
    const id = await put({ ...made, labels });

    const { status, stderr } = await place.run(['echo', 'in']);

    expect(status).toBe(15);
    expect(stderr).toMatch(/was made for another workspace or agent: remove it: docker rm -f/);
    expect(await docker('inspect', '--format', '{{.State.Running}}', id)).toBe('true');
  });
});
