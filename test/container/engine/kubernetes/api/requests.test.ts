import { Requests } from '../../../../../src/container/engine/kubernetes/api/requests';
import { TunnelProxy } from '../../../../support/tunnel-proxy';
import { cut, json, PlayedApi, status, type Answer } from './played-api';

let api: PlayedApi;
beforeAll(async () => (api = await PlayedApi.start()));
afterAll(() => api.end());
beforeEach(() => {
  Object.assign(api, { isThere: true, credentials: [{ token: 'first' }] });
  api.asked.length = 0;
  api.taken.length = 0;
});

const get = (requests = new Requests(api.cluster), path = '/api/v1/x') =>
  requests.whole({ method: 'GET', path });

describe('a request', () => {
  test('shows a token, and keeps a path of the server', async () => {
    api.answers((response) => json(response, { a: 1 }));

    const body = await get(new Requests({ ...api.cluster, server: `${api.url}/k8s/clusters/1` }));

    expect(JSON.parse(body.toString())).toEqual({ a: 1 });
    expect(api.asked).toMatchObject([
      {
        title: 'GET /k8s/clusters/1/api/v1/x',
        headers: { authorization: 'Bearer first', accept: 'application/json' },
      },
    ]);
  });

  test('goes to no server that the cluster does not vouch for', async () => {
    await expect(get(new Requests({ ...api.cluster, tls: {} }))).rejects.toMatchObject({
      code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    });
    const elsewhere = { ...api.cluster.tls, servername: 'other.test' };
    await expect(get(new Requests({ ...api.cluster, tls: elsewhere }))).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    expect(api.asked).toEqual([]);
  });

  test('is refused in the words of the server', async () => {
    api.answers((response) => json(response, status(409, 'AlreadyExists', 'it is there', 'pods'), 409));

    await expect(get()).rejects.toMatchObject({
      status: 409,
      isStatus: true,
      kind: 'pods',
      message: 'it is there',
    });
  });

  test('fails if its answer is cut in the middle', async () => {
    api.answers((response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"a":', () => cut(response));
    });

    await expect(get()).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';
  test.each<[string, Answer, object]>([
    [
      'is longer than any',
      (response) => response.end(Buffer.alloc(65 * 2 ** 20, ' ')),
      { message: 'its answer is longer than that of any engine' },
    ],
    [
      'is a refusal that is longer than any',
      (response) => response.writeHead(500).end(Buffer.alloc(2 ** 21, ' ')),
      { message: 'its answer is longer than that of any engine' },
    ],
    [
      'is a refusal without a sentence',
      (response) => json(response, { kind: 'Status', message: 5 }, 500),
      { status: 500 },
    ],
    ['changes the protocol', (response) => response.socket!.write(switching), { status: 101 }],
  ])('fails if its answer %s', async (_, answer, failure) => {
    api.answers(answer);

    await expect(get()).rejects.toMatchObject(failure);
  });

  test('fails by what ends it', async () => {
    const end = new AbortController();
    api.answers(() => end.abort(new Error('enough')));

    await expect(
      new Requests(api.cluster).whole({ method: 'GET', path: '/api/v1/x', signal: end.signal }),
    ).rejects.toThrow('enough');
  });
});

describe('through a proxy', () => {
  beforeEach(() => (api.answer = (response) => json(response, {})));

  test('requests find the server, which is the one that its certificate names, and share a tunnel', async () => {
    const proxy = await TunnelProxy.start();
    const requests = new Requests({ ...api.cluster, proxy: proxy.url });

    expect(String(await get(requests))).toBe('{}');
    expect(String(await get(requests))).toBe('{}');
    await expect(get(new Requests({ ...api.cluster, tls: {}, proxy: proxy.url }))).rejects.toMatchObject({
      code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    });

    const place = new URL(api.url).host;
    expect(proxy.asked).toEqual([place, place]);
    expect(api.asked).toHaveLength(2);
    await proxy.end();
  });

  test('a refusal of the proxy is told without its password', async () => {
    const proxy = await TunnelProxy.start();
    const { url } = proxy;
    url.password = 'wrong';

    const told = await get(new Requests({ ...api.cluster, proxy: url })).catch(String);

    expect(told).toContain(`the proxy of this machine, ${url.host}, answers with status 407`);
    expect(told).not.toContain('wrong');
    await proxy.end();
  });
});

describe('401', () => {
  test('makes it try once with new credentials', async () => {
    api.credentials = [{ token: 'first' }, { token: 'second' }];
    api.answers(
      (response) => json(response, status(401, 'Unauthorized', 'Unauthorized'), 401),
      (response) => json(response, {}),
    );

    await get();

    expect(api.taken).toEqual([undefined, { token: 'first' }]);
    expect(api.asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', 'Bearer second']);
  });

  test('is told the second time', async () => {
    const refuse = (response: Parameters<typeof json>[0]) =>
      json(response, status(401, 'Unauthorized', 'no'), 401);
    api.answers(refuse, refuse);

    await expect(get()).rejects.toMatchObject({ status: 401, message: 'no' });
    expect(api.asked).toHaveLength(2);
  });
});

/** Source: Kubernetes, "API Priority and Fairness": 429 with Retry-After, before anything was done. */
describe('a server with too much to do', () => {
  const busy = (seconds: string) => (response: Parameters<typeof json>[0]) =>
    json(response, status(429, 'TooManyRequests', 'busy'), 429, { 'retry-after': seconds });

  test('is asked again when it says', async () => {
    api.answers(busy('0'), busy('0'), (response) => json(response, {}));

    await get();

    expect(api.asked).toHaveLength(3);
  });

  test('is asked six times, and not after a long time', async () => {
    api.answer = busy('0');
    await expect(get()).rejects.toMatchObject({ status: 429 });
    expect(api.asked).toHaveLength(6);
    api.answer = busy('11');
    await expect(get()).rejects.toMatchObject({ status: 429 });
    expect(api.asked).toHaveLength(7);
  });
});

describe('a server that does not answer', () => {
  const quick = () => new Requests(api.cluster, { lookMs: 50, signMs: 200 });

  test('is given up when it gives no sign of life', async () => {
    api.isThere = false;
    api.answers(() => undefined);

    await expect(get(quick())).rejects.toMatchObject({ isThere: false, seconds: 0.25 });
  });

  test('is given up also within its answer, but not within one that is read by somebody else', async () => {
    api.isThere = false;
    const begin = (response: Parameters<typeof json>[0]) => void response.writeHead(200).write('{');
    api.answers(begin, begin);

    const body = await quick().open({ method: 'GET', path: '/api/v1/x' });
    await expect(get(quick())).rejects.toMatchObject({ isThere: false });

    expect(body.destroyed).toBe(false);
    body.destroy();
  });
});
