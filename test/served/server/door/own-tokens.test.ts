import { OwnTokens, type OwnToken } from '../../../../src/served/server/door/own-tokens';
import { Tokens } from '../../../../src/served/server/door/tokens';
import { Host } from '../../../../src/system/host';
import { expectedError } from '../../../expected-error';
import { newFolder } from '../../../support/temp-folder';

let tokens: Tokens;
let ann: OwnTokens;
let bob: OwnTokens;
beforeEach(() => {
  tokens = new Tokens(new Host({ HOME: '/home/u', XDG_STATE_HOME: newFolder() }));
  [ann, bob] = [new OwnTokens(tokens, { name: 'ann' }), new OwnTokens(tokens, { name: 'bob' })];
});

const labelsOf = (own: OwnTokens) => own.list().map(({ label }) => label);

test('a token is the person who has made it, for 90 days', async () => {
  const token = await ann.make('laptop');

  expect(token).toMatch(/^cai_[\w-]{43}$/);
  expect(tokens.holderOf(token)).toMatchObject({ name: 'ann' });
  const [{ created, expires, ...told }] = ann.list() as [OwnToken];
  expect(told).toEqual({ label: 'laptop', used: undefined });
  const days = (Date.parse(expires!) - Date.parse(created!)) / 86_400_000;
  expect(days).toBeGreaterThan(89.9);
  expect(days).toBeLessThan(90.1);
});

test('a token that has ended is none, and the others stay', async () => {
  const [token, kept] = [await ann.make('laptop'), await ann.make('desk')];
  const holder = tokens.holderOf(token)!;

  expect(await ann.end('laptop')).toBe(true);

  expect(tokens.isHeld(holder)).toBe(false);
  expect(tokens.holderOf(kept)).toMatchObject({ name: 'ann' });
  expect(labelsOf(ann)).toEqual(['desk']);
  expect(await ann.end('laptop')).toBe(false);
});

test("nobody sees or ends another person's token, nor one that the user of the server has made", async () => {
  const [token, given] = [await ann.make('laptop'), await tokens.add('ann')];
  await bob.make('desk');

  expect(labelsOf(bob)).toEqual(['desk']);
  expect(labelsOf(ann)).toEqual(['laptop']);
  for (const label of ['laptop', 'ann', '', undefined!]) expect(await bob.end(label)).toBe(false);
  for (const label of ['', undefined!]) expect(await ann.end(label)).toBe(false);
  expect([token, given].map((each) => tokens.holderOf(each)?.name)).toEqual(['ann', 'ann']);
});

test('a person has ten tokens, each of another name', async () => {
  for (let n = 1; n < 10; n++) await ann.make(`${n}`);
  await expect(ann.make('1')).rejects.toMatchObject(expectedError('USAGE', 'you have a token "1": end it'));

  const made = await Promise.allSettled([ann.make('tenth'), ann.make('eleventh')]);

  expect(made.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(ann.list()).toHaveLength(10);
  await expect(ann.make('one more')).rejects.toMatchObject(expectedError('USAGE', 'you have 10 tokens'));
  expect(await bob.make('1')).toBeDefined();
  await ann.end('1');
  await ann.make('one more');
});

test('the user of the server gives one besides, and takes all of them back', async () => {
  await ann.make('laptop');
  const given = await tokens.add('ann');
  await bob.make('desk');
  await expect(tokens.add('ann')).rejects.toMatchObject(expectedError('USAGE', 'ann has a token'));

  expect(await tokens.revoke('ann')).toBe(2);

  expect(tokens.holderOf(given)).toBeUndefined();
  expect(tokens.list().map(({ name }) => name)).toEqual(['bob']);
});

test.each(['', ' ', ' a', 'a ', 'x'.repeat(41), 'a\nb', 'a\u0000', '\u202eb', 'a\u200b'])(
  'a name that people cannot tell from others is refused: %j',
  async (label) => {
    await expect(ann.make(label)).rejects.toMatchObject(expectedError('USAGE', 'the name of a token'));
  },
);

test.each(['a', 'Ännchens Büro-PC', '台所', '__proto__', 'x'.repeat(40), '<b>"'])(
  'a name may be %j',
  async (label) => {
    await ann.make(label);

    expect(labelsOf(ann)).toEqual([label]);
  },
);
