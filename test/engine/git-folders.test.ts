import { chownSync } from 'node:fs';
import { join } from 'node:path';
import { Place, buildTimeoutMs } from './place';
import { git, nameAuthor, newRepository } from './repository';
import { Cai, folder, ownFolder } from './support';

let cai: Cai;

beforeAll(async () => {
  cai = new Cai();
  nameAuthor(cai);
  await new Place(cai).opened();
}, buildTimeoutMs);

/** Without what is mounted in another one. */
async function bindsOf(place: Place): Promise<string[]> {
  const lines = await place.inspect(
    '{{range .Mounts}}{{.Type}} {{.Source}} {{.Destination}} {{.RW}}{{println}}{{end}}',
  );
  const binds = lines.split('\n').filter((line) => line.startsWith('bind ')).sort(); // prettier-ignore
  return binds.filter((bind) => !binds.some((other) => bind.split(' ')[1]!.startsWith(`${other.split(' ')[1]!}/`))); // prettier-ignore
}

describe('git in a container', () => {
  test('works in a repository, in the name of the user', async () => {
    const place = new Place(cai, newRepository(cai, 'plain'));

    await place.prints(['git', 'commit', '--quiet', '--allow-empty', '--message', 'inside']);

    expect(git(cai, '-C', place.workspace, 'log', '--format=%s %an %ae')).toBe(
      'inside Ada "L" B ada@example.com\nfirst Ada "L" B ada@example.com',
    );
    expect(await bindsOf(place)).toEqual([`bind ${place.workspace} ${place.workspace} true`]);
  });

  test('works in a folder whose name has characters of every sort', async () => {
    const place = new Place(cai, newRepository(cai, `a, ü "x" $y 'z' #&;`));

    const said = await place.prints([
      'sh',
      '-c',
      'git commit -q --allow-empty -m inside; git log --format=%s; pwd',
    ]);

    expect(said).toBe(`inside\nfirst\n${place.workspace}`);
  });

  test('works in a linked worktree of a bare repository', async () => {
    const place = new Place(cai, join(folder, 'trees/of-bare'));
    ownFolder(join(folder, 'trees'));
    git(cai, 'clone', '--quiet', '--bare', newRepository(cai, 'origin'), `${place.workspace}.git`);
    git(cai, '-C', `${place.workspace}.git`, 'worktree', 'add', '--quiet', '-b', 'branch', place.workspace);

    await place.prints(['git', 'commit', '--quiet', '--allow-empty', '--message', 'inside']);

    expect(git(cai, '-C', place.workspace, 'log', '--format=%s')).toBe('inside\nfirst');
  });

  test('works in a repository of somebody else where the user lets git do that', async () => {
    const place = new Place(cai, newRepository(cai, 'foreign'));
    chownSync(place.workspace, 4321, 4321);
    const show = ['git', 'log', '--format=%s'];
    git(cai, 'config', '--global', 'safe.directory', place.workspace);

    expect(await place.prints(show)).toBe('first');

    git(cai, 'config', '--global', '--unset', 'safe.directory');
    const { stderr } = await place.run(show, { options: ['--fresh'] });
    expect(stderr).toContain('dubious ownership');
  });

  test('works in a linked worktree, with the common git folder and nothing else of the repository', async () => {
    const main = newRepository(cai, 'main');
    const worktree = join(folder, 'trees/linked');
    ownFolder(join(folder, 'trees'));
    git(cai, '-C', main, 'worktree', 'add', '--quiet', '-b', 'branch', worktree);
    const place = new Place(cai, worktree);

    await place.prints([
      'sh',
      '-c',
      'echo more >> file && git add file && git commit --quiet --message inside',
    ]);

    expect(await place.prints(['git', 'log', '--format=%s'])).toBe('inside\nfirst');
    expect(git(cai, '-C', main, 'log', '--format=%s', 'branch')).toBe('inside\nfirst');
    expect(await bindsOf(place)).toEqual([`bind ${main}/.git ${main}/.git true`, `bind ${worktree} ${worktree} true`]); // prettier-ignore
    expect((await place.run(['cat', `${main}/file`])).status).not.toBe(0);
  });

  test('works in a submodule, with its own git folder alone', async () => {
    const inner = newRepository(cai, 'inner');
    const outer = newRepository(cai, 'outer');
    git(cai, '-C', outer, 'submodule', '--quiet', 'add', inner, 'sub');
    const place = new Place(cai, join(outer, 'sub'));

    await place.prints(['git', 'commit', '--quiet', '--allow-empty', '--message', 'inside']);

    expect(git(cai, '-C', place.workspace, 'log', '--format=%s')).toBe('inside\nfirst');
    const gitFolder = `${outer}/.git/modules/sub`;
    expect(await bindsOf(place)).toEqual(
      [`bind ${gitFolder} ${gitFolder} true`, `bind ${place.workspace} ${place.workspace} true`].sort(),
    );
    expect((await place.run(['cat', `${outer}/file`])).status).not.toBe(0);
  });
});
