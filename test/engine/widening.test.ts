import { existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Place, buildTimeoutMs } from './place';
import { git, nameAuthor, newRepository } from './repository';
import { rightsOf as rightsOfPlace } from './rights';
import { Cai, folder, newWorkspace, ownFile } from './support';

/** Nothing is protected from being written: what is written gives nothing all the same. */
const cai = new Cai('[protect]\noff = true\n');
/** What the agent would like to see. */
const secret = join(folder, 'private/secret');

beforeAll(async () => {
  ownFile(secret, 'secret');
  nameAuthor(cai);
  await new Place(cai).opened();
}, buildTimeoutMs);

/** What a container may, and whether it gets to the secret. */
const rightsOf = async (place: Place): Promise<string> => await rightsOfPlace(place, secret);

/** Makes the container anew, as a user does who knows nothing of what the agent did. */
async function anew(place: Place): Promise<{ status: number | null; stderr: string }> {
  const { status, stderr } = await cai.run(['exec', '--fresh', '-w', place.workspace, '--', 'true']);
  return { status, stderr };
}

describe('what the agent writes into the repository', () => {
  test.each([
    ['core.worktree', () => new Place(cai), () => '/'],
    [
      'a core.worktree that holds the workspace',
      () => new Place(cai, newWorkspace('above/below')),
      (place: Place) => dirname(place.workspace),
    ],
  ])('gives it nothing by %s', async (_, newPlace, worktree) => {
    const place = await newPlace().opened();
    const before = await rightsOf(place);
    await place.prints(['git', 'config', 'core.worktree', worktree(place)]);

    expect(await anew(place)).toMatchObject({ status: 0 });

    expect(await rightsOf(place)).toBe(before);
  });

  test('gives it nothing by a .git file that names a repository elsewhere', async () => {
    const other = newRepository(cai, 'elsewhere');
    git(cai, '-C', other, 'worktree', 'add', '--quiet', join(other, 'tree'));
    git(cai, '-C', other, 'submodule', '--quiet', 'add', newRepository(cai, 'part'), 'part');
    const place = await new Place(cai).opened();
    const before = await rightsOf(place);
    const targets = ['.git', '.git/worktrees/tree', '.git/modules/part', ''].map((each) => join(other, each));
    for (const target of [...targets, '/', dirname(secret)]) {
      expect(existsSync(target)).toBe(true);
      await place.prints(['sh', '-c', `rm -rf .git && echo "gitdir: ${target}" > .git`]);

      expect(await anew(place)).toMatchObject({ status: 0 });

      expect([target, await rightsOf(place)]).toEqual([target, before]);
    }
  });

  test('gives it nothing by a git folder of its own that claims to be the one of a worktree', async () => {
    const place = await new Place(cai).opened();
    const before = await rightsOf(place);
    // As git has it, but in a folder that the agent can reach, and with a common folder that it cannot.
    const script = `mv .git repository && mkdir -p repository/worktrees/w &&
      echo "$PWD/.git" > repository/worktrees/w/gitdir && echo ${dirname(secret)} > repository/worktrees/w/commondir &&
      echo "gitdir: $PWD/repository/worktrees/w" > .git`;
    await place.prints(['sh', '-c', script]);

    expect(await anew(place)).toMatchObject({ status: 0 });

    expect(await rightsOf(place)).toBe(before);
  });

  test('gives it nothing by .containai/config.toml, and each line is told', async () => {
    const place = await new Place(cai).opened();
    const before = await rightsOf(place);
    ownFile(join(place.workspace, '.containai/Dockerfile'), 'ARG CAI_IMAGE\nFROM ${CAI_IMAGE}\nUSER 0\n');
    const lines = [
      'image.base = "debian:12"',
      'image.dockerfile = "Dockerfile"',
      'network.http_proxy = "http://proxy.example:1"',
      'container.memory = "4000GiB"',
      'container.pids = 100000',
      'container.extra_hosts = ["example.com:127.0.0.1"]',
      'container.idle = "0s"',
      'env.import = ["HOME_SECRET"]',
      'engine.context = "other"',
      'agents.claude.command = ["sh"]',
      `mounts = [{ path = "${dirname(secret)}" }]`,
    ];
    await place.prints([
      'sh',
      '-c',
      `mkdir -p .containai && cat > .containai/config.toml <<'EOF'\n${lines.join('\n')}\nEOF`,
    ]);

    const { status, stderr } = await anew(place);

    expect(status).toBe(0);
    expect(await rightsOf(place)).toBe(before);
    expect(stderr).toContain(`config.toml: ${lines.length} keys are ignored: see "cai config"`);
    const all = (await place.cai.run(['config'], { cwd: place.workspace })).stderr;
    const told = lines.map((_, index) => new RegExp(`config\\.toml:${index + 1}: .* is ignored`).test(all));
    expect(lines.filter((_, index) => !told[index])).toEqual([]);
  });

  test('gives it nothing by a link in the place of the workspace', async () => {
    const place = await new Place(cai, newWorkspace('parent/child')).opened();
    const parent = await new Place(cai, dirname(place.workspace)).opened();
    await parent.prints(['sh', '-c', `mv child was && ln -s ${dirname(secret)} child`]);

    const { status, stderr } = await anew(place);

    expect(status).toBe(2);
    expect(stderr).toMatch(/child" belonged to the workspace .* and now leads to .*private", .* cai trust/);
  });

  test('gives it nothing by links in the workspace', async () => {
    const place = await new Place(cai).opened();
    mkdirSync(join(place.workspace, '.containai'));
    writeFileSync(join(folder, 'outside.toml'), `mounts = [{ path = "${dirname(secret)}" }]\n`);
    symlinkSync(join(folder, 'outside.toml'), join(place.workspace, '.containai/config.toml'));
    symlinkSync(dirname(secret), join(place.workspace, 'link'));

    const { status, stderr } = await anew(place);
    const through = await place.run(['cat', 'link/secret']);

    expect({ status, stderr }).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/config\.toml/) as string,
    });
    expect(through.stdout.toString()).toBe('');
    expect(realpathSync(join(place.workspace, 'link/secret'))).toBe(secret);
  });
});
