/** That rights which are missing are found, `test/kubernetes/rights.test.ts` tries on a cluster. */
import { KubernetesApi } from '../../../../src/container/engine/kubernetes/api/api';
import { Namespace } from '../../../../src/container/engine/kubernetes/namespace';
import { allowancesOf, quantity } from '../../../../src/container/engine/kubernetes/rights';
import { json, PlayedApi, status } from './api/played-api';

test.each([
  ['3', 3],
  ['100m', 0.1],
  ['256Mi', 2 ** 28],
  ['1.5Gi', 1.5 * 2 ** 30],
  ['500M', 5e8],
  ['2Pi', 2 ** 51],
  ['3E', 3e18],
  ['1e3', 1000],
  ['x', NaN],
])('%s is read as the server means it', (text, number) => {
  expect(quantity(text)).toBe(number);
});

describe('quotas', () => {
  let api: PlayedApi;
  beforeEach(async () => {
    api = await PlayedApi.start();
  });
  afterEach(() => api.end());

  test('of all that there are, those that are used up are found', async () => {
    const one = {
      status: { hard: { pods: '4', 'requests.cpu': '2' }, used: { pods: '4', 'requests.cpu': '100m' } },
    };
    api.answer = (response) => json(response, { items: [one, { status: { hard: { secrets: '1' } } }, {}] });

    expect(await allowancesOf(new Namespace(new KubernetesApi(api.cluster))).quotas()).toEqual([
      { what: 'pods', used: '4', limit: '4', isUsedUp: true },
      { what: 'requests.cpu', used: '100m', limit: '2', isUsedUp: false },
      { what: 'secrets', used: '0', limit: '1', isUsedUp: false },
    ]);
  });

  test('that we may not see are none, and other failures are told', async () => {
    api.answer = (response) => json(response, status(403, 'Forbidden', 'no'), 403);
    const allowances = allowancesOf(new Namespace(new KubernetesApi(api.cluster)));

    expect(await allowances.quotas()).toEqual([]);
    api.answer = (response) => json(response, status(500, 'InternalError', 'broken'), 500);
    await expect(allowances.quotas()).rejects.toThrow('broken');
  });
});
