/** Source of the form: Kubernetes, "client-go credential plugins". */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ExecPlugin } from '../../../../../src/container/engine/kubernetes/api/exec-plugin';
import { Entry } from '../../../../../src/container/engine/kubernetes/api/kubeconfig-file';
import { expectedError } from '../../../../expected-error';
import { newFolder } from '../../../../support/temp-folder';

const v1 = 'client.authentication.k8s.io/v1';

let folder: string;
beforeEach(() => (folder = newFolder()));

/** A program that notes each of its runs, and then does this. */
function script(does: string): string {
  const file = join(folder, 'plugin');
  writeFileSync(file, `#!/bin/sh\necho run >> "${folder}/runs"\n${does}\n`, { mode: 0o700 });
  return file;
}

/** Prints credentials with this status. */
function prints(status: object, apiVersion = v1): string {
  return script(`cat <<'END'\n${JSON.stringify({ apiVersion, kind: 'ExecCredential', status })}\nEND`);
}

const runs = (): number =>
  existsSync(join(folder, 'runs')) ? readFileSync(join(folder, 'runs'), 'utf8').split('\n').length - 1 : 0;

function plugin(fields: object, limitMs?: number): ExecPlugin {
  const exec = { apiVersion: v1, command: './plugin', interactiveMode: 'Never', ...fields };
  const env = { PATH: process.env.PATH, OURS: 'ours', SET: 'before' };
  return new ExecPlugin(new Entry(exec, 'the user "me"', folder), env, { server: 'https://x' }, limitMs);
}

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();
const soon = () => new Date(Date.now() + 20_000).toISOString();

describe('a program', () => {
  test.each([v1, 'client.authentication.k8s.io/v1beta1'])(
    'gives a token, asked by %s',
    async (apiVersion) => {
      prints({ token: 'abc' }, apiVersion);

      expect(await plugin({ apiVersion }).credentials()).toEqual({ token: 'abc' });
    },
  );

  test('gives a certificate', async () => {
    prints({ clientCertificateData: 'CERT', clientKeyData: 'KEY' });

    expect(await plugin({}).credentials()).toEqual({ cert: Buffer.from('CERT'), key: Buffer.from('KEY') });
  });

  test('gets arguments, our environment and its own, what is asked, and nothing to read', async () => {
    script(`printf '%s|' "$@" "$OURS" "$SET" "$KUBERNETES_EXEC_INFO" "$(cat)" > "${folder}/got"
      echo '{"apiVersion":"${v1}","kind":"ExecCredential","status":{"token":"t"}}'`);
    const env = [{ name: 'SET', value: 'theirs' }];

    await plugin({ args: ['a b', 'c'], env }).credentials();
    const got = readFileSync(join(folder, 'got'), 'utf8').split('|');
    expect(got).toEqual(['a b', 'c', 'ours', 'theirs', expect.any(String), '', '']);
    expect(JSON.parse(got[4]!)).toEqual({
      apiVersion: v1,
      kind: 'ExecCredential',
      spec: { interactive: false },
    });

    await plugin({ provideClusterInfo: true }).credentials();
    const [, , told] = readFileSync(join(folder, 'got'), 'utf8').split('|');
    expect(JSON.parse(told!)).toMatchObject({ spec: { cluster: { server: 'https://x' } } });
  });

  test('is looked for in PATH if it is a bare name', async () => {
    const args = ['-c', `echo '{"apiVersion":"${v1}","kind":"ExecCredential","status":{"token":"t"}}'`];

    expect(await plugin({ command: 'sh', args }).credentials()).toEqual({ token: 't' });
  });
});

describe('its credentials', () => {
  test.each([
    ['for good', undefined],
    ['in an hour', inAnHour()],
  ])('are kept until shortly before they expire: %s', async (_, expirationTimestamp) => {
    prints({ token: 'a', expirationTimestamp });
    const asked = plugin({});

    await asked.credentials();
    await asked.credentials();

    expect(runs()).toBe(1);
  });

  test('are taken anew shortly before they expire', async () => {
    prints({ token: 'a', expirationTimestamp: soon() });
    const asked = plugin({});
    await asked.credentials();
    prints({ token: 'b', expirationTimestamp: inAnHour() });

    expect(await asked.credentials()).toEqual({ token: 'b' });
    expect(runs()).toBe(2);
  });

  test('are taken anew when the server has refused them, by one program for all', async () => {
    prints({ token: 'a' });
    const asked = plugin({});
    const all = (refused?: { token: string }) => Array.from({ length: 5 }, () => asked.credentials(refused));
    await Promise.all(all());
    expect(runs()).toBe(1);

    prints({ token: 'b' });

    expect(await Promise.all(all({ token: 'a' }))).toEqual(Array(5).fill({ token: 'b' }));
    expect(await asked.credentials({ token: 'a' })).toEqual({ token: 'b' });
    expect(runs()).toBe(2);
  });

  test('are asked for again after a failure', async () => {
    script('exit 3');
    const asked = plugin({});
    await expect(asked.credentials()).rejects.toThrow('it ended with 3');
    prints({ token: 'a' });

    expect(await asked.credentials()).toEqual({ token: 'a' });
  });
});

describe('a failure', () => {
  const told = (why: string) =>
    expectedError(
      'NO_ENGINE',
      new RegExp(`^the user "me" cannot be used: the exec plugin ".*" gave no credentials, for ${why}: `),
    );

  test('holds what its makers advise, and nothing that the program has said', async () => {
    script('echo secret; echo secret >&2; exit 1');
    const failed = plugin({ installHint: 'Run sign-in.\n', args: ['secret'] }).credentials();

    await expect(failed).rejects.toMatchObject(told('it ended with 1'));
    await expect(failed).rejects.toThrow(/kubectl version"\)\. Run sign-in\.$/);
    await expect(failed).rejects.not.toThrow('secret');
  });

  test('is that there is no such program', async () => {
    const failed = plugin({ command: 'no-such-plugin', installHint: 'See https://x.' }).credentials();

    await expect(failed).rejects.toMatchObject(told('there is no such program'));
    await expect(failed).rejects.toThrow(/: install it\. See https:\/\/x\.$/);
  });

  test('is that it does not end', async () => {
    script('sleep 100');

    await expect(plugin({}, 200).credentials()).rejects.toMatchObject(told('it had not ended after 0.2 s'));
  });

  test.each([
    ['echo secret', 'what it says is no ExecCredential of .*'],
    [`echo '{"kind":"ExecCredential","apiVersion":"other"}'`, 'what it says is no ExecCredential of .*'],
    [
      `echo '{"kind":"ExecCredential","apiVersion":"${v1}","status":{"clientKeyData":"secret"}}'`,
      'it gives neither a token nor .*',
    ],
    [
      `echo '{"kind":"ExecCredential","apiVersion":"${v1}","status":{"token":"secret secret"}}'`,
      'its token is not one word',
    ],
  ])('is that what it says is of no use: %s', async (does, why) => {
    script(does);
    const failed = plugin({}).credentials();

    await expect(failed).rejects.toMatchObject(told(why));
    await expect(failed).rejects.not.toThrow('secret');
  });

  test.each([
    [
      { apiVersion: 'client.authentication.k8s.io/v1alpha1' },
      'speaks client.authentication.k8s.io/v1alpha1, and cai',
    ],
    [{ interactiveMode: 'Always' }, 'needs a terminal'],
    [{ command: '' }, 'it has no "command"'],
  ])('comes before anything is run: %j', (fields, why) => {
    expect(() => plugin(fields)).toThrow(why);
  });
});
