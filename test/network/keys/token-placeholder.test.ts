import { placeholderFor, readPlaceholder } from '../../../src/network/keys/token-placeholder';

const about = { name: 'access', signIn: '0123456789ab', generation: 7 } as const;
const secret = 'S3cr3t-'.repeat(8);
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('placeholderFor', () => {
  it.each([
    [`sk-ant-oat01-${secret}`, 'sk-ant-oat01-'],
    [`sk-ant-api03-${secret}`, 'sk-ant-api03-'],
    [`sk-proj-${secret}`, 'sk-proj-'],
    [`ya29.${secret}`, 'ya29.'],
    [`1//0${secret}`, '1//'],
    [`gho_${secret}`, 'gho_'],
    [`rt_${secret}`, 'rt_'],
    [secret, ''],
    ['', ''],
  ])('keeps of %s only what tells its kind', (token, prefix) => {
    const placeholder = placeholderFor(token, about);

    expect(placeholder.slice(0, prefix.length)).toBe(prefix);
    expect(placeholder.slice(prefix.length)).toMatch(/^caiplaceholder\w+$/);
    expect(readPlaceholder(placeholder)).toEqual(about);
  });

  it('keeps the claims of a web token, and not what signs them', () => {
    const claims = `${encoded({ alg: 'RS256' })}.${encoded({ email: 'someone@example.com' })}`;

    const placeholder = placeholderFor(`${claims}.${secret}`, about);

    expect(placeholder).toMatch(/^[\w-]+\.[\w-]+\.\w+$/);
    expect(placeholder.startsWith(`${claims}.`)).toBe(true);
    expect(placeholder).not.toContain(secret);
    expect(readPlaceholder(placeholder)).toEqual(about);
  });
});

describe('readPlaceholder', () => {
  it.each([
    [undefined],
    [5],
    ['sk-ant-oat01-real'],
    [`${placeholderFor(secret, about)}x`],
    ['caiplaceholderaccessx1'],
  ])('takes %s for none', (text) => expect(readPlaceholder(text)).toBeUndefined());
});
