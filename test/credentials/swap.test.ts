import { placeholdersFor, serviceOf } from '../../src/credentials/services';
import { withKey } from '../../src/credentials/swap';
import { keyServices } from '../../src/config/config-words';

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

  it('takes the place of the placeholder in the query, and not in the path', () => {
    const { path } = withKey({ path: `/${placeholder}?key=${placeholder}&a=b`, headers: [] }, github, 'a&b');

    expect(path).toBe(`/${placeholder}?key=a%26b&a=b`);
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
