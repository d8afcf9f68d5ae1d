import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  clusterOfPod,
  findCluster,
  nameOf,
} from '../../../../../src/container/engine/kubernetes/api/kubeconfig';
import { expectedError } from '../../../../expected-error';
import { newFolder } from '../../../../support/temp-folder';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

let home: string;
beforeEach(() => (home = newFolder()));

function write(name: string, text: string): string {
  const file = join(home, name);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** A file with one context, cluster and user, which have the same name. */
function config(
  name: string,
  more: { cluster?: string; user?: string; context?: string; top?: string } = {},
): string {
  return `apiVersion: v1
kind: Config
${more.top ?? `current-context: ${name}`}
contexts:
- name: ${name}
  context: { cluster: ${name}, user: ${name}${more.context ?? ''} }
clusters:
- name: ${name}
  cluster: { server: "https://${name}.test:6443"${more.cluster ?? ''} }
users:
- name: ${name}
  user: { token: of-${name}${more.user ?? ''} }
`;
}

const find = (env: NodeJS.ProcessEnv = {}, wanted = {}) => findCluster({ env, home }, wanted);

describe('the cluster', () => {
  test('is reached by the proxy that its entry names', () => {
    write('.kube/config', config('a', { cluster: ', proxy-url: "http://me:secret@p:3128"' }));

    expect(find().proxy?.href).toBe('http://me:secret@p:3128/');
    write('.kube/config', config('a'));
    expect(find()).not.toHaveProperty('proxy');
  });

  test('is reached by the proxy of the environment, unless its entry names another one', () => {
    const env = { HTTPS_PROXY: 'http://p:3128', no_proxy: '' };
    write('.kube/config', config('a'));

    expect(find(env).proxy?.href).toBe('http://p:3128/');
    expect(find({ ...env, no_proxy: 'localhost,.test' })).not.toHaveProperty('proxy');
    write('.kube/config', config('a', { cluster: ', proxy-url: "http://other:3128"' }));
    expect(find(env).proxy?.href).toBe('http://other:3128/');
  });

  test('is that of the current context in ~/.kube/config', async () => {
    write('.kube/config', config('a', { context: ', namespace: mine' }));

    const cluster = find();

    expect(cluster).toMatchObject({
      context: 'a',
      server: 'https://a.test:6443',
      namespace: 'mine',
      tls: {},
    });
    expect(await cluster.credentials()).toEqual({ token: 'of-a' });
    expect(nameOf(cluster)).toBe('the Kubernetes cluster at https://a.test:6443 (context "a")');
  });

  test('is that of KUBECONFIG instead, whose files count as one', async () => {
    write('.kube/config', config('unused'));
    const first = write('1', config('a', { top: '' }));
    const second = write('2', config('b'));
    const env = { KUBECONFIG: `:${first}:${home}/none:${second}` };

    expect(find(env)).toMatchObject({ context: 'b', server: 'https://b.test:6443' });
    expect(await find(env, { context: 'a' }).credentials()).toEqual({ token: 'of-a' });
    expect(() => find(env, { context: 'unused' })).toThrow('(known: "a", "b")');
  });

  test('has what the first file says of something', () => {
    const first = write('1', config('a'));
    const second = write('2', config('a', { context: ', namespace: other' }).replace('a.test', 'other.test'));

    expect(find({ KUBECONFIG: `${first}:${second}` })).toMatchObject({
      server: 'https://a.test:6443',
      namespace: 'default',
    });
    expect(find({ KUBECONFIG: `${second}:${first}` })).toMatchObject({
      server: 'https://other.test:6443',
      namespace: 'other',
    });
  });

  test('is what the configuration of cai wants', () => {
    write('.kube/config', config('a'));
    const kubeconfig = write('own', config('b', { context: ', namespace: theirs' }));

    const cluster = find({ KUBECONFIG: '/none' }, { kubeconfig, namespace: 'wanted' });

    expect(cluster).toMatchObject({ context: 'b', namespace: 'wanted' });
  });

  test('may be written as JSON, with a path and without a user', async () => {
    write(
      '.kube/config',
      JSON.stringify({
        'current-context': 'j',
        contexts: [{ name: 'j', context: { cluster: 'j' } }],
        clusters: [{ name: 'j', cluster: { server: 'https://[::1]/k8s/clusters/c-1/' } }],
      }),
    );

    expect(find().server).toBe('https://[::1]/k8s/clusters/c-1');
    expect(await find().credentials()).toEqual({});
  });

  test('is judged by its authority, from the text or from a file beside its own', () => {
    write(
      '.kube/config',
      config('a', { cluster: `, certificate-authority-data: ${base64('CA')}, tls-server-name: other` }),
    );
    expect(find().tls).toEqual({ ca: Buffer.from('CA'), servername: 'other' });

    const beside = write('deep/own', config('b', { cluster: ', certificate-authority: pki/ca.crt' }));
    write('deep/pki/ca.crt', 'FILE');
    expect(find({ KUBECONFIG: `${home}/.kube/config:${beside}` }, { context: 'b' }).tls).toEqual({
      ca: Buffer.from('FILE'),
    });

    write('.kube/config', config('a', { cluster: ', insecure-skip-tls-verify: true' }));
    expect(find().tls).toEqual({ rejectUnauthorized: false });
  });
});

describe('inside a pod', () => {
  const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };

  test('it is that of the service account, whose token is read anew', async () => {
    for (const [name, text] of Object.entries({ token: 'first\n', 'ca.crt': 'CA', namespace: 'its\n' }))
      write(name, text);

    const cluster = clusterOfPod(env, undefined, home)!;

    expect(cluster).toMatchObject({
      server: 'https://10.96.0.1:443',
      namespace: 'its',
      tls: { ca: Buffer.from('CA') },
    });
    expect(nameOf(cluster)).toBe('the Kubernetes cluster at https://10.96.0.1:443 (of this pod)');
    expect(await cluster.credentials()).toEqual({ token: 'first' });
    write('token', 'second');
    expect(await cluster.credentials()).toEqual({ token: 'second' });
    expect(clusterOfPod({ KUBERNETES_SERVICE_HOST: 'fd00::1' }, 'wanted', home)).toMatchObject({
      server: 'https://[fd00::1]:443',
      namespace: 'wanted',
    });
  });

  test('without a service account there is none', () => {
    expect(clusterOfPod(env, undefined, home)).toBeUndefined();
    write('token', 'x');
    expect(clusterOfPod({}, undefined, home)).toBeUndefined();
  });
});

describe('what cannot be used is told with what to do', () => {
  test.each([
    [
      'nothing',
      undefined,
      {},
      'there is no Kubernetes cluster: HOME/.kube/config has no context, and this is no pod: give KUBECONFIG',
    ],
    ['an empty file', '', {}, 'there is no Kubernetes cluster'],
    ['a list', '- 1', {}, 'there is no Kubernetes cluster'],
    [
      'no choice',
      config('a', { top: '' }),
      {},
      'no context is chosen in HOME/.kube/config (known: "a"): name another context',
    ],
    [
      'an unknown context',
      config('a'),
      { context: 'b' },
      'there is no Kubernetes context "b" in HOME/.kube/config (known: "a"): name',
    ],
    [
      'a missing file',
      undefined,
      { kubeconfig: '/none' },
      'there is no kubeconfig /none: correct "kubeconfig"',
    ],
    [
      'a missing cluster',
      config('a').replace('cluster: a', 'cluster: z'),
      {},
      'the context "a" in HOME/.kube/config cannot be used: it names the cluster "z", which is nowhere',
    ],
    [
      'a missing user',
      config('a').replace('user: a', 'user: z'),
      {},
      'it names the user "z", which is nowhere',
    ],
    [
      'no server',
      config('a').replace('server:', 'serve:'),
      {},
      'the cluster "a" in HOME/.kube/config cannot be used: it has no "server"',
    ],
    [
      'no TLS',
      config('a').replace('https:', 'http:'),
      {},
      'its "server" is not of the form https://HOST:PORT',
    ],
    [
      'a proxy of another kind',
      config('a', { cluster: ', proxy-url: "socks5://p"' }),
      {},
      'its "proxy-url" is not the address of a proxy that speaks HTTP',
    ],
    [
      'a contradiction',
      config('a', {
        cluster: `, insecure-skip-tls-verify: true, certificate-authority-data: ${base64('x')}`,
      }),
      {},
      'has both "insecure-skip-tls-verify"',
    ],
    [
      'a missing authority',
      config('a', { cluster: ', certificate-authority: none' }),
      {},
      'HOME/.kube/none, which the cluster "a" in HOME/.kube/config names, cannot be read: no such file',
    ],
    ['a number', config('a', { context: ', namespace: 7' }), {}, 'its "namespace" is no text'],
  ])('%s', (_, text, wanted, message) => {
    if (text !== undefined) write('.kube/config', text);

    expect(() => find({}, wanted)).toThrow(
      expect.objectContaining(expectedError('NO_ENGINE', message.replaceAll('HOME', home))) as Error,
    );
  });

  test('what is no YAML, without a word of it', () => {
    write('.kube/config', 'users:\n- name: a\n  user: { token: "hidden\\q" }\n');

    expect(() => find()).toThrow(
      `${home}/.kube/config is no YAML (line 3: BAD_DQ_ESCAPE), so the cluster is unknown: mend it`,
    );
    expect(() => find()).not.toThrow('hidden');
  });

  test('a file that cannot be read', () => {
    expect(() => find({ KUBECONFIG: home })).toThrow(`${home} cannot be read, so the cluster is unknown`);
  });
});
