import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import { forget, record, recorded } from '../../src/workspace/records';
import { checkRoot, findCheckedWorkspace, outgrownRoot, rootLeftByLink } from '../../src/workspace/trust';
import { findWorkspace, rootNotice } from '../../src/workspace/root';
import { git } from '../support/git';
import { compiled, run } from '../support/program';
import { newFolder } from '../support/temp-folder';
import { expectedError } from '../expected-error';

let state: string;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  const home = newFolder();
  state = join(home, 'state');
  env = { ...process.env, HOME: home, XDG_STATE_HOME: state };
});

const placed = (cwd: string, root: string) => ({ cwd, realCwd: cwd, root });

const filesOf = (kind: string): string[] =>
  readdirSync(join(state, 'containai', kind)).map((name) => join(state, 'containai', kind, name));

test('a root is not recorded while git gives no answer, which is told', async () => {
  const folder = newFolder();
  mkdirSync(join(folder, '.git'));
  mkdirSync(join(folder, 'sub'));
  const bin = newFolder();
  writeFileSync(join(bin, 'git'), '#!/bin/sh\nexec sleep 1000\n', { mode: 0o755 });
  const host = new Host({ ...env, PATH: `${bin}:${process.env.PATH}` });

  const workspace = await findCheckedWorkspace(join(folder, 'sub'), host);
  expect(workspace.root).toBe(join(folder, 'sub'));
  expect(rootNotice(workspace)).toMatch(/ alone, because git did not answer within 2 s: /);
  expect(recorded(host.folders.state, 'roots', join(folder, 'sub'))).toBeUndefined();
});

describe('a trusted file', () => {
  test('is recorded for the owner alone, with nothing left beside it', () => {
    const umask = process.umask(0);
    record(new Host(env).folders.state, 'trusted', '/r/c.toml', 'aa');
    process.umask(umask);

    const [file, ...more] = filesOf('trusted');
    expect(more).toEqual([]);
    expect(statSync(file!).mode & 0o777).toBe(0o600);
    expect(statSync(join(state, 'containai/trusted')).mode & 0o777).toBe(0o700);
  });

  test.each([
    ...['', 'null', '[]', '{"path":"/r/c.toml","value":'],
    ...['{"path":"/other","value":"aa"}', '{"path":"/r/c.toml"}'],
  ])('is not trusted by a damaged record: %s', (content) => {
    record(new Host(env).folders.state, 'trusted', '/r/c.toml', 'aa');
    writeFileSync(filesOf('trusted')[0]!, content);

    expect(recorded(new Host(env).folders.state, 'trusted', '/r/c.toml')).not.toBe('aa');
    record(new Host(env).folders.state, 'trusted', '/r/c.toml', 'aa');
    expect(recorded(new Host(env).folders.state, 'trusted', '/r/c.toml')).toBe('aa');
  });

  test('cannot be recorded without a place for it', () => {
    env = { ...env, XDG_STATE_HOME: '/dev/null/state' };

    expect(() => record(new Host(env).folders.state, 'trusted', '/r/c.toml', 'aa')).toThrow(
      expect.objectContaining(expectedError('CONFIG', /cannot be written/)) as Error,
    );
    expect(recorded(new Host(env).folders.state, 'trusted', '/r/c.toml')).not.toBe('aa');
    expect(() => forget(new Host(env).folders.state, 'trusted', '/r/c.toml')).toThrow(
      expect.objectContaining({ code: 'CONFIG' }) as Error,
    );
  });
});

describe('checkRoot', () => {
  const widerThan = (recorded: string, root: string) =>
    expect.objectContaining({
      code: 'WORKSPACE',
      rpcCode: -32602,
      message: expect.stringMatching(
        `^"/a/b/c" belonged to the workspace "${recorded}" and now leads to "${root}".*: cai trust "/a/b/c"$`,
      ) as string,
    }) as Error;

  test('records the first root, and lets it be', () => {
    checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a/b'));
    const [file] = filesOf('roots');
    const before = statSync(file!).ino;

    checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a/b'));

    expect(JSON.parse(readFileSync(file!, 'utf8'))).toEqual({ path: '/a/b/c', value: '/a/b' });
    // The same file: nothing was written.
    expect(statSync(file!).ino).toBe(before);
    expect(statSync(file!).mode & 0o777).toBe(0o600);
  });

  test('refuses a wider root', () => {
    checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a/b'));

    expect(() => checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a'))).toThrow(
      widerThan('/a/b', '/a'),
    );
    expect(() => checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a'))).toThrow(
      widerThan('/a/b', '/a'),
    );
    expect(outgrownRoot(new Host(env).folders.state, placed('/a/b/c', '/a'))).toBe('/a/b');
  });

  test('refuses a root elsewhere, as that of a link that was put in the place of the folder', () => {
    checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a/b'));

    expect(() => checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a/bb'))).toThrow(
      widerThan('/a/b', '/a/bb'),
    );
    expect(() => checkRoot(new Host(env).folders.state, placed('/a/b/c', '/home/u/.ssh'))).toThrow(
      widerThan('/a/b', '/home/u/.ssh'),
    );
  });

  test('takes a narrower root, and the recorded one again', () => {
    checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a'));
    expect(outgrownRoot(new Host(env).folders.state, placed('/a/b/c', '/a/b'))).toBeUndefined();

    checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a/b'));

    expect(() => checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a'))).not.toThrow();
    expect(() => checkRoot(new Host(env).folders.state, placed('/a/b/c', '/'))).toThrow(widerThan('/a', '/'));
  });

  test('refuses one around a root, also for another folder in that', () => {
    checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a/b'));

    for (const folder of ['/a/b', '/a/b/new'])
      expect(() => checkRoot(new Host(env).folders.state, placed(folder, '/a'))).toThrow(
        `"${folder}" belonged to the workspace "/a/b" and now leads to "/a"`,
      );
    expect(() => checkRoot(new Host(env).folders.state, placed('/a/d', '/a'))).not.toThrow();
  });

  test('takes a wider root that is trusted', () => {
    checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a/b'));

    record(new Host(env).folders.state, 'roots', '/a/b/c', '/a');

    expect(() => checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a'))).not.toThrow();
    expect(outgrownRoot(new Host(env).folders.state, placed('/a/b/c', '/a'))).toBeUndefined();
    expect(() => checkRoot(new Host(env).folders.state, placed('/a/b/c', '/'))).toThrow(widerThan('/a', '/'));
  });

  test('takes any root of a folder that is forgotten', () => {
    checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a/b'));

    expect(forget(new Host(env).folders.state, 'roots', '/a/b/c')).toBe(true);
    expect(() => checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a'))).not.toThrow();
  });

  test('lets work go on where nothing can be recorded', () => {
    env = { ...env, XDG_STATE_HOME: '/dev/null/state' };

    expect(() => checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a/b'))).not.toThrow();
    expect(() => checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a'))).not.toThrow();
  });

  /** Records one root and another in turns; ends with 1 if there was none meanwhile. */
  const recorder = compiled(`
    import { record } from './src/workspace/records';
import { outgrownRoot } from './src/workspace/trust';
    const [state] = process.argv.slice(2);
    for (let i = 0; i < 200; i++) {
      record(state, 'roots', '/a/b/c', i % 2 === 0 ? '/a/b' : '/a');
      if (outgrownRoot(state, { cwd: '/a/b/c', realCwd: '/a/b/c', root: '/' }) === undefined) process.exit(1);
    }
  `);

  test('always finds a record among processes that write it at once', async () => {
    checkRoot(new Host(env).folders.state, placed('/a/b/c', '/a/b'));
    const programs = Array.from({ length: 4 }, () => run(recorder, [new Host(env).folders.state], env));

    const ends = await Promise.all(programs.map((program) => once(program, 'exit')));

    expect(ends.map(([status]) => status as number)).toEqual([0, 0, 0, 0]);
    expect(filesOf('roots')).toHaveLength(1);
  });
});

describe('findCheckedWorkspace', () => {
  test('is the root that was decided, whatever git says by now', async () => {
    const [folder, host] = [newFolder(), new Host(env)];
    git(folder, 'init', '-q');
    mkdirSync(join(folder, 'sub'));

    const workspace = await findCheckedWorkspace(join(folder, 'sub'), host, '1:1');

    expect(workspace.root).toBe(join(folder, 'sub'));
    expect(rootNotice(workspace)).toMatch(/ alone, because git did not answer /);
    expect((await findCheckedWorkspace(folder, host, '1:1')).isUnsure).toBeUndefined();
  });

  test('refuses the repository around one that an agent has broken, for a new folder, too', async () => {
    const [folder, host] = [newFolder(), new Host(env)];
    const inner = join(folder, 'inner');
    mkdirSync(join(inner, 'new'), { recursive: true });
    for (const each of [folder, inner]) git(each, 'init', '-q');
    expect((await findCheckedWorkspace(inner, host)).root).toBe(inner);
    writeFileSync(join(inner, '.git/HEAD'), 'broken');

    await expect(findCheckedWorkspace(join(inner, 'new'), host)).rejects.toThrow('belonged to the workspace');
  });

  describe('with a link', () => {
    let known: string;
    let other: string;

    beforeEach(async () => {
      const top = newFolder();
      [known, other] = [join(top, 'known'), join(top, 'other')];
      for (const folder of [known, other, join(known, 'sub'), join(other, 'sub')]) mkdirSync(folder);
      expect((await findCheckedWorkspace(known, new Host(env))).root).toBe(known);
    });

    const link = (path: string, target: string): string => {
      symlinkSync(target, path);
      return path;
    };
    const refused = (cwd: string, root: string) =>
      expect.objectContaining({
        code: 'WORKSPACE',
        message: `"${cwd}" leads to "${root}" by a link in the workspace "${known}", where an agent can make links: if that is right, run: cai trust "${cwd}"`,
      }) as Error;

    test.each([
      ['itself', (inside: string) => link(inside, '../other'), ''],
      ['above it', (inside: string) => join(link(inside, other), 'sub'), '/sub'],
      ['behind another', (inside: string) => link(join(other, 'in'), link(inside, other)), ''],
    ])(
      'that lies in a known workspace and leads out of it, %s, is refused until it is trusted',
      async (_, make, below) => {
        const cwd = make(join(known, 'link'));

        await expect(findCheckedWorkspace(cwd, new Host(env))).rejects.toEqual(
          refused(cwd, `${other}${below}`),
        );
        await expect(findCheckedWorkspace(cwd, new Host(env))).rejects.toEqual(
          refused(cwd, `${other}${below}`),
        );
        expect(
          await rootLeftByLink(
            new Host(env).folders.state,
            await findWorkspace(cwd, { host: new Host(env) }),
          ),
        ).toBe(known);

        record(new Host(env).folders.state, 'roots', cwd, `${other}${below}`);
        expect((await findCheckedWorkspace(cwd, new Host(env))).root).toBe(`${other}${below}`);
      },
    );

    test('that stays in its workspace, or lies in none that is known, is followed', async () => {
      record(new Host(env).folders.state, 'roots', join(known, 'sub'), known);
      mkdirSync(join(known, '.containai'));
      writeFileSync(join(known, '.containai/config.toml'), '');
      const inner = link(join(known, 'inner'), 'sub');
      const outer = link(join(other, 'outer'), known);

      expect((await findCheckedWorkspace(inner, new Host(env))).root).toBe(known);
      expect((await findCheckedWorkspace(outer, new Host(env))).root).toBe(known);
    });
  });
});
