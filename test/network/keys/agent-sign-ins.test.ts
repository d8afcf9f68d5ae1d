import { catalog } from '../../../src/agent/catalog';
import { endpointAt, getsTokens, insideOf, signInOf } from '../../../src/network/keys/agent-sign-ins';
import { SignIns, type SignIn } from '../../../src/network/keys/kept-sign-in';
import { parseRule } from '../../../src/config/host-rules';
import { agentHosts, commonHosts } from '../../../src/network/egress/listed-hosts';
import { Host } from '../../../src/system/host';
import { newFolder } from '../../support/temp-folder';

const asking = { network: { egress: 'ask' } } as Parameters<typeof signInOf>[1];
const agents = ['claude', 'gemini', 'codex', 'copilot'];
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

const signIn: SignIn = {
  id: '0123456789ab',
  generation: 3,
  tokens: {
    access: 'sk-ant-oat01-the-real-access-token',
    refresh: 'rt_the-real-refresh-token',
    id: `eyJhbGciOiJSUzI1NiJ9.${encoded({ 'https://api.openai.com/auth': { chatgpt_account_id: 'acc-1' } })}.signature`,
  },
  answer: {},
};

async function signedIn(agent: string, given: SignIn | undefined = signIn): Promise<SignIns> {
  const signIns = new SignIns(new Host({ HOME: newFolder() }), {
    agent,
    workspace: undefined,
    isForAll: true,
  });
  await signIns.own.keep(given);
  return signIns;
}

describe('signInOf', () => {
  it('knows the agents of which the catalog says so', () => {
    const outside = Object.keys(catalog).filter((agent) => catalog[agent]!.signIn.isKeptOutside === true);

    expect(outside.toSorted()).toEqual(agents.toSorted());
    expect(
      Object.keys(catalog)
        .filter((agent) => signInOf(agent, asking))
        .toSorted(),
    ).toEqual(outside.toSorted());
  });

  it('knows nothing where there is no proxy', () => {
    const open = { network: { egress: 'open' } } as typeof asking;

    expect(agents.map((agent) => signInOf(agent, open))).toEqual(agents.map(() => undefined));
  });

  it.each(agents)('gives tokens of %s only to hosts that are reached without a question', (agent) => {
    const { hosts, endpoints } = signInOf(agent, asking)!;
    const { hosts: models, signIn: places } = agentHosts[agent]!;
    const listed = [...models, ...places, ...commonHosts.map(({ rule }) => rule)];
    // What connects Claude with other services is asked about.
    const rules = [...hosts, ...endpoints.map(({ host }) => `${host}:443`)].filter(
      (rule) => rule !== 'mcp-proxy.anthropic.com:443',
    );

    expect(rules.filter((rule) => !listed.includes(rule))).toEqual([]);
    expect(rules.filter((rule) => parseRule(rule)?.port !== 443)).toEqual([]);
  });
});

describe('getsTokens', () => {
  const claude = signInOf('claude', asking)!;

  it.each([
    ['api.anthropic.com', 443, true],
    ['platform.claude.com', 443, true],
    ['api.anthropic.com', 80, false],
    ['api.anthropic.com', 8443, false],
    ['evil.api.anthropic.com', 443, false],
    ['chatgpt.com', 443, false],
  ])('says of %s:%s %s', (host, port, expected) => {
    expect(getsTokens(claude, { host, port })).toBe(expected);
  });
});

describe('endpointAt', () => {
  const claude = signInOf('claude', asking)!;

  it.each([
    '/v1/oauth/token',
    '/v1/oauth/token/',
    '//v1/oauth//token',
    '/v1/oauth/token?a=b',
    '/v1/oauth/token;a=b',
    '/v1/oauth/%74oken',
    '/v1%2Foauth/token',
    '/V1/OAuth/Token',
    '/x/../v1/./oauth/token',
    '/v1\\oauth\\token',
    '/v1/oauth/token#x',
    '/v1/oauth/token%3fx',
    '/v1/oauth/token%23x',
    '/v1/oauth/token%00',
    '/v1/oauth/%2574oken',
    '/v1/oauth/%74oken;%zz',
    '/v1/oauth;x/token',
    '/v1/oauth/token%20',
    '/v1/oauth/token.json',
    '/v1/oauth/%74oken/%ff/..',
    '/v1/oauth/x;a/../token',
    '/v1;a/oauth;b/token;c',
    '/v1/oauth/x#/../token',
    '//platform.claude.com/v1/oauth/token',
    '/v1/oauth/to%09ken',
    '/v1/oauth/token%3f/..',
    '/v1/oauth/token//..',
    '/v%31/oauth/token;%5c%2f/..',
    `/v1/oauth/token%${'25'.repeat(30_000)}`,
  ])('finds the one that a server could take %s for', (path) => {
    expect(endpointAt(claude, 'platform.claude.com', path)?.path).toBe('/v1/oauth/token');
  });

  it.each([
    ['platform.claude.com', '/v1/oauth/token/revoke'],
    ['platform.claude.com', '/v1/oauth/token;x/%72evoke/'],
    ['api.anthropic.com', '/v1/oauth/token'],
    ['mcp-proxy.anthropic.com', '/v1/oauth/token'],
  ])('finds the right one at %s%s', (host, path) => {
    expect(endpointAt(claude, host, path)?.ends).toBe(path.includes('evoke') ? true : undefined);
    expect(endpointAt(claude, host, path)).toBeDefined();
  });

  it('leaves what Gemini asks about a token', () => {
    expect(endpointAt(signInOf('gemini', asking)!, 'oauth2.googleapis.com', '/tokeninfo')).toBeUndefined();
  });

  it.each([
    ['platform.claude.com', '/v1/oauth/tokens'],
    ['platform.claude.com', '/'],
    ['platform.claude.com', '/%'],
    ['platform.claude.com', '/token/v1;oauth'],
    ['api.anthropic.com', '/v1/messages'],
  ])('finds none at %s%s', (host, path) => expect(endpointAt(claude, host, path)).toBeUndefined());
});

describe('insideOf', () => {
  const inside = async (agent: string, given?: SignIn) =>
    insideOf(signInOf(agent, asking)!, (await signedIn(agent, given)).outline());

  it.each(agents)('has placeholders of %s, which are of no generation', async (agent) => {
    const text = JSON.stringify(await inside(agent));

    expect(text).toContain('x0123456789abx0');
    expect(text).not.toMatch(/the-real|signature/);
  });

  it('names the account of Codex', async () => {
    const { files = {} } = await inside('codex');

    expect(JSON.parse(files['.codex/auth.json']!)).toMatchObject({ tokens: { account_id: 'acc-1' } });
  });

  it('has the key of an account for which Claude has made one', async () => {
    const given = { ...signIn, tokens: { ...signIn.tokens, key: 'sk-ant-api03-the-real-key' } };

    expect(await inside('claude', given)).toEqual({
      variables: { ANTHROPIC_API_KEY: 'sk-ant-api03-caiplaceholderkeyx0123456789abx0' },
    });
  });

  it('has placeholders removed where nobody has signed in', () => {
    const nobody = new SignIns(new Host({ HOME: newFolder() }), {
      agent: 'claude',
      workspace: '/ws',
      isForAll: false,
    });

    expect(insideOf(signInOf('claude', asking)!, nobody.outline())).toEqual({
      files: { '.claude/.credentials.json': '' },
    });
  });
});
