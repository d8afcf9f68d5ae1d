import { KubernetesApi } from '../../../../src/container/engine/kubernetes/api/api';
import { Namespace } from '../../../../src/container/engine/kubernetes/namespace';
import {
  NetworkPolicies,
  networkLabel,
  networkPolicies,
  type NetworkPolicy,
} from '../../../../src/container/engine/kubernetes/network-policy';
import { json, PlayedApi, status } from './api/played-api';

const labels = { 'containai.managed': 'true', 'containai.user': '1000' };
const path = '/apis/networking.k8s.io/v1/namespaces/ours/networkpolicies';
let api: PlayedApi;
/** What is there, and which methods are refused. */
let there: readonly object[];
let refused: Readonly<Record<string, number>>;

beforeEach(async () => {
  api = await PlayedApi.start();
  [there, refused] = [[], {}];
  api.answer = (response, { title }) => {
    const code = refused[title.split(' ')[0]!];
    if (code === undefined) json(response, { items: there });
    else json(response, status(code, 'Forbidden', 'no'), code);
  };
});
afterEach(() => api.end());

function policies(): NetworkPolicies {
  return new NetworkPolicies(new Namespace(new KubernetesApi(api.cluster)));
}

function other(spec: NetworkPolicy['spec']): NetworkPolicy {
  return { metadata: { name: 'others' }, spec };
}

test('the policies are made where they are missing', async () => {
  await policies().keep(labels);

  expect(api.titles).toEqual([`GET ${path}`, `POST ${path}`, `POST ${path}`]);
  expect(api.asked.slice(1).map(({ body }) => body)).toEqual(networkPolicies);
});

test('one that lets more through is mended, and nothing is done where they are as they should be', async () => {
  const [egress, ingress] = networkPolicies;
  there = [ingress!, { ...egress!, spec: { ...egress!.spec, egress: [{}] } }];
  await policies().keep(labels);

  expect(api.titles).toEqual([`GET ${path}`, `PATCH ${path}/containai-egress`]);
  const podSelector = { matchLabels: null, ...egress!.spec.podSelector };
  expect(api.asked[1]!.body).toEqual({ spec: { ...egress!.spec, podSelector, ingress: null, egress: null } });

  there = networkPolicies;
  await policies().keep(labels);

  expect(api.titles.slice(2)).toEqual([`GET ${path}`]);
});

test.each([
  [{ GET: 403 }, 1],
  [{ POST: 403 }, 3],
  [{ POST: 409 }, 3],
])('who may not make them goes on: %j', async (codes, count) => {
  refused = codes;
  await policies().keep(labels);

  expect(api.titles).toHaveLength(count);
});

test('another failure is one, and is tried again', async () => {
  const own = policies();
  refused = { GET: 500 };
  await expect(own.keep(labels)).rejects.toThrow('no');
  refused = {};
  await own.keep(labels);

  expect(api.titles).toHaveLength(4);
});

test.each<[string, NetworkPolicy['spec'], boolean]>([
  ['for all pods', { podSelector: {}, egress: [{}] }, true],
  ['without a selector', { egress: [{}] }, true],
  ['for pods of ours', { podSelector: { matchLabels: { 'containai.managed': 'true' } }, egress: [{}] }, true],
  ['for other pods', { podSelector: { matchLabels: { app: 'x' } }, egress: [{}] }, false],
  [
    'for those with one of some values',
    {
      podSelector: { matchExpressions: [{ key: 'containai.user', operator: 'In', values: ['1000'] }] },
      egress: [{}],
    },
    true,
  ],
  [
    'for those without some value',
    { podSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['x'] }] }, egress: [{}] },
    true,
  ],
  [
    'for all but ours',
    {
      podSelector: { matchExpressions: [{ key: 'containai.managed', operator: 'DoesNotExist' }] },
      egress: [{}],
    },
    false,
  ],
  ['that lets in', { podSelector: {}, ingress: [{}] }, true],
  ['that forbids', { podSelector: {}, policyTypes: ['Egress'] }, false],
])('a policy of somebody else %s', async (_, spec, isRefused) => {
  there = [...networkPolicies, other(spec)];
  const kept = policies().keep(labels);

  await (isRefused
    ? expect(kept).rejects.toThrow(/^the NetworkPolicy "others" gives this pod a network .* except pods with/)
    : kept);
  // It may have a network.
  await policies().keep({ ...labels, [networkLabel]: 'open' });
});

test('one of ours that nobody may mend counts as well', async () => {
  const [egress, ingress] = networkPolicies;
  there = [ingress!, { ...egress!, spec: { ...egress!.spec, egress: [{}] } }];
  refused = { PATCH: 403 };

  await expect(policies().keep(labels)).rejects.toThrow('the NetworkPolicy "containai-egress"');
});
