import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Entry } from '../../../../../src/container/engine/kubernetes/api/kubeconfig-file';
import { credentialsOf } from '../../../../../src/container/engine/kubernetes/api/user';
import { expectedError } from '../../../../expected-error';
import { newFolder } from '../../../../support/temp-folder';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

let folder: string;
beforeEach(() => (folder = newFolder()));

const user = (fields: object) => credentialsOf(new Entry(fields, 'the user "me" in FILE', folder), {}, {});

describe('the credentials of a user', () => {
  test('are a certificate, from the text or from files beside, which are read anew', async () => {
    const both = { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') };
    expect(await user(both)()).toEqual({ cert: Buffer.from('CERT'), key: Buffer.from('KEY') });

    writeFileSync(join(folder, 'c'), 'C1');
    writeFileSync(join(folder, 'k'), 'K1');
    const take = user({ 'client-certificate': 'c', 'client-key': join(folder, 'k') });
    expect(await take()).toEqual({ cert: Buffer.from('C1'), key: Buffer.from('K1') });
    writeFileSync(join(folder, 'c'), 'C2');
    expect(await take()).toMatchObject({ cert: Buffer.from('C2') });
    // Source: kubeconfig (v1): the text wins.
    expect(await user({ ...both, 'client-key': 'k' })()).toMatchObject({ key: Buffer.from('KEY') });
  });

  test('are a token, from the text or, as it wins, from a file, which is read anew', async () => {
    expect(await user({ token: 'abc' })()).toEqual({ token: 'abc' });
    writeFileSync(join(folder, 't'), 'one\n');
    const take = user({ token: 'abc', tokenFile: 't' });
    expect(await take()).toEqual({ token: 'one' });
    writeFileSync(join(folder, 't'), 'two');
    expect(await take()).toEqual({ token: 'two' });
  });

  test('may be none', async () => {
    expect(await user({ 'auth-provider': null })()).toEqual({});
  });

  test.each([
    [
      { 'auth-provider': { name: 'gcp' } },
      'its "auth-provider" is of a kind that kubectl itself has dropped: have',
    ],
    [{ username: 'me', password: 'secret' }, 'Kubernetes has no passwords any more: use a token'],
    [{ token: 'secret', as: 'you' }, 'cai does not impersonate: choose a context that needs no "as"'],
    [{ token: 'secret', 'as-groups': ['g'] }, 'cai does not impersonate'],
    [
      { 'client-key-data': 'secret' },
      'of "client-certificate" and "client-key" it has only one: add the other',
    ],
    [{ token: { secret: 1 } }, 'its "token" is no text'],
  ])('are refused if they are of a kind that is not spoken: %j', (fields, why) => {
    expect(() => user(fields)).toThrow(
      expect.objectContaining(
        expectedError('NO_ENGINE', `the user "me" in FILE cannot be used: ${why}`),
      ) as Error,
    );
    expect(() => user(fields)).not.toThrow('secret');
  });

  test('that are in a file have to be there', async () => {
    await expect(user({ tokenFile: 'none' })()).rejects.toMatchObject(
      expectedError(
        'NO_ENGINE',
        `${folder}/none, which the user "me" in FILE names, cannot be read: no such file`,
      ),
    );
    writeFileSync(join(folder, 't'), 'secret secret');
    await expect(user({ tokenFile: 't' })()).rejects.toThrow(
      /^[^\n]*holds no token, or more than one: write it again$/,
    );
  });
});
