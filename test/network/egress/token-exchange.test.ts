import type { TokenEndpoint } from '../../../src/network/keys/agent-sign-ins';
import { placeholderOf, SignIns, type SignIn } from '../../../src/network/keys/kept-sign-in';
import { placeholdersIn } from '../../../src/network/keys/swap';
import { Refusal } from '../../../src/network/egress/policy';
import { exchangeFor, type TokenAnswer } from '../../../src/network/egress/token-exchange';
import { Host } from '../../../src/system/host';
import { newFolder } from '../../support/temp-folder';

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';
const tokens = { access_token: 'access', refresh_token: 'refresh', id_token: 'id' } as const;
const endpoint: TokenEndpoint = { host: 'a.example', path: '/token', tokens };
const revocation: TokenEndpoint = { host: 'a.example', path: '/revoke', tokens: {}, ends: true };
const keys: TokenEndpoint = { host: 'a.example', path: '/key', tokens: { raw_key: 'key' } };

const hour = 3_600_000;
const kept: SignIn = {
  id: '0123456789ab',
  generation: 2,
  tokens: { access: 'real-access-2', refresh: 'real-refresh-2', id: 'real-id-2' },
  answer: { scope: 'all', expires_in: 7200 },
  expiresAt: Date.now() + hour,
};
const placeholder = (name: 'access' | 'refresh' | 'id', generation = 2, id = kept.id) =>
  placeholderOf({ ...kept, id, generation }, name)!;

/** What the server gives next; a number is the status of an error. */
type Reply = Readonly<Record<string, unknown>> | number | string;

/** Somebody who asks; `sent`: the bodies that the server got. */
async function given(signIn?: SignIn, { isForAll = true, isShared = true } = {}) {
  const host = new Host({ HOME: newFolder() });
  const scope = { agent: 'claude', workspace: '/ws', isForAll };
  const where = new SignIns(host, { ...scope, isForAll: isShared });
  await where.own.keep(signIn);
  const signIns = new SignIns(host, scope);
  const sent: string[] = [];
  let count = 0;
  const ask = async (
    fields: Readonly<Record<string, string>>,
    reply: Reply = {},
    { at = endpoint, type = json, bearer = '' } = {},
  ) => {
    const body = type === json ? JSON.stringify(fields) : String(new URLSearchParams(fields));
    const answer = await exchangeFor(
      at,
      signIns,
      () => count++,
    )({ type, body, inHeaders: placeholdersIn([['Authorization', bearer]]) }, (path, { body: real }) => {
      expect(path).toBe(at.path);
      sent.push(real);
      return Promise.resolve(answerOf(reply));
    });
    return { ...answer, fields: fieldsIn(answer) };
  };
  return { signIns, sent, ask, signedIn: () => count };
}

function answerOf(reply: Reply): TokenAnswer {
  if (typeof reply === 'string') return { status: 200, type: 'text/plain', body: reply };
  if (typeof reply === 'number') return { status: reply, type: json, body: '{"error":"invalid_grant"}' };
  return { status: 200, type: json, body: JSON.stringify(reply) };
}

function fieldsIn({ body }: TokenAnswer): Record<string, unknown> {
  return body.startsWith('{') ? (JSON.parse(body) as Record<string, unknown>) : {};
}

const renewedBy = {
  access_token: 'real-access-3',
  refresh_token: 'real-refresh-3',
  scope: 'all',
  expires_in: 3600,
};

describe('a sign-in', () => {
  const codes = { grant_type: 'authorization_code', code: 'the-code' };

  it.each([
    ['a code', codes],
    ['a device', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: 'x' }],
    ['a grant without a name', { code: 'x' }],
  ])('by %s is kept, and told by placeholders', async (_, fields) => {
    const { ask, signIns, sent, signedIn } = await given();

    const answer = await ask(fields, {
      ...renewedBy,
      id_token: 'real-id-3',
      account: { email: 'a@example.com' },
    });

    expect(answer.body).not.toMatch(/real-/);
    expect(answer.fields).toEqual({
      access_token: placeholderOf(signIns.own.read()!, 'access'),
      refresh_token: placeholderOf(signIns.own.read()!, 'refresh'),
      id_token: placeholderOf(signIns.own.read()!, 'id'),
      scope: 'all',
      expires_in: 3600,
      account: { email: 'a@example.com' },
    });
    expect(signIns.own.read()).toMatchObject({
      generation: 1,
      tokens: { access: 'real-access-3', refresh: 'real-refresh-3', id: 'real-id-3' },
    });
    expect(sent).toEqual([JSON.stringify(fields)]);
    expect(signedIn()).toBe(1);
  });

  it('takes the place of an earlier one, whose placeholders are then of no use', async () => {
    const { ask, signIns } = await given(kept);

    await ask(codes, renewedBy);

    expect(signIns.own.read()?.id).not.toBe(kept.id);
    expect(signIns.tokenFor(placeholder('access'))).toBeUndefined();
  });

  it('is for all workspaces only where the user wants that', async () => {
    const { ask, signIns } = await given(kept, { isForAll: false });

    const { fields } = await ask(codes, renewedBy);

    expect(signIns.tokenFor(String(fields.access_token))).toBe('real-access-3');
    // That of all workspaces is still there.
    expect(signIns.tokenFor(placeholder('access'))).toBe('real-access-2');
  });

  it.each([
    ['is not given yet', { error: 'authorization_pending' }],
    ['fails', 400],
  ] as const)('changes nothing while it %s', async (_, reply) => {
    const { ask, signIns, signedIn } = await given(kept);

    expect(await ask(codes, reply)).toMatchObject({ body: answerOf(reply).body });

    expect(signIns.own.read()).toEqual(kept);
    expect(signedIn()).toBe(0);
  });

  it.each(['access_token=real-access-3', '["real-access-3"]', '"real-access-3"', ''])(
    'is refused where the answer is %s',
    async (reply) => {
      const { ask } = await given();

      await expect(ask(codes, reply)).rejects.toThrow(
        new Refusal('the answer is no JSON object, so that tokens in it could not be kept outside', 502),
      );
    },
  );
});

describe('a renewal', () => {
  const refresh = (generation?: number, id?: string) => ({
    grant_type: 'refresh_token',
    refresh_token: placeholder('refresh', generation, id),
    client_id: 'c',
  });

  it.each([json, form])('sends the real token as %s, and keeps what is new', async (type) => {
    const { ask, signIns, sent } = await given(kept);

    const { fields } = await ask(refresh(), renewedBy, { type });

    const body: unknown =
      type === json ? JSON.parse(sent[0]!) : Object.fromEntries(new URLSearchParams(sent[0]));
    expect(body).toEqual({ ...refresh(), refresh_token: 'real-refresh-2' });
    const after = signIns.own.read();
    expect(after).toMatchObject({
      id: kept.id,
      generation: 3,
      tokens: { access: 'real-access-3', refresh: 'real-refresh-3', id: 'real-id-2' },
    });
    expect(fields).toEqual({
      access_token: placeholder('access', 3),
      refresh_token: placeholder('refresh', 3),
      id_token: placeholder('id', 3),
      scope: 'all',
      expires_in: 3600,
    });
  });

  it('happens once for all who ask at once, and the others get its tokens', async () => {
    const { ask, sent } = await given(kept);

    const answers = await Promise.all([1, 2, 3].map(() => ask(refresh(), renewedBy)));

    expect(sent).toHaveLength(1);
    for (const { fields } of answers) expect(fields.access_token).toBe(placeholder('access', 3));
  });

  it.each([0, 1])(
    'answers whoever has a placeholder of generation %s by what is there',
    async (generation) => {
      const { ask, sent } = await given(kept);

      const { fields } = await ask(refresh(generation));

      expect(sent).toEqual([]);
      expect(fields).toEqual({
        access_token: placeholder('access'),
        refresh_token: placeholder('refresh'),
        id_token: placeholder('id'),
        scope: 'all',
        expires_in: expect.any(Number) as number,
      });
      expect(fields.expires_in).toBeLessThanOrEqual(3600);
    },
  );

  it('asks the server for whoever has an old placeholder where what is there ends soon', async () => {
    const { ask, sent } = await given({ ...kept, expiresAt: Date.now() + 5 * 60_000 });

    await ask(refresh(0), renewedBy);

    expect(sent).toHaveLength(1);
  });

  it('leaves the refresh token that is not changed', async () => {
    const { ask, signIns } = await given(kept);

    const { fields } = await ask(refresh(), { access_token: 'real-access-3' });

    expect(fields.scope).toBe('all');
    expect(signIns.own.read()?.tokens).toMatchObject({ access: 'real-access-3', refresh: 'real-refresh-2' });
    expect(signIns.own.read()?.expiresAt).toBeUndefined();
  });

  it('shows no token that an answer has in another place, or as in a URL', async () => {
    const { ask, sent } = await given({ ...kept, tokens: { ...kept.tokens, refresh: '1//real' } });

    const refused = await ask(refresh(), { error: '1//real 1%2F%2Freal real-access-2' });
    const renewed = await ask(refresh(), { ...renewedBy, also: { token: 'real-access-3' } });

    expect(sent).toHaveLength(2);
    expect(refused.body + renewed.body).not.toContain('real');
  });

  it('keeps what it has where the server refuses, and shows no token of an error', async () => {
    const { ask, signIns } = await given(kept);

    const { body, status } = await ask(refresh(), {
      error: 'used: real-refresh-2',
      error_uri: 'x?real-access-2',
    });

    expect({ body, status }).toEqual({
      body: `{"error":"used: ${placeholder('refresh')}","error_uri":"x?${placeholder('access')}"}`,
      status: 200,
    });
    expect(await ask(refresh(), 401)).toMatchObject({ status: 401 });
    expect(signIns.own.read()).toEqual(kept);
  });

  it.each([
    ['of a sign-in that is forgotten', 'invalid_grant', refresh(2, 'ffffffffffff')],
    [
      'with tokens of two sign-ins',
      'invalid_request',
      { ...refresh(), subject_token: placeholder('id', 2, 'ffffffffffff') },
    ],
  ])('%s is answered with %s, and asks no server', async (_, error, asked) => {
    const { ask, sent } = await given(kept);

    const { status, fields } = await ask(asked);

    expect({ status, error: fields.error, sent }).toEqual({ status: 400, error, sent: [] });
  });

  it('with a real token, of a sign-in that is inside, passes unchanged', async () => {
    const { ask, signIns, sent } = await given(kept);

    const { body } = await ask({ grant_type: 'refresh_token', refresh_token: 'of-inside' }, renewedBy);

    expect(body).toBe(JSON.stringify(renewedBy));
    expect(sent).toEqual(['{"grant_type":"refresh_token","refresh_token":"of-inside"}']);
    expect(signIns.own.read()).toEqual(kept);
  });
});

describe('what one workspace asks with the sign-in of all', () => {
  const theirs = { access_token: 'of-an-attacker', expires_in: 3600 };
  const refresh = { grant_type: 'refresh_token', refresh_token: placeholder('refresh') };
  const exchange = { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange' };

  it.each([
    ['a code', { grant_type: 'authorization_code', code: 'x', state: placeholder('access') }, ''],
    ['a code, and a token in the headers', { grant_type: 'authorization_code', code: 'x' }, 'access'],
    [
      'a token of another account',
      { grant_type: 'refresh_token', refresh_token: 'x', a: placeholder('refresh') },
      '',
    ],
    ['another token', { ...refresh, refresh_token: placeholder('access') }, ''],
    ['both tokens', { ...refresh, a: placeholder('access') }, ''],
    ['a token that it exchanges', { ...exchange, subject_token: 'x', a: placeholder('id') }, ''],
    ['a key', { ...exchange, subject_token: placeholder('id') }, ''],
  ] as const)('cannot be %s', async (_, fields, bearer) => {
    const { ask, signIns, sent } = await given(kept, { isForAll: false });
    const headers = bearer === '' ? {} : { bearer: `Bearer ${placeholder(bearer)}` };

    expect(await ask(fields, theirs, headers)).toMatchObject({
      fields: { error: expect.anything() as string },
    });

    expect(sent).toEqual([]);
    expect(signIns.tokenFor(placeholder('access'))).toBe('real-access-2');
  });

  it('makes no key that all would use', async () => {
    const { ask, sent } = await given(kept, { isForAll: false });
    const bearer = `Bearer ${placeholder('access')}`;

    expect(await ask({}, { raw_key: 'key' }, { at: keys, bearer })).toMatchObject({ status: 403 });
    expect(sent).toEqual([]);
  });

  it('does not change what the token is for, or how long', async () => {
    const { ask, sent } = await given(kept, { isForAll: false });

    await ask({ ...refresh, client_id: 'c', scope: 'less', expires_in: '1', resource: 'x' }, renewedBy);

    expect(JSON.parse(sent[0]!)).toEqual({ ...refresh, refresh_token: 'real-refresh-2', client_id: 'c' });
  });

  it('is not renewed over and over', async () => {
    const { ask, sent } = await given(kept, { isForAll: false });
    await ask(refresh, renewedBy);

    const { fields } = await ask({ ...refresh, refresh_token: placeholder('refresh', 3) }, renewedBy);

    expect(sent).toHaveLength(1);
    expect(fields.access_token).toBe(placeholder('access', 3));
  });
});

describe('a request that servers could read in another way', () => {
  const code = 'grant_type=authorization_code&code=x';
  const asking = async (type: string, body: string) => {
    const { signIns } = await given();
    const sent: unknown[] = [];
    const request = { type, body, inHeaders: [] };
    const answer = await exchangeFor(
      endpoint,
      signIns,
      () => undefined,
    )(request, (_path, own) => {
      sent.push(own);
      return Promise.resolve(answerOf(renewedBy));
    });
    return { answer, sent };
  };

  it('is sent as we have read it', async () => {
    const twice = await asking(form, `${code}&grant_type=refresh_token`);
    const polyglot = await asking(
      `${form}; x=json`,
      JSON.stringify({ grant_type: 'refresh_token', a: `&${code}&` }),
    );
    const nameless = await asking(
      'application/json; charset=utf-7',
      '{"grant_type":"refresh_token","code":"x"}',
    );

    expect(twice.sent).toEqual([{ type: form, body: 'grant_type=refresh_token&code=x' }]);
    expect(polyglot.sent).toMatchObject([{ type: json }]);
    expect(nameless.sent).toMatchObject([{ type: json }]);
    for (const { answer } of [twice, polyglot, nameless]) expect(answer.body).not.toContain('real-');
  });
});

describe('a key', () => {
  it('for the token of the user is kept besides the tokens', async () => {
    const { ask, signIns, sent } = await given(kept);
    const grant = 'urn:ietf:params:oauth:grant-type:token-exchange';

    const { fields } = await ask(
      { grant_type: grant, subject_token: placeholder('id') },
      { access_token: 'sk-proj-real-key', refresh_token: 'real-other' },
      { type: form },
    );
    expect(fields.refresh_token).toBeUndefined();

    expect(new URLSearchParams(sent[0]).get('subject_token')).toBe('real-id-2');
    expect(signIns.own.read()).toEqual({ ...kept, tokens: { ...kept.tokens, key: 'sk-proj-real-key' } });
    expect(signIns.tokenFor(String(fields.access_token))).toBe('sk-proj-real-key');
    expect(fields.access_token).toMatch(/^sk-proj-caiplaceholderkey/);
  });

  it('that is made for who has signed in is kept, too', async () => {
    const { ask, signIns } = await given(kept);

    const { fields } = await ask(
      {},
      { raw_key: 'sk-ant-api03-real' },
      { at: keys, bearer: `Bearer ${placeholder('access')}` },
    );

    expect(signIns.tokenFor(String(fields.raw_key))).toBe('sk-ant-api03-real');
  });
});

describe('a revocation', () => {
  const fields = { token: placeholder('refresh'), token_type_hint: 'refresh_token' };

  it('ends the sign-in, by its real token', async () => {
    const { ask, signIns, sent } = await given(kept);

    await ask(fields, {}, { at: revocation });

    expect(sent).toEqual(['{"token":"real-refresh-2","token_type_hint":"refresh_token"}']);
    expect(signIns.own.read()).toBeUndefined();
  });

  it('keeps it where the server fails', async () => {
    const { ask, signIns } = await given(kept);

    await ask(fields, 500, { at: revocation });

    expect(signIns.own.read()).toEqual(kept);
  });

  it('in one workspace does not end that of all', async () => {
    const { ask, signIns, sent } = await given(kept, { isForAll: false });

    expect(await ask(fields, {}, { at: revocation })).toMatchObject({ status: 200 });

    expect(sent).toEqual([]);
    expect(signIns.tokenFor(placeholder('access'))).toBe('real-access-2');
  });
});
