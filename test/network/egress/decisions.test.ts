import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keepDecision, decisionsOf, forgetDecision } from '../../../src/network/egress/decisions';
import { recordName } from '../../../src/system/state-folder';
import { expectedError } from '../../expected-error';
import { compiled, run } from '../../support/program';
import { newFolder } from '../../support/temp-folder';

const root = '/srv/bakery';
let state: string;
let folder: string;
let file: string;

beforeEach(() => {
  state = newFolder();
  folder = join(state, 'network');
  file = join(folder, `${recordName(root)}.json`);
});

/** An error of ours about the file, with these words. */
const failure = (message: string | RegExp) =>
  expect.objectContaining(expectedError('CONFIG', message)) as Error;
const nothing = { allow: [], deny: [] };

describe('what is decided', () => {
  test('is nothing at first, which leaves no file behind', () => {
    expect(decisionsOf(state, root)).toEqual(nothing);
    expect(readdirSync(state)).toEqual([]);
  });

  test('is kept by rule, for one workspace alone', () => {
    keepDecision(state, root, 'allow', 'a.example:443');
    keepDecision(state, root, 'deny', '*.b.example');
    keepDecision(state, root, 'allow', 'c.example');
    keepDecision(state, undefined, 'allow', 'd.example');

    expect(decisionsOf(state, root)).toEqual({
      allow: ['a.example:443', 'c.example'],
      deny: ['*.b.example'],
    });
    expect(decisionsOf(state, undefined)).toEqual({ allow: ['d.example'], deny: [] });
    expect(decisionsOf(state, '/srv/garden')).toEqual(nothing);
  });

  test('can be forgotten', () => {
    keepDecision(state, root, 'deny', 'a.example');
    keepDecision(state, root, 'allow', 'b.example');

    expect(forgetDecision(state, root, 'a.example')).toBe(true);
    expect(forgetDecision(state, root, 'a.example')).toBe(false);
    expect(forgetDecision(state, undefined, 'b.example')).toBe(false);
    expect(decisionsOf(state, root)).toEqual({ allow: ['b.example'], deny: [] });
  });

  test('is readable for the user alone, and nothing else is left', () => {
    keepDecision(state, root, 'allow', 'a.example');

    expect([statSync(folder).mode & 0o777, statSync(file).mode & 0o777]).toEqual([0o700, 0o600]);
    expect(readdirSync(folder)).toEqual([`${recordName(root)}.json`]);
  });

  test('holds no more than 5000 rules, and a rule can still change its kind then', () => {
    const allow = Array.from({ length: 4_999 }, (_, index) => `h${index}.example`);
    mkdirSync(folder);
    writeFileSync(file, JSON.stringify({ version: 1, root, allow, deny: ['last.example'] }));

    expect(() => keepDecision(state, root, 'allow', 'more.example')).toThrow(
      failure(/^5000 rules are decided for "\/srv\/bakery" already.*cai network forget RULE/),
    );
    keepDecision(state, root, 'allow', 'last.example');
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
  ])('decides nothing, says so, and is not overwritten: %s', (_, content) => {
    mkdirSync(folder);
    writeFileSync(file, content);
    const fault = `${file} is damaged, of another workspace, or of another version of cai`;

    expect(decisionsOf(state, root)).toEqual({ ...nothing, fault: expect.stringContaining(fault) as string });
    expect(() => keepDecision(state, root, 'allow', 'c.example')).toThrow(failure(fault));
    expect(() => forgetDecision(state, root, 'a.example')).toThrow(failure(fault));
    expect(readFileSync(file, 'utf8')).toBe(content);
    expect(readdirSync(folder)).toEqual([`${recordName(root)}.json`]);
  });

  test('is one that cannot be read', () => {
    mkdirSync(file, { recursive: true });

    expect(decisionsOf(state, root).fault).toMatch(
      /\.json cannot be read: .*: make .* a folder that you can/,
    );
    expect(() => keepDecision(state, root, 'allow', 'a.example')).toThrow(failure('cannot be read'));
  });
});

test('a state folder that cannot be written is an error that says what to do', () => {
  writeFileSync(folder, '');

  expect(() => keepDecision(state, root, 'allow', 'a.example')).toThrow(
    failure(/\/network\/\w+\.json cannot be (read|written): .* or set XDG_STATE_HOME/),
  );
});

/** Decides as many rules as it is told to, each with its name. */
const decider = compiled(`
  import { keepDecision } from './src/network/egress/decisions';
  const [state, root, name, count] = process.argv.slice(2);
  void (() => {
    for (let index = 0; index < Number(count); index++)
      keepDecision(state, root, index % 2 === 0 ? 'allow' : 'deny', name + index + '.example');
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
  expect(readdirSync(folder)).toEqual([`${recordName(root)}.json`]);
});

/** Takes the lock of that name, says so, and keeps it. */
const holder = compiled(`
  import { ProcessLocks } from './src/system/process-lock';
  const [folder, name] = process.argv.slice(2);
  new ProcessLocks(folder).tryTake(name);
  process.stdout.write('mine');
  setInterval(() => undefined, 1_000);
`);

test('a process that stands still while it writes is an error, not a wait for ever', async () => {
  const other = run(holder, [folder, `${recordName(root)}.json`]);
  await once(other.stdout, 'data');

  try {
    expect(() => keepDecision(state, root, 'allow', 'a.example')).toThrow(
      failure('cannot be written: another process does not stop writing it'),
    );
  } finally {
    other.kill('SIGKILL');
    await once(other, 'close');
  }
  keepDecision(state, root, 'allow', 'a.example');
  expect(decisionsOf(state, root).allow).toEqual(['a.example']);
});
