import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { interferingEngine } from './engine-proxy';
import { doorOf } from './door';
import { Place, buildTimeoutMs } from './place';
import { Cai, docker } from './support';

const cai = new Cai();
/** Less than what is given to one who lives. */
const waitForDeadMs = 25_000;

beforeAll(async () => await new Place(cai).opened(), buildTimeoutMs);

const idOf = async (place: Place): Promise<string> => await place.inspect('{{.Id}}');

describe('a changed configuration', () => {
  test('is reported while a command runs, and takes effect when none does', async () => {
    const place = await new Place(new Cai()).opened();
    const before = await idOf(place);
    const running = place.start(['cat']);
    running.child.stdin.write('one ');
    await running.says('one');
    place.cai.configure('[container]\npids = 333\n');
    const loud = ['exec', '--workspace', place.workspace, '--', 'sh', '-c', 'echo out'];

    const meanwhile = await place.cai.run(loud);

    expect(meanwhile).toMatchObject({ status: 0, stdout: Buffer.from('out\n') });
    expect(meanwhile.stderr).toMatch(/^cai: the configuration or the image has changed .*: --fresh ends them and recreates it\n$/); // prettier-ignore
    expect(await idOf(place)).toBe(before);
    running.child.stdin.end('two');
    expect((await running.succeeds()).stdout.toString()).toBe('one two');

    const afterwards = await place.cai.run(loud);

    expect(afterwards).toMatchObject({ status: 0, stdout: Buffer.from('out\n') });
    expect(afterwards.stderr).toMatch(/^cai: the container \S+ is recreated, because its configuration or image has changed\n$/); // prettier-ignore
    expect(await idOf(place)).not.toBe(before);
    expect(await place.inspect('{{.HostConfig.PidsLimit}}')).toBe('333');
    expect((await place.cai.run(loud)).stderr).toBe('');
  });
});

describe('an image that would be built from something else now', () => {
  test('is told of also where the container is there, which stays if none can be built', async () => {
    const place = await new Place(new Cai()).opened();
    const before = await idOf(place);
    const loud = ['exec', '--workspace', place.workspace];
    place.cai.configure('[agents.claude]\ncommand = ["x"]\npackages = ["left-pad@1.3.0"]\n');
    const changed = await place.cai.run([...loud, '--', 'true']);
    place.cai.configure('[image]\ndockerfile = "/gone"\n');

    const meanwhile = await place.cai.run([...loud, '--', 'true']);
    const fresh = await place.cai.run([...loud, '--fresh', '--', 'true']);

    expect(changed).toMatchObject({ status: 0, stderr: expect.stringMatching(/^cai: the image containai:claude was built .*: cai build claude\n$/) as string }); // prettier-ignore
    expect(meanwhile).toMatchObject({ status: 0, stderr: expect.stringMatching(/^cai: "image.dockerfile" names \/gone, which cannot be read.*\n$/) as string }); // prettier-ignore
    expect(fresh).toMatchObject({ status: 11, stderr: expect.stringContaining('/gone') as string });
    expect(await idOf(place)).toBe(before);
  });
});

describe('--fresh', () => {
  test('recreates the container, and ends what runs in the old one', async () => {
    const place = await new Place(cai).opened();
    const before = await idOf(place);
    await place.prints(['touch', '/tmp/old']);
    const running = place.start(['sh', '-c', 'echo ready; cat']);
    await running.says('ready');

    const { status, stderr } = await place.run(['test', '-e', '/tmp/old'], { options: ['--fresh'] });

    expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
    expect(await idOf(place)).not.toBe(before);
    const { status: old, stderr: why } = await running.ends();
    expect([10, 11]).toContain(old);
    expect(why).toMatch(/^cai: the container \S+ (?:was removed|was killed by SIGKILL)\n$/);
  });
});

describe('a container that was stopped', () => {
  const place = new Place(cai);
  beforeEach(() => place.opened());

  test('is started again, with what is in it', async () => {
    const before = await idOf(place);
    await place.prints(['touch', '/tmp/mine']);

    await docker('stop', before);

    expect(await place.prints(['ls', '/tmp/mine'])).toBe('/tmp/mine');
    expect(await idOf(place)).toBe(before);
  });

  test('is started again by one of many at once', async () => {
    await docker('stop', await idOf(place));

    const results = await Promise.all(Array.from({ length: 6 }, () => place.prints(['hostname'])));

    expect(new Set(results).size).toBe(1);
  });

  test('just when it was found running is started again', async () => {
    const id = await idOf(place);
    let stops = 0;
    const address = await interferingEngine({
      request: /^GET \/containers\/[^/]+\/json/,
      whenAnswered: async () => {
        if (++stops === 1) await docker('stop', id);
      },
    });

    expect(await place.prints(['echo', 'in'], { env: { DOCKER_HOST: address } })).toBe('in');

    expect(stops).toBeGreaterThan(1);
  });

  test('while a command ran in it is named', async () => {
    const running = place.start(['sh', '-c', 'echo ready; cat']);
    await running.says('ready');

    await docker('kill', await idOf(place));

    const { status, stderr } = await running.ends();
    expect(status).toBe(11);
    expect(stderr).toMatch(/^cai: the container \S+ was killed by SIGKILL\n$/);
  });

  test('is not if somebody has only paused it', async () => {
    const id = await idOf(place);
    await docker('pause', id);

    const { status, stderr } = await place.run(['true']);

    await docker('unpause', id);
    expect(status).toBe(11);
    expect(stderr).toMatch(/^cai: the container (\S+) is paused: docker unpause \1\n$/);
    expect(await place.prints(['echo', 'in'])).toBe('in');
  });
});

describe('a container that was removed', () => {
  test('just when it was found running is made anew', async () => {
    const place = await new Place(cai).opened();
    const id = await idOf(place);
    let removals = 0;
    const address = await interferingEngine({
      request: /^GET \/containers\/[^/]+\/json/,
      whenAnswered: async () => {
        if (++removals === 1) await docker('rm', '--force', id);
      },
    });

    expect(await place.prints(['echo', 'in'], { env: { DOCKER_HOST: address } })).toBe('in');

    expect(await idOf(place)).not.toBe(id);
  });
});

describe('an idle container', () => {
  test('ends itself, but not while a command is silent, and is started again', async () => {
    const place = await new Place(new Cai('[container]\nidle = "2s"\n')).opened();
    const id = await idOf(place);

    const lastMs = Number(await place.prints(['sh', '-c', 'sleep 5; date +%s%3N']));
    expect(await docker('wait', id)).toBe('0');
    const endMs = Date.parse(await place.inspect('{{.State.FinishedAt}}'));

    // It looks once a second.
    expect(endMs - lastMs).toBeGreaterThan(1_000);
    expect(endMs - lastMs).toBeLessThan(20_000);
    expect(await docker('logs', id)).toBe('');
    expect(await place.prints(['hostname'])).toBe(id.slice(0, 12));
  });

  test('ends itself and lets us in, though strangers connect again and again without logging in', async () => {
    const place = new Place(new Cai('[container]\nidle = "2s"\n'));
    const held = place.start(['sh', '-c', 'echo ready; cat']);
    await held.says('ready');
    const id = await idOf(place);
    const strangers = new Strangers(await doorOf(place), 80);
    await strangers.haveConnected();

    expect(await place.prints(['hostname'])).toBe(id.slice(0, 12));
    held.child.stdin.end();
    await held.succeeds();
    expect(await docker('wait', id)).toBe('0');

    strangers.leave();
  });
});

/** Connections that say nothing; each that is closed is opened again. */
class Strangers {
  readonly #sockets = new Set<Socket>();
  readonly #connected: Promise<unknown>;
  #haveLeft = false;

  constructor(door: string, count: number) {
    this.#connected = Promise.all(Array.from({ length: count }, () => this.#enter(door)));
  }

  async haveConnected(): Promise<void> {
    await this.#connected;
  }

  leave(): void {
    this.#haveLeft = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  async #enter(door: string): Promise<void> {
    const socket = connect(door);
    this.#sockets.add(socket);
    // The container ends at last, and then nobody listens.
    socket.on('error', () => (this.#haveLeft = true));
    socket.on('close', () => {
      this.#sockets.delete(socket);
      if (!this.#haveLeft) this.#enter(door).catch(() => undefined);
    });
    socket.resume();
    await once(socket, 'connect');
  }
}

describe('two homes of one user', () => {
  test('have a container each for the same workspace, which do not disturb each other', async () => {
    const one = await new Place(cai).opened();
    const other = new Place(new Cai(), one.workspace);
    const running = one.start(['cat']);
    running.child.stdin.write('one ');
    await running.says('one');

    const loud = ['exec', '--workspace', one.workspace, '--', 'hostname'];
    const { status, stdout, stderr } = await other.cai.run(loud);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.toString()).not.toBe(`${await one.prints(['hostname'])}\n`);
    running.child.stdin.end('two');
    expect((await running.succeeds()).stdout.toString()).toBe('one two');
    expect(await one.containers()).toHaveLength(2);
  });

  test('are both found by "cai ps" and "cai rm"', async () => {
    const one = await new Place(cai).opened();
    await new Place(new Cai(), one.workspace).opened();

    const { stdout } = await one.cai.run(['ps', '--json']);
    const listed = JSON.parse(stdout.toString()) as { readonly id: string; readonly workspace: string }[];
    const here = listed.filter(({ workspace }) => workspace === one.workspace).map(({ id }) => id);
    expect(here.sort()).toEqual((await one.containers()).sort());
    expect(here).toHaveLength(2);

    expect(await one.cai.run(['rm', '--workspace', one.workspace])).toMatchObject({ status: 0 });
    expect(await one.containers()).toEqual([]);
  });
});

describe('a command', () => {
  test('is counted once, whatever it calls itself', async () => {
    const place = await new Place(new Cai()).opened();
    const named = ['perl', '-e', '$0 = "/usr/bin/perl /run/cai/supervisor"; syswrite STDOUT, "named"; sleep'];
    const running = place.start(named);
    await running.says('named');

    const { stdout } = await place.cai.run(['ps', '--json']);

    const listed = JSON.parse(stdout.toString()) as {
      readonly workspace: string;
      readonly commands: number;
    }[];
    expect(listed.find(({ workspace }) => workspace === place.workspace)?.commands).toBe(1);
    running.child.kill('SIGKILL');
  });
});

describe('a container that was left half made', () => {
  test('is made anew by those who need it, once and without waiting for who has died', async () => {
    const place = new Place(cai);
    const address = await interferingEngine({
      request: /^POST \/containers\/create/,
      whenAnswered: async () => {
        maker.child.kill('SIGKILL');
        await maker.ends();
      },
    });
    const maker = place.start(['true'], { env: { DOCKER_HOST: address } });
    expect(await maker.ends()).toMatchObject({ signal: 'SIGKILL' });
    expect(await place.inspect('{{.State.Status}}')).toBe('created');

    const [one, other] = await Promise.all(
      [1, 2].map(() => place.start(['hostname']).succeeds(waitForDeadMs)),
    );

    const id = (await idOf(place)).slice(0, 12);
    expect([one, other].map((each) => each?.stdout.toString())).toEqual([`${id}\n`, `${id}\n`]);
  });
});
