import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  changesEnded,
  forgetSignIns,
  placeholderOf,
  SignIns,
  tokenFor,
  type SignIn,
} from '../../../src/network/keys/kept-sign-in';
import { Host } from '../../../src/system/host';
import { newFolder } from '../../support/temp-folder';

const signIn: SignIn = {
  id: '0123456789ab',
  generation: 2,
  tokens: { access: 'sk-ant-oat01-the-access-token', refresh: 'the-refresh-token' },
  answer: { scope: 'all' },
  expiresAt: 5,
};

const forAll = { agent: 'claude', workspace: '/ws', isForAll: true };
const forOne = { ...forAll, isForAll: false };

async function keep(signIns: SignIns, kept = signIn): Promise<void> {
  await signIns.own.keep(kept);
}

async function kept(scope = forAll, env: NodeJS.ProcessEnv = {}) {
  const host = new Host({ HOME: newFolder(), ...env });
  const signIns = new SignIns(host, scope);
  await keep(signIns);
  const folder = join(host.folders.state, 'credentials/sign-ins/claude');
  return { host, signIns, store: signIns.own, folder, file: join(folder, 'all-workspaces.json') };
}

const placeholder = (id = signIn.id) => placeholderOf({ ...signIn, id }, 'access')!;

describe('SignIns', () => {
  it('keeps one for the user alone', async () => {
    const { signIns, folder, file } = await kept();

    expect(signIns.own.read()).toEqual(signIn);
    expect(readdirSync(folder)).toEqual(['all-workspaces.json']);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('has of its outline what placeholders are made from, and no token', async () => {
    const { signIns } = await kept();

    expect(signIns.outline()).toEqual({ ...signIn, tokens: { access: 'sk-ant-oat01-', refresh: '' } });
    expect(placeholderOf(signIns.outline()!, 'access')).toBe(placeholder());
  });

  it('lets others change it between its own changes', async () => {
    const { host, store } = await kept();
    const other = new SignIns(host, forAll).own;
    const order: string[] = [];
    const change = (who: string) => async (before: SignIn | undefined) => {
      order.push(who);
      return await Promise.resolve({ kept: before, result: undefined });
    };

    const many = Array.from({ length: 10 }, () => store.change(change('many')));
    await Promise.all([...many, other.change(change('other'))]);

    expect(order.indexOf('other')).toBeLessThan(3);
  });

  it('says when what has begun is kept', async () => {
    const { store } = await kept();
    let answer: (() => void) | undefined;
    let hasBegun: (() => void) | undefined;
    const began = new Promise<void>((resolve) => (hasBegun = resolve));
    const renewing = store.change(async (before) => {
      hasBegun!();
      await new Promise<void>((resolve) => (answer = resolve));
      return { kept: before && { ...before, generation: 3 }, result: undefined };
    });
    await began;

    const ended = changesEnded().then(() => store.read()?.generation);
    answer!();

    expect(await ended).toBe(3);
    await renewing;
  });

  it('has those of each agent', async () => {
    const { host } = await kept();

    expect(new SignIns(host, { ...forAll, agent: 'codex' }).outline()).toBeUndefined();
  });

  it('has that of all workspaces in each, unless it has its own', async () => {
    const { host } = await kept();
    const here = new SignIns(host, forOne);
    expect(here.outline()?.id).toBe(signIn.id);

    await keep(here, { ...signIn, id: 'ffffffffffff', tokens: { access: 'of-this-one' } });

    expect(here.outline()?.id).toBe('ffffffffffff');
    const tokens = [placeholder('ffffffffffff'), placeholder()].map((text) => here.tokenFor(text));
    expect(tokens).toEqual(['of-this-one', 'sk-ant-oat01-the-access-token']);
    for (const scope of [forAll, { ...forOne, workspace: '/other' }, { ...forOne, workspace: undefined }]) {
      const there = new SignIns(host, scope);
      expect(there.outline()?.id).toBe(signIn.id);
      expect(there.tokenFor(placeholder('ffffffffffff'))).toBeUndefined();
    }
  });

  it('tell when somebody signs in, and not when a token is renewed', async () => {
    const { host, store } = await kept();
    const here = new SignIns(host, forOne);
    const ids: (string | undefined)[] = [];
    let onId = (): void => undefined;
    here.follow(here.outline(), () => {
      ids.push(here.outline()?.id);
      onId();
    });
    const next = () => new Promise<void>((resolve) => (onId = resolve));

    const first = next();
    await store.keep({ ...signIn, generation: 3 });
    await store.keep({ ...signIn, id: 'eeeeeeeeeeee' });
    await first;
    const second = next();
    await keep(here, { ...signIn, id: 'ffffffffffff' });
    await second;

    expect(ids).toEqual(['eeeeeeeeeeee', 'ffffffffffff']);
  });

  it('are all forgotten', async () => {
    const { host, signIns } = await kept();
    const here = new SignIns(host, forOne);
    await keep(here);

    await forgetSignIns(host, 'claude');
    await forgetSignIns(host, 'claude');

    expect([signIns.outline(), here.outline()]).toEqual([undefined, undefined]);
  });
});

describe('one sign-in', () => {
  it('is changed by one after the other', async () => {
    const { host, store } = await kept();
    const add = () =>
      new SignIns(host, forAll).own.change(async (now) => {
        await new Promise((resolve) => setImmediate(resolve));
        return { kept: { ...now!, generation: now!.generation + 1 }, result: now!.generation };
      });

    const seen = await Promise.all([add(), add(), add(), add()]);

    expect(seen.toSorted()).toEqual([2, 3, 4, 5]);
    expect(store.read()?.generation).toBe(6);
  });

  it('stays as it is when a change fails', async () => {
    const { store } = await kept();

    await expect(store.change(() => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer');

    expect(store.read()).toEqual(signIn);
    await expect(store.change((now) => Promise.resolve({ kept: now, result: 1 }))).resolves.toBe(1);
  });

  it.each([
    '{"id"',
    '[]',
    '{"id":5}',
    'null',
    '{"id":"0123456789ab","tokens":null}',
    '{"id":"0123456789ab","tokens":{"access":5}}',
  ])('is none where the file holds %s', async (text) => {
    const { signIns, store, file } = await kept();
    writeFileSync(file, text);

    expect([store.read(), signIns.outline()]).toEqual([undefined, undefined]);
    await store.keep(signIn);
    expect(store.read()).toEqual(signIn);
  });

  it('says which file cannot be written, and what to do', async () => {
    const { store, file } = await kept();
    rmSync(file);
    mkdirSync(file);

    await expect(store.keep(signIn)).rejects.toThrow(
      `the sign-in cannot be kept in ${file}: illegal operation on a directory: `,
    );
  });
});

describe('tokenFor', () => {
  const of = (changes: Partial<SignIn>, name: 'access' | 'key' = 'access') =>
    placeholderOf({ ...signIn, ...changes }, name);

  it.each([0, 1, 2, 3])('finds the current token for a placeholder of generation %s', (generation) => {
    expect(tokenFor(signIn, of({ generation })!)).toBe('sk-ant-oat01-the-access-token');
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
