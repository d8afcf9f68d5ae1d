import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Tokens } from '../../../../src/served/server/door/tokens';
import { Host } from '../../../../src/system/host';
import { expectedError } from '../../../expected-error';
import { newFolder } from '../../../support/temp-folder';

let folder: string;
let ownerFile: string;
let file: string;
let tokens: Tokens;
let another: () => Tokens;

beforeEach(() => {
  const state = newFolder();
  folder = join(state, 'containai/serve');
  ownerFile = join(folder, 'token');
  file = join(folder, 'tokens.json');
  const host = new Host({ HOME: '/home/u', XDG_STATE_HOME: state });
  another = () => new Tokens(host);
  tokens = another();
});

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

describe("the user's own token", () => {
  test('is made once, for this user alone', () => {
    const token = tokens.ownerToken();

    expect(token).toMatch(/^cai_[\w-]{43}$/);
    expect([modeOf(folder), modeOf(ownerFile)]).toEqual([0o700, 0o600]);
    expect(readFileSync(ownerFile, 'utf8')).toBe(`${token}\n`);
    expect(tokens.ownerToken()).toBe(token);
    expect(another().ownerToken()).toBe(token);
    expect(tokens.holderOf(token)).toMatchObject({ name: 'owner' });
  });

  test('is another one for each user', () => {
    const other = new Tokens(new Host({ HOME: '/home/u', XDG_STATE_HOME: newFolder() }));

    expect(other.ownerToken()).not.toBe(tokens.ownerToken());
    expect(tokens.holderOf(other.ownerToken())).toBeUndefined();
  });

  test('is replaced when it is revoked', async () => {
    const old = tokens.ownerToken();
    const holder = tokens.holderOf(old)!;

    expect(await another().revoke('owner')).toBe(1);

    expect(tokens.holderOf(old)).toBeUndefined();
    expect(tokens.isHeld(holder)).toBe(false);
    expect(tokens.holderOf(tokens.ownerToken())).toMatchObject({ name: 'owner' });
    expect(modeOf(ownerFile)).toBe(0o600);
  });

  test('is not there to be revoked before a server has made it', async () => {
    expect(await tokens.revoke('owner')).toBe(0);
    expect(existsSync(folder)).toBe(false);
  });

  test.each(['', 'cai_short', 'cai_' + 'a'.repeat(44), 'a'.repeat(47)])('is never %j', (text) => {
    tokens.ownerToken();
    writeFileSync(ownerFile, text);

    expect(() => another().ownerToken()).toThrow(
      expect.objectContaining(expectedError('CONFIG', 'holds no token')) as Error,
    );
  });
});

describe('tokens of others', () => {
  test('are kept as digests, and found', async () => {
    const token = await tokens.add('ann');

    expect(token).toMatch(/^cai_[\w-]{43}$/);
    expect(modeOf(file)).toBe(0o600);
    expect(readFileSync(file, 'utf8')).not.toContain(token.slice(4));
    const holder = another().holderOf(token)!;
    expect(holder).toMatchObject({ name: 'ann' });
    expect(another().isHeld(holder)).toBe(true);
    expect(tokens.list()).toEqual([
      { name: 'ann', sha256: holder.sha256, created: expect.stringMatching(/^\d{4}-.*Z$/) as string },
    ]);
  });

  test('are none for anything that differs', async () => {
    const token = await tokens.add('ann');
    const { sha256 } = tokens.list()[0]!;

    for (const wrong of [
      '',
      token.slice(0, -1),
      `${token}a`,
      token.toUpperCase(),
      sha256,
      ` ${token}`,
      'owner',
    ])
      expect(tokens.holderOf(wrong)).toBeUndefined();
  });

  test('are found for each of several people', async () => {
    const own = tokens.ownerToken();
    const given = [await tokens.add('ann'), await tokens.add('bob'), await tokens.add('eve')];

    expect([...given, own].map((token) => tokens.holderOf(token)!.name)).toEqual([
      'ann',
      'bob',
      'eve',
      'owner',
    ]);
  });

  test('are one a name', async () => {
    await tokens.add('ann');

    await expect(tokens.add('ann')).rejects.toMatchObject(
      expectedError('USAGE', 'cai serve token revoke ann'),
    );
  });

  test('are gone once revoked, also for a server that runs, and a new one is another one', async () => {
    const old = await tokens.add('ann');
    const kept = await tokens.add('bob');
    const holder = tokens.holderOf(old)!;

    expect(await another().revoke('ann')).toBe(1);

    expect(tokens.holderOf(old)).toBeUndefined();
    expect(tokens.isHeld(holder)).toBe(false);
    expect(tokens.holderOf(kept)).toMatchObject({ name: 'bob' });
    const next = await another().add('ann');
    expect(tokens.holderOf(next)).toMatchObject({ name: 'ann' });
    expect(tokens.isHeld(holder)).toBe(false);
    expect(await tokens.revoke('eve')).toBe(0);
  });

  test('are told with the last day on which they were right, and a revoked one does not come back by that', async () => {
    const [token, revoked] = [await tokens.add('ann'), await tokens.add('bob')];
    const [ann, bob] = [tokens.holderOf(token)!, tokens.holderOf(revoked)!];
    await another().revoke('bob');

    await Promise.all([tokens.noteUse(ann), tokens.noteUse(ann), tokens.noteUse(bob)]);

    const today = new Date().toISOString().slice(0, 10);
    expect(tokens.list()).toEqual([{ ...ann, used: today }]);
    const written = readFileSync(file, 'utf8');
    renameSync(file, `${file}.old`);
    await tokens.noteUse(ann);
    await tokens.noteUse(tokens.holderOf(tokens.ownerToken())!);
    expect(existsSync(file)).toBe(false);
    writeFileSync(file, written, { mode: 0o600 });
    await another().noteUse(ann);
    expect(readFileSync(file, 'utf8')).toBe(written);
  });

  test('are no longer good when they have expired, and then make room', async () => {
    const token = await tokens.add('ann');
    const holder = tokens.holderOf(token)!;
    expect(tokens.isHeld(holder)).toBe(true);
    for (const expires of [new Date().toISOString(), 'never']) {
      writeFileSync(file, JSON.stringify({ tokens: [{ ...holder, label: 'laptop', expires }] }));

      expect(tokens.holderOf(token)).toBeUndefined();
      expect(tokens.holderNamed('ann')).toBeUndefined();
      expect(tokens.isHeld(holder)).toBe(false);
      expect(tokens.list()).toEqual([]);
    }
    await tokens.add('bob');
    expect(readFileSync(file, 'utf8')).not.toContain('ann');
  });

  test('are made as long as there is room', async () => {
    const token = await tokens.add('ann');
    const many = { name: 'bob', label: 'x'.repeat(1_048_576) };

    await expect(tokens.addOne(many, () => undefined)).rejects.toMatchObject(
      expectedError('CONFIG', 'has room for no more tokens'),
    );

    expect(tokens.holderOf(token)).toMatchObject({ name: 'ann' });
  });

  test('are all kept when several are made at once', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `user${index}`);

    const results = await Promise.allSettled(names.map((name) => another().add(name)));

    const added = names.filter((_, index) => results[index]!.status === 'fulfilled');
    expect(added).toEqual(names);
    expect(
      tokens
        .list()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(names);
  });

  test.each([
    '{',
    '[]',
    '{"tokens":[{"name":"ann"}]}',
    '{"tokens":[{"name":"a","sha256":"00","created":""}]}',
    `{"tokens":[{"name":"a","sha256":"${'0'.repeat(64)}","created":"","expires":1}]}`,
  ])('are none in a file that is damaged: %s', async (text) => {
    const token = await tokens.add('ann');
    writeFileSync(file, text);

    expect(() => tokens.holderOf(token)).toThrow(
      expect.objectContaining(expectedError('CONFIG', 'is damaged')) as Error,
    );
    expect(() => tokens.list()).toThrow(
      expect.objectContaining(expectedError('CONFIG', 'is damaged')) as Error,
    );
  });
});

describe('files that others could have written or read', () => {
  let token: string;
  beforeEach(async () => {
    tokens.ownerToken();
    token = await tokens.add('ann');
    expect(tokens.holderOf(token)).toBeDefined();
  });

  function expectRefusal(what: RegExp): void {
    for (const look of [() => tokens.holderOf(token), () => tokens.isHeld({ name: 'ann', sha256: '' })])
      expect(look).toThrow(expect.objectContaining(expectedError('CONFIG', what)) as Error);
  }

  test.each([0o644, 0o640, 0o660, 0o602, 0o604])('are refused by their rights: %o', (mode) => {
    chmodSync(file, mode);
    expectRefusal(/tokens\.json can be used by other users/);
    chmodSync(file, 0o600);
    expect(tokens.holderOf(token)).toBeDefined();

    chmodSync(ownerFile, mode);
    expectRefusal(/token can be used by other users/);
  });

  test.each([0o755, 0o770, 0o701])('are refused by the rights of their folder: %o', (mode) => {
    chmodSync(folder, mode);

    expectRefusal(/serve can be used by other users/);
    expect(() => another().ownerToken()).toThrow(/serve can be used by other users/);
    chmodSync(folder, 0o700);
  });

  test.each(['token', 'tokens.json'])('are refused as symbolic links: %s', (name) => {
    const path = join(folder, name);
    renameSync(path, `${path}.real`);
    symlinkSync(`${path}.real`, path);

    expectRefusal(/is a symbolic link/);
  });

  test('are refused in a folder that is a link', () => {
    renameSync(folder, `${folder}.real`);
    symlinkSync(`${folder}.real`, folder);

    expectRefusal(/no link to one/);
  });

  test('are refused where something else is', () => {
    renameSync(file, `${file}.old`);
    mkdirSync(file, { mode: 0o700 });

    expectRefusal(/is no file of ours/);
  });

  test('are refused when they belong to somebody else', () => {
    class Other extends Host {
      override get user() {
        return { uid: super.user.uid + 1, gid: 0 };
      }
    }
    const theirs = new Tokens(new Other({ HOME: '/home/u', XDG_STATE_HOME: join(folder, '../..') }));

    expect(() => theirs.holderOf(token)).toThrow(/belongs to another user/);
    expect(() => theirs.ownerToken()).toThrow(/belongs to another user/);
  });

  test('are never written through', async () => {
    const target = join(newFolder(), 'victim');
    writeFileSync(target, 'theirs');
    renameSync(file, `${file}.old`);
    symlinkSync(target, file);

    await expect(tokens.add('bob')).rejects.toMatchObject(expectedError('CONFIG', 'is a symbolic link'));
    expect(readFileSync(target, 'utf8')).toBe('theirs');
  });

  test('let nobody in when they are gone', () => {
    renameSync(file, `${file}.old`);
    expect(tokens.holderOf(token)).toBeUndefined();
    linkSync(`${file}.old`, file);
    expect(tokens.holderOf(token)).toBeDefined();
  });
});
