import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { accessTo, type AccessOptions } from '../../../src/served/client/access';
import { readAddress } from '../../../src/served/client/address';
import { Host } from '../../../src/system/host';
import { newFolder } from '../../support/temp-folder';

const host = new Host({ HOME: '/home/me' });
const folder = newFolder();
const fileWith = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const own = fileWith('own', 'own-token\n');
const none = join(folder, 'none');

/** The headers for an address. */
function headersFor(url: string, options: Partial<AccessOptions> = {}): unknown {
  return accessTo(readAddress(url, undefined, host), { ownTokenFile: own, uid: 1_000, ...options }).headers;
}

describe('the token', () => {
  test('is of the file, then of the environment, then of this machine', () => {
    const tokenFile = fileWith('given', ' given-token \n');

    expect(headersFor('ws://127.0.0.1', { tokenFile, token: 'other' })).toEqual({
      Authorization: 'Bearer given-token',
    });
    expect(headersFor('ws://127.0.0.1', { token: 'other' })).toEqual({ Authorization: 'Bearer other' });
    expect(headersFor('ws://127.0.0.1', { token: '' })).toEqual({ Authorization: 'Bearer own-token' });
    expect(headersFor('ws://127.0.0.1', { ownTokenFile: none })).toEqual({});
  });

  test.each(['wss://h', 'ws://h', 'unix:/run/x', 'ws://127.0.0.1.example'])(
    'of this machine is for no other: %s',
    (url) => {
      expect(headersFor(url)).toEqual({});
    },
  );

  test('goes where nobody else can read it', () => {
    expect(headersFor('wss://h', { token: 't' })).toEqual({ Authorization: 'Bearer t' });
    expect(headersFor('unix:/run/x', { token: 't' })).toEqual({ Authorization: 'Bearer t' });
    expect(() => headersFor('ws://h', { token: 't' })).toThrow('unencrypted to ws://h/acp');
  });

  test.each(['a b', 'a\nb', 'é', ''])('is one word of a header: not %j', (text) => {
    const tokenFile = fileWith('odd', text);

    expect(() => headersFor('wss://h', { tokenFile })).toThrow('--token-file does not hold a token');
    expect(() => headersFor('ws://[::1]', { ownTokenFile: tokenFile })).toThrow('does not hold a token');
  });

  test.each([
    ['ws://127.0.0.1', 1_000],
    ['ws://localhost', 1_000],
    ['wss://127.0.0.1', undefined],
    ['unix:/run/x', 1_000],
  ])('is for the user alone where others can listen: %s', (url, onlyFor) => {
    const options = { ownTokenFile: none, uid: 1_000 };
    const address = readAddress(url, undefined, host);

    expect(accessTo(address, { ...options, token: 't' }).onlyFor).toBe(onlyFor);
    expect(accessTo(address, options).onlyFor).toBeUndefined();
  });

  test('that cannot be read is an error', () => {
    expect(() => headersFor('wss://h', { tokenFile: none })).toThrow(
      `--token-file: ${none} cannot be read: no such file`,
    );
    expect(() => headersFor('ws://localhost', { ownTokenFile: folder })).toThrow(`${folder} cannot be read`);
  });
});

describe('TLS', () => {
  const address = readAddress('wss://h', undefined, host);
  const noToken = { ownTokenFile: none, uid: 1_000 };

  test('trusts what is named besides the usual authorities', () => {
    const caFile = fileWith('ca', 'CA');

    expect(accessTo(address, { ...noToken, caFile }).tls).toEqual({
      ca: [...rootCertificates, 'CA'],
    });
    expect(accessTo(address, { ...noToken }).tls).toEqual({});
  });

  test('shows a certificate, with its key', () => {
    const [certFile, keyFile] = [fileWith('cert', 'C'), fileWith('key', 'K')];

    expect(accessTo(address, { ...noToken, certFile, keyFile }).tls).toEqual({ cert: 'C', key: 'K' });
    expect(() => accessTo(address, { ...noToken, keyFile })).toThrow('need each other');
  });
});
