import { placeholdersFor, serviceOf } from '../../../src/network/keys/services';
import { withKey } from '../../../src/network/keys/swap';
import { keyServices } from '../../../src/config/config-words';

const from = 'env:KEY';
const basic = (text: string) => `Basic ${Buffer.from(text, 'latin1').toString('base64')}`;

describe('withKey', () => {
  const github = { for: 'github', from };
  const { placeholder } = serviceOf(github);

  it.each([
    ['Authorization', `Bearer ${placeholder}`, 'Bearer the$&key'],
    ['authorization', `token ${placeholder}`, 'token the$&key'],
    ['X-Api-Key', placeholder, 'the$&key'],
    ['Authorization', basic(`x-access-token:${placeholder}`), basic('x-access-token:the$&key')],
    ['Authorization', basic('user:own password'), basic('user:own password')],
    ['Authorization', 'Bearer own', 'Bearer own'],
  ])('takes the place of the placeholder in %s: %s', (name, value, expected) => {
    const headers = [
      ['Host', 'github.com'],
      [name, value],
    ] as const;

    expect(withKey({ path: '/a', headers }, github, 'the$&key').headers).toEqual([
      ['Host', 'github.com'],
      [name, expected],
    ]);
  });

  const elsewhere = [
    ...['Origin', 'User-Agent', 'Referer', 'X-Request-Id', 'anthropic-version', 'OpenAI-Organization'],
    ...['Access-Control-Request-Headers', 'Cookie', 'Content-Type', 'If-None-Match', 'Range'],
  ].map((name) => [name, placeholder]);

  // What answers show: of other headers what they allow or refuse, of these what is no key.
  it.each([
    ...elsewhere,
    ['Authorization', `Bearer x${placeholder}`],
    ['Authorization', `Digest username="${placeholder}", uri="/"`],
    ['Authorization', `Bearer ${placeholder} ${placeholder}`],
    ['Authorization', basic(`user-${placeholder}:x`)],
    ['Authorization', basic(placeholder)],
    ['X-Api-Key', `{${placeholder}}`],
  ])('takes no place where a server may show it: %s: %s', (name, value) => {
    const request = { path: '/', headers: [[name, value] as const] };

    expect(withKey(request, github, 'the-key')).toEqual(request);
  });

  it.each(['/search?q=', '/search?key=', '/'])('takes no place in an address: %s', (path) => {
    const request = { path: `${path}${placeholder}`, headers: [] };

    expect(withKey(request, github, 'the-key')).toEqual(request);
  });

  it.each([
    ['/a?alt=sse&key=$&b=c', '/a?alt=sse&b=c'],
    ['/a?key=$', '/a'],
  ])('goes from the query of Google into its header: %s', (path, expected) => {
    const google = { for: 'google', from } as const;
    const own = path.replace('$', serviceOf(google).placeholder);

    expect(withKey({ path: own, headers: [['x-goog-api-key', 'own']] }, google, 'the-key')).toEqual({
      path: expected,
      headers: [['X-Goog-Api-Key', 'the-key']],
    });
    const searched = { path: own.replace('key=', 'q='), headers: [] };
    expect(withKey(searched, google, 'the-key')).toEqual(searched);
  });

  it.each([
    [undefined, [['Authorization', 'Bearer key']]],
    [
      'X-Api-Key:',
      [
        ['authorization', 'own'],
        ['X-Api-Key', 'key'],
      ],
    ],
    ['Authorization: Token', [['Authorization', 'Token key']]],
  ])('is set in the header of a host that is no service: %j', (header, expected) => {
    const credential = { for: 'api.example.com', from, ...(header !== undefined && { header }) };

    expect(withKey({ path: '/', headers: [['authorization', 'own']] }, credential, 'key').headers).toEqual(
      expected,
    );
  });
});

describe('services', () => {
  it('are those that the configuration can name, each with a placeholder of its own', () => {
    const all = keyServices.map((name) => serviceOf({ for: name }));

    expect(all.every(({ placeholder }) => /^[\w-]{30,}$/.test(placeholder))).toBe(true);
    expect(new Set(all.map(({ placeholder }) => placeholder)).size).toBe(keyServices.length);
  });

  it('give programs their variables', () => {
    expect(
      Object.fromEntries(
        placeholdersFor([
          { for: 'anthropic', from },
          { for: 'a.example', from },
        ]),
      ),
    ).toEqual({
      ANTHROPIC_API_KEY: expect.stringMatching(/^sk-ant-api03-cai-placeholder-/) as string,
    });
  });
});
