import { signInOf } from '../../../src/network/keys/agent-sign-ins';
import type { SignIn } from '../../../src/network/keys/kept-sign-in';
import { storedIn, withoutTokens } from '../../../src/network/keys/stored-sign-in';

const asking = { network: { egress: 'ask' } } as Parameters<typeof signInOf>[1];
const agents = ['claude', 'gemini', 'codex', 'copilot'] as const;
type Agent = (typeof agents)[number];
const of = (agent: string) => signInOf(agent, asking)!;
const read = (agent: string, value: unknown) =>
  storedIn(of(agent), typeof value === 'string' ? value : JSON.stringify(value));

const comments = '// This file is managed.\n// Do not edit.\n';

/** As the agents write them. */
const files: Record<Agent, string> = {
  claude: JSON.stringify({
    claudeAiOauth: {
      accessToken: 'sk-ant-oat01-real',
      refreshToken: 'sk-ant-ort01-real',
      expiresAt: 1_800_000_000_000,
      scopes: ['user:inference', 'user:profile'],
      subscriptionType: 'max',
    },
    mcpOAuth: { server: { accessToken: 'of-another-service' } },
  }),
  gemini: JSON.stringify({
    access_token: 'ya29.real',
    refresh_token: '1//real',
    id_token: 'eyJh.eyJl.real',
    scope: 'openid email',
    token_type: 'Bearer',
    expiry_date: 1_800_000_000_000,
  }),
  codex: JSON.stringify({
    auth_mode: 'chatgpt',
    OPENAI_API_KEY: 'sk-real',
    tokens: { id_token: 'eyJh.eyJl.real', access_token: 'eyJh.eyJm.real', refresh_token: 'rt_real', account_id: 'acc-1' },
    last_refresh: '2026-11-23T06:09:37.940394225Z',
  }), // prettier-ignore
  copilot: `${comments}${JSON.stringify({
    authTokens: {
      'https://github.com:other': { token: 'gho_other' },
      'https://github.com:octo:github': { token: 'gho_real' },
      'https://github.com:octo': { token: 'gho_real' },
    },
    lastLoggedInUser: { host: 'https://github.com', login: 'octo' },
  })}`,
};

describe('storedIn', () => {
  const given = { token_type: 'Bearer', expires_in: 3600 };

  test.each<[Agent, object]>([
    [
      'claude',
      {
        tokens: { access: 'sk-ant-oat01-real', refresh: 'sk-ant-ort01-real' },
        answer: { ...given, scope: 'user:inference user:profile' },
        expiresAt: 1_800_000_000_000,
      },
    ],
    [
      'gemini',
      {
        tokens: { access: 'ya29.real', refresh: '1//real', id: 'eyJh.eyJl.real' },
        answer: { ...given, scope: 'openid email' },
        expiresAt: 1_800_000_000_000,
      },
    ],
    [
      'codex',
      {
        tokens: { access: 'eyJh.eyJm.real', refresh: 'rt_real', id: 'eyJh.eyJl.real', key: 'sk-real' },
        answer: given,
        expiresAt: undefined,
      },
    ],
    ['copilot', { tokens: { access: 'gho_real' }, answer: given, expiresAt: undefined }],
  ])('finds what %s has stored', (agent, found) => expect(read(agent, files[agent])).toEqual(found));

  test('takes the first account of Copilot where none is the last', () => {
    const authTokens = { one: {}, two: { token: 'gho_two' }, three: { token: 'gho_three' } };

    expect(read('copilot', { authTokens })?.tokens).toEqual({ access: 'gho_two' });
  });

  test('lets nobody have an access token that is not there', () => {
    expect(read('gemini', { refresh_token: '1//real', expiry_date: 1_800_000_000_000 })).toMatchObject({
      tokens: { refresh: '1//real' },
      expiresAt: 0,
    });
  });

  test('passes over a time that is none', () => {
    for (const expiry_date of ['1800000000000', null, {}, [1]])
      expect(read('gemini', { access_token: 'ya29.real', expiry_date })).toMatchObject({
        expiresAt: undefined,
      });
    expect(read('gemini', '{"access_token":"ya29.real","expiry_date":1e999}')?.expiresAt).toBeUndefined();
  });

  const placeholder = 'sk-ant-oat01-caiplaceholderaccessx0123456789abx1';

  test.each<[string, Agent, unknown]>([
    ['nothing', 'claude', ''],
    ['what is nested too deeply', 'gemini', `{"access_token":"ya29.real","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['what is no JSON', 'claude', '{"claudeAiOauth":'],
    ['comments alone', 'copilot', comments],
    ...agents.flatMap((agent): [string, Agent, unknown][] =>
      [null, true, 7, 'text', [], [[]], {}].map((value) => [JSON.stringify(value), agent, value]),
    ),
    ['a sign-in that has ended', 'claude', { claudeAiOauth: { accessToken: '', refreshToken: '', expiresAt: 0 } }],
    ['a console account', 'claude', { claudeAiOauth: null }],
    ['placeholders', 'claude', { claudeAiOauth: { accessToken: placeholder, refreshToken: '' } }],
    ['tokens that are no texts', 'claude', { claudeAiOauth: { accessToken: { a: 1 }, refreshToken: [[7]] } }],
    ['what would end a header', 'claude', { claudeAiOauth: { accessToken: 'a\r\nHost: b' } }],
    ['what no header has room for', 'claude', { claudeAiOauth: { accessToken: 'a'.repeat(20_000) } }],
    ['scopes that are no words', 'claude', { claudeAiOauth: { accessToken: 'a', scopes: [{ toString: 1 }] } }],
    ['a key alone', 'codex', { OPENAI_API_KEY: 'sk-real', tokens: null }],
    ['a list of accounts', 'copilot', { authTokens: [null, 'gho_real', [{ token: 'gho_real' }]] }],
    ['an account that is a list', 'copilot', { authTokens: {}, lastLoggedInUser: [] }],
    ['what is nested without end', 'claude', '['.repeat(1_000_000)],
    ['comments without end', 'copilot', '//\n'.repeat(1_000_000)],
  ])('finds no sign-in in %s (%s)', (_, agent, value) => expect(read(agent, value)).toBeUndefined()); // prettier-ignore
});

describe('withoutTokens', () => {
  const signIn: SignIn = { id: '0123456789ab', generation: 1, tokens: { access: 'gho_kept' }, answer: {} };

  test.each(agents)('leaves no token of %s', (agent) => {
    const found = read(agent, files[agent])!;
    const kept = { ...signIn, ...found };
    const { path } = of(agent).stored;

    const text = withoutTokens(files[agent], found, kept, of(agent).inside(kept).files?.[path]);

    for (const token of Object.values(found.tokens)) expect(text).not.toContain(token);
    expect(text).toContain('x0123456789abx1');
    expect(text.endsWith('}\n')).toBe(true);
  });

  test('keeps what is of something else, and the rest is what a container is given', () => {
    const found = read('claude', files.claude)!;
    const given = of('claude').inside({ ...signIn, ...found }).files!['.claude/.credentials.json']!;

    const { claudeAiOauth, mcpOAuth } = JSON.parse(withoutTokens(files.claude, found, signIn, given)) as Record<string, unknown>; // prettier-ignore

    expect(mcpOAuth).toEqual({ server: { accessToken: 'of-another-service' } });
    expect({ claudeAiOauth }).toEqual(JSON.parse(given));
  });

  test('keeps the comments and other accounts of Copilot', () => {
    const text = withoutTokens(files.copilot, read('copilot', files.copilot)!, signIn);

    expect(text.startsWith(comments)).toBe(true);
    expect(read('copilot', text)?.tokens).toEqual({ access: 'gho_other' });
    expect(text.match(/gho_caiplaceholderaccessx0123456789abx1/g)).toHaveLength(2);
  });

  test('finds a token however it is written', () => {
    const text = '{"access_token":"\\u0079a29.real"}';

    expect(withoutTokens(text, read('gemini', text)!, signIn)).not.toContain('real');
  });

  test('leaves nothing where the sign-in has no token of that name', () => {
    const text = JSON.stringify({ access_token: 'ya29.real', id_token: 'eyJh.eyJl.real' });

    expect(Object.keys(JSON.parse(withoutTokens(text, read('gemini', text)!, signIn)) as object)).toEqual([
      'access_token',
    ]);
  });
});
