import { X509Certificate } from 'node:crypto';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { authorityOf, identityFor } from '../../../src/network/keys/authority';
import { newFolder } from '../../support/temp-folder';

const state = newFolder();

describe('authorityOf', () => {
  it('is made once, by whoever wants it first, and is the user’s alone', async () => {
    const [one, other] = await Promise.all([authorityOf(state), authorityOf(state)]);

    expect(one).toEqual(other);
    expect(await authorityOf(state)).toEqual(one);
    expect(statSync(join(state, 'credentials/authority.json')).mode & 0o777).toBe(0o600);
    expect(new X509Certificate(one.cert).ca).toBe(true);
  });

  it('tells what to do where it cannot be used', async () => {
    const other = newFolder();
    mkdirSync(join(other, 'credentials'));
    writeFileSync(join(other, 'credentials/authority.json'), '{}');

    await expect(authorityOf(other)).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringContaining('remove it to get a new one') as string,
    });
  });
});

describe('identityFor', () => {
  it('is good for that host alone, by the authority alone', async () => {
    const authority = await authorityOf(state);
    const cert = new X509Certificate((await identityFor('api.example.com', authority)).cert);

    expect(cert.checkHost('api.example.com')).toBe('api.example.com');
    expect(cert.checkHost('www.example.com')).toBeUndefined();
    expect(cert.ca).toBe(false);
    expect(cert.verify(new X509Certificate(authority.cert).publicKey)).toBe(true);
    expect(cert.verify(cert.publicKey)).toBe(false);
    expect(Date.parse(cert.validFrom)).toBeLessThan(Date.now());
  });
});
