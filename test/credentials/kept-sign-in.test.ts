import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  forgetSignIns,
  placeholderOf,
  SignIns,
  tokenFor,
  type SignIn,
} from '../../src/credentials/kept-sign-in';
import { newFolder } from '../support/temp-folder';

const signIn: SignIn = {
  id: '0123456789ab',
  generation: 2,
  tokens: { access: 'the-access-token', refresh: 'the-refresh-token' },
  answer: { scope: 'all' },
  expiresAt: 5,
};

const forAll = { agent: 'claude', workspace: '/ws', isForAll: true };
const forOne = { ...forAll, isForAll: false };

async function keep(signIns: SignIns, kept = signIn): Promise<void> {
  await signIns.own.change(() => Promise.resolve({ kept, result: undefined }));
}

async function kept(scope = forAll) {
  const state = newFolder();
  const signIns = new SignIns(state, scope);
  await keep(signIns);
  return { state, signIns, store: signIns.own };
}

describe('SignIns', () => {
  it('keeps what a change gives, for the user alone', async () => {
    const { state, signIns } = await kept();

    expect(signIns.current()).toEqual(signIn);
    const folder = join(state, 'credentials/sign-ins/claude');
    expect(readdirSync(folder)).toEqual(['all-workspaces.json']);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'all-workspaces.json')).mode & 0o777).toBe(0o600);
  });

  it('has those of each agent', async () => {
    const { state } = await kept();

    expect(new SignIns(state, { ...forAll, agent: 'codex' }).current()).toBeUndefined();
  });

  it('has that of all workspaces in each, unless it has its own', async () => {
    const { state } = await kept();
    const here = new SignIns(state, forOne);
    expect(here.current()).toEqual(signIn);

    await keep(here, { ...signIn, id: 'ffffffffffff', tokens: { access: 'of-this-one' } });

    const text = (id: string) => placeholderOf({ ...signIn, id }, 'access')!;
    expect(here.current()?.id).toBe('ffffffffffff');
    expect([here.tokenFor(text('ffffffffffff')), here.tokenFor(text(signIn.id))]).toEqual([
      'of-this-one',
      'the-access-token',
    ]);
    for (const scope of [forAll, { ...forOne, workspace: '/other' }, { ...forOne, workspace: undefined }]) {
      const there = new SignIns(state, scope);
      expect(there.current()).toEqual(signIn);
      expect(there.tokenFor(text('ffffffffffff'))).toBeUndefined();
    }
  });

  it('are all forgotten', async () => {
    const { state, signIns } = await kept();
    const here = new SignIns(state, forOne);
    await keep(here);

    expect([await forgetSignIns(state, 'claude'), await forgetSignIns(state, 'claude')]).toEqual([
      true,
      false,
    ]);
    expect([signIns.current(), here.current()]).toEqual([undefined, undefined]);
  });
});

describe('one sign-in', () => {
  it('runs one change after the other', async () => {
    const { state, store } = await kept();
    const add = () =>
      new SignIns(state, forAll).own.change(async (now) => {
        await new Promise((resolve) => setImmediate(resolve));
        return { kept: { ...now!, generation: now!.generation + 1 }, result: now!.generation };
      });

    const seen = await Promise.all([add(), add(), add(), add()]);

    expect(seen.toSorted()).toEqual([2, 3, 4, 5]);
    expect(store.read()?.generation).toBe(6);
  });

  it('keeps what it has when a change fails', async () => {
    const { store } = await kept();

    await expect(store.change(() => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer');

    expect(store.read()).toEqual(signIn);
    await expect(store.change((now) => Promise.resolve({ kept: now, result: 1 }))).resolves.toBe(1);
  });

  it('forgets', async () => {
    const { store } = await kept();

    expect([await store.forget(), await store.forget()]).toEqual([true, false]);
    expect(store.read()).toBeUndefined();
  });

  it.each(['{"id"', '[]', '{"id":5}', 'null'])('has none where the file holds %s', async (text) => {
    const { state, store } = await kept();
    writeFileSync(join(state, 'credentials/sign-ins/claude/all-workspaces.json'), text);

    expect(store.read()).toBeUndefined();
    await store.change(() => Promise.resolve({ kept: signIn, result: undefined }));
    expect(store.read()).toEqual(signIn);
  });
});

describe('tokenFor', () => {
  const of = (changes: Partial<SignIn>, name: 'access' | 'key' = 'access') =>
    placeholderOf({ ...signIn, ...changes }, name);

  it.each([0, 1, 2, 3])('finds the current token for a placeholder of generation %s', (generation) => {
    expect(tokenFor(signIn, of({ generation })!)).toBe('the-access-token');
  });

  it('finds none for one of another sign-in, for one of a token that is not there, and for any other text', () => {
    const key = of({ tokens: { key: 'the-key' } }, 'key')!;

    expect([of({ id: 'ffffffffffff' })!, key, 'other'].map((text) => tokenFor(signIn, text))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
