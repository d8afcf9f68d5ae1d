import {
  ApiRefusal,
  ForwardFailure,
  kubernetesError,
  NodeSilent,
  refusalOf,
  unless,
} from '../../../../../src/container/engine/kubernetes/api/api-error';
import { Silent } from '../../../../../src/container/engine/silence';
import { CaiError } from '../../../../../src/errors';
import { status } from './played-api';

const cluster = {
  context: 'work',
  server: 'https://10.0.0.1:6443',
  namespace: 'ours',
  tls: {},
  credentials: () => Promise.resolve({}),
};
const name = 'the Kubernetes cluster at https://10.0.0.1:6443 (context "work")';

function told(reason: unknown, of = cluster): string {
  const { code, message } = kubernetesError(reason, {
    cluster: of,
    what: 'make the pod x',
    code: 'CONTAINER_START',
  });
  return `${code}: ${message}`;
}

function refused(...[code, ...rest]: Parameters<typeof status>): ApiRefusal {
  return new ApiRefusal(code, JSON.stringify(status(code, ...rest)));
}

test.each<readonly [string, Error, string]>([
  [
    'is not reached',
    // As Kubernetes 1.20 has it: without a reason.
    refused(
      500,
      undefined as unknown as string,
      'error dialing backend: dial tcp 10.0.0.2:10250: connect: connection refused',
    ),
    'CONTAINER_START: cannot make the pod x: its node does not answer the cluster (dial tcp 10.0.0.2:10250: connect: connection refused)',
  ],
  [
    'does not answer',
    new NodeSilent(15),
    'NOT_READY: cannot make the pod x: its node does not answer the cluster (no answer for 15 s)',
  ],
])('a node that %s is told with what to do', (_, reason, text) => {
  expect(told(reason)).toBe(
    `${text}: see "kubectl --context work get nodes"; when the cluster has given that node up, the next command makes the container on another one`,
  );
});

describe('a refusal', () => {
  // The sentences are those of Kubernetes 1.20.
  test.each([
    [
      403,
      'nodes is forbidden: User "me" cannot get resource "nodes" in API group "" at the cluster scope',
      'lack the right "get" on nodes in the whole cluster: ask',
    ],
    [
      403,
      'roles.rbac is forbidden: User "me" cannot get resource "roles" in API group "rbac" in the namespace "a"',
      'lack the right "get" on roles of "rbac" in the namespace "a": ask',
    ],
  ])('tells with %d which right is missing: %s', (code, sentence, text) => {
    expect(told(refused(code, 'Forbidden', sentence))).toMatch(
      `NO_ENGINE: ${name} does not let you make the pod x: you ${text}`,
    );
  });

  // The sentences are those of Kubernetes 1.20, but for the third, which 1.22 has brought.
  test.each([
    ['exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1', 'remove containers'],
    ['failed quota: small: must specify limits.cpu,limits.memory', 'set container.memory and'],
    ['unable to validate against any pod security policy: []', 'name folders by volume claims'],
    ['pod rejected: RuntimeClass "none" not found', 'name one of "kubectl get runtimeclasses"'],
    ['[maximum cpu usage per Pod is 1. No limit is specified, x]', 'set container.memory, container.cpus'],
  ])('by a rule of the namespace is told in its words, with what to do: %s', (rule, remedy) => {
    const sentence = `pods "x" is forbidden: ${rule}`;
    const code = rule.startsWith('exceeded') ? 'QUOTA' : 'CONTAINER_START';

    expect(told(refused(403, 'Forbidden', sentence))).toMatch(
      `${code}: cannot make the pod x: ${sentence}: ${remedy}`,
    );
  });

  test('of who we are says how to sign in', () => {
    const reason = refused(401, 'Unauthorized', 'Unauthorized');

    expect(told(reason)).toBe(
      `NO_ENGINE: ${name} does not know you: the credentials of that context are refused or have expired: sign in again until "kubectl --context work get pods" works`,
    );
    const { server, namespace, tls, credentials } = cluster;
    const ofPod = { server, namespace, tls, credentials };
    expect(kubernetesError(reason, { cluster: ofPod, what: 'x', code: 'CONTAINER_START' }).message).toContain(
      '(of this pod) does not know you: the token of the service account',
    );
  });

  test.each([
    ['pods', 'CONTAINER_NOT_FOUND: cannot make the pod x: it is not found'],
    ['namespaces', 'NO_ENGINE: cannot make the pod x: it is not found: make that namespace, or name another'],
    ['secrets', 'CONTAINER_START: cannot make the pod x: it is not found'],
  ])('as something is missing depends on what: %s', (kind, text) => {
    expect(told(refused(404, 'NotFound', 'it is not found', kind))).toMatch(text);
  });

  test.each([
    // As Kubernetes 1.20 answers while etcd is away.
    [
      new ApiRefusal(
        504,
        '{"metadata":{},"status":"Failure","message":"Timeout: not within 60s","code":504}',
      ),
      'NOT_READY: cannot make the pod x: Timeout: not within 60s: the cluster is not able to do that now: see "kubectl --context work get --raw',
    ],
    [
      refused(500, 'InternalError', 'etcdserver: request timed out'),
      'CONTAINER_START: cannot make the pod x: etcdserver: request timed out: the cluster is not able',
    ],
  ])('by a server that does not work says so: %s', (reason, text) => {
    expect(told(reason)).toContain(text);
  });

  test('by something else than an API server says so, on one line', () => {
    const reason = new ApiRefusal(502, '<h1>Bad\nGateway\u001b[2J</h1>');

    expect(reason.message).toBe('<h1>Bad Gateway\ufffd[2J</h1>');
    expect(told(reason)).toMatch(
      `NO_ENGINE: what answers at ${name} is no API server (HTTP status 502): name another`,
    );
    expect(new ApiRefusal(502, '').message).toBe('HTTP status 502');
    expect(new ApiRefusal(502, 'x'.repeat(1_000)).message).toHaveLength(300);
  });

  test('can be fine', () => {
    expect(() => unless(404, 409)(refused(409, 'AlreadyExists', 'x'))).not.toThrow();
    expect(() => unless(404)(refused(409, 'AlreadyExists', 'so it is'))).toThrow('so it is');
    expect(() => unless(404)(new Error('else'))).toThrow('else');
    expect(refusalOf(new Error('else'))).toBeUndefined();
  });
});

describe('a connection that fails', () => {
  test.each([
    ['ECONNREFUSED', 'is not running, for nothing listens there: start it'],
    [
      'ENOTFOUND',
      'cannot be found, for its name has no address: see whether "kubectl --context work version" works',
    ],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'and cai do not trust each other (why): check'],
    ['ODD', 'could not make the pod x (why): see'],
  ])('is told with what to do: %s', (code, text) => {
    expect(told(Object.assign(new Error('why'), { code }))).toMatch(`NO_ENGINE: ${name} ${text}`);
  });

  test('or falls silent is not ready', () => {
    expect(told(new Silent(20, false))).toMatch(
      `NOT_READY: ${name} was to make the pod x and does not answer (waited for 20 s)`,
    );
    expect(told(new Silent(90, true))).toMatch('still answers, but has not done that');
  });

  test('inside the cluster is what the caller says', () => {
    const to = { namespace: 'ours', pod: 'x', port: 22 };
    const reason = new ForwardFailure(to, 'dial tcp4 127.0.0.1:22:\nconnect: connection refused');

    expect(reason.isPassing).toBe(true);
    // What the kubelet says while its runtime is away.
    const closed = 'rpc error: code = Unavailable desc = connection closed';
    expect(new ForwardFailure(to, closed).isPassing).toBe(true);
    expect(new ForwardFailure(to, 'no').isPassing).toBe(false);
    expect(told(reason)).toBe(
      'CONTAINER_START: cannot make the pod x: port 22 of the pod ours/x: dial tcp4 127.0.0.1:22: connect: connection refused',
    );
  });

  test('is what it is if it is told already', () => {
    const reason = new CaiError('IMAGE', 'told');

    expect(kubernetesError(reason, { cluster, what: 'x', code: 'NO_ENGINE' })).toBe(reason);
  });
});
