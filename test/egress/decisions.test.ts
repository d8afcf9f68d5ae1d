import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decide, decisionsOf, forgetDecision, networkName } from '../../src/egress/decisions';
import { expectedError } from '../expected-error';
import { compiled, run } from '../support/program';
import { newFolder } from '../support/temp-folder';

const root = '/srv/bakery';
let state: string;
let folder: string;
let file: string;

beforeEach(() => {
  state = newFolder();
  folder = join(state, 'network');
  file = join(folder, `${networkName(root)}.json`);
});

const nothing = { allow: [], deny: [] };

describe('what is decided', () => {
  test('is nothing at first, which leaves no file behind', () => {
    expect(decisionsOf(state, root)).toEqual(nothing);
    expect(readdirSync(state)).toEqual([]);
  });

  test('is kept by rule, for one workspace alone', async () => {
    await decide(state, root, 'allow', 'a.example:443');
    await decide(state, root, 'deny', '*.b.example');
    await decide(state, root, 'allow', 'c.example');
    await decide(state, undefined, 'allow', 'd.example');

    expect(decisionsOf(state, root)).toEqual({
      allow: ['a.example:443', 'c.example'],
      deny: ['*.b.example'],
    });
    expect(decisionsOf(state, undefined)).toEqual({ allow: ['d.example'], deny: [] });
    expect(decisionsOf(state, '/srv/garden')).toEqual(nothing);
  });

  test('is what was said last of a rule', async () => {
    await decide(state, root, 'allow', 'a.example');
    await decide(state, root, 'allow', 'b.example');
    await decide(state, root, 'deny', 'a.example');
    expect(decisionsOf(state, root)).toEqual({ allow: ['b.example'], deny: ['a.example'] });

    await decide(state, root, 'allow', 'a.example');
    await decide(state, root, 'allow', 'a.example');
    expect(decisionsOf(state, root)).toEqual({ allow: ['b.example', 'a.example'], deny: [] });
  });

  test('can be forgotten', async () => {
    await decide(state, root, 'deny', 'a.example');
    await decide(state, root, 'allow', 'b.example');

    expect(await forgetDecision(state, root, 'a.example')).toBe(true);
    expect(await forgetDecision(state, root, 'a.example')).toBe(false);
    expect(await forgetDecision(state, undefined, 'b.example')).toBe(false);
    expect(decisionsOf(state, root)).toEqual({ allow: ['b.example'], deny: [] });
  });

  test('is readable for the user alone, and nothing else is left', async () => {
    await decide(state, root, 'allow', 'a.example');

    expect([statSync(folder).mode & 0o777, statSync(file).mode & 0o777]).toEqual([0o700, 0o600]);
    expect(readdirSync(folder)).toEqual([`${networkName(root)}.json`]);
  });

  test('holds no more than 5000 rules, and a rule can still change its kind then', async () => {
    const allow = Array.from({ length: 4_999 }, (_, index) => `h${index}.example`);
    mkdirSync(folder);
    writeFileSync(file, JSON.stringify({ version: 1, root, allow, deny: ['last.example'] }));

    await expect(decide(state, root, 'allow', 'more.example')).rejects.toMatchObject(
      expectedError('CONFIG', /^5000 rules are decided for "\/srv\/bakery" already.*cai network forget RULE/),
    );
    await decide(state, root, 'allow', 'last.example');
    expect(decisionsOf(state, root).allow).toEqual([...allow, 'last.example']);
  });
});

describe('a file that does not count', () => {
  const whole = { version: 1, root, allow: ['a.example'], deny: ['b.example'] };

  test.each([
    ['damaged', '{"version":1,"ro'],
    ['empty', ''],
    ['not an object', 'null'],
    ['of a newer version', JSON.stringify({ ...whole, version: 2 })],
    ['of another workspace', JSON.stringify({ ...whole, root: '/srv/garden' })],
    ['without a list', JSON.stringify({ ...whole, deny: undefined })],
    ['with a rule that is none', JSON.stringify({ ...whole, allow: [1] })],
  ])('decides nothing, says so, and is not overwritten: %s', async (_, content) => {
    mkdirSync(folder);
    writeFileSync(file, content);
    const fault = `${file} is damaged, of another workspace, or of another version of cai`;

    expect(decisionsOf(state, root)).toEqual({ ...nothing, fault: expect.stringContaining(fault) as string });
    for (const change of [
      decide(state, root, 'allow', 'c.example'),
      forgetDecision(state, root, 'a.example'),
    ])
      await expect(change).rejects.toMatchObject(expectedError('CONFIG', fault));
    expect(readFileSync(file, 'utf8')).toBe(content);
    expect(readdirSync(folder)).toEqual([`${networkName(root)}.json`]);
  });

  test('is one that was copied from another workspace', async () => {
    await decide(state, '/srv/garden', 'allow', 'a.example');
    copyFileSync(join(folder, `${networkName('/srv/garden')}.json`), file);

    expect(decisionsOf(state, root)).toMatchObject(nothing);
  });

  test('is one that cannot be read', async () => {
    mkdirSync(file, { recursive: true });

    expect(decisionsOf(state, root).fault).toMatch(
      /\.json cannot be read: .*: make .* a folder that you can/,
    );
    await expect(decide(state, root, 'allow', 'a.example')).rejects.toMatchObject(
      expectedError('CONFIG', 'cannot be read'),
    );
  });
});

test('a state folder that cannot be written is an error that says what to do', async () => {
  writeFileSync(folder, '');

  await expect(decide(state, root, 'allow', 'a.example')).rejects.toMatchObject(
    expectedError('CONFIG', /\/network\/\w+\.json cannot be (read|written): .* or set XDG_STATE_HOME/),
  );
});

/** Decides as many rules as it is told to, each with its name. */
const decider = compiled(`
  import { decide } from './src/egress/decisions';
  const [state, root, name, count] = process.argv.slice(2);
  void (async () => {
    for (let index = 0; index < Number(count); index++)
      await decide(state, root, index % 2 === 0 ? 'allow' : 'deny', name + index + '.example');
  })();
`);

test('nothing is lost when several processes decide at once', async () => {
  const count = 20;
  const names = ['a', 'b', 'c'];

  const ended = await Promise.all(
    names.map((name) => once(run(decider, [state, root, name, String(count)]), 'close')),
  );

  expect(ended).toEqual(names.map(() => [0, null]));
  const { allow, deny } = decisionsOf(state, root);
  const all = names.flatMap((name) => Array.from({ length: count }, (_, index) => `${name}${index}.example`));
  expect([...allow, ...deny].sort()).toEqual(all.sort());
  expect(allow.length).toBe(deny.length);
  expect(readdirSync(folder)).toEqual([`${networkName(root)}.json`]);
});

test('what one process decides all at once is kept, too', async () => {
  const rules = Array.from({ length: 10 }, (_, index) => `h${index}.example`);

  await Promise.all(rules.map((rule) => decide(state, root, 'allow', rule)));

  expect([...decisionsOf(state, root).allow].sort()).toEqual(rules);
});
