import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { KubernetesApi, withQuery } from '../../../../../src/container/engine/kubernetes/api/api';
import { json, PlayedApi } from './played-api';

let played: PlayedApi;
let api: KubernetesApi;
beforeAll(async () => (played = await PlayedApi.start()));
afterAll(() => played.end());
beforeEach(() => {
  api = new KubernetesApi(played.cluster);
  played.asked.length = 0;
});

const pods = '/api/v1/namespaces/ours/pods';

describe('what is asked for', () => {
  test.each([
    ['GET', undefined, undefined, () => api.get(`${pods}/a`)],
    [
      'POST',
      'application/json',
      { metadata: { name: 'ä' } },
      () => api.create(`${pods}/a`, { metadata: { name: 'ä' } }),
    ],
    ['PATCH', 'application/merge-patch+json', { a: null }, () => api.patch(`${pods}/a`, { a: null })],
    [
      'DELETE',
      'application/json',
      { apiVersion: 'v1', kind: 'DeleteOptions' },
      () => api.remove(`${pods}/a`),
    ],
    [
      'DELETE',
      'application/json',
      // Source: Kubernetes API, DeleteOptions v1 meta.
      {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        gracePeriodSeconds: 0,
        preconditions: { uid: 'u' },
      },
      () => api.remove(`${pods}/a`, { gracePeriodSeconds: 0, uid: 'u' }),
    ],
  ] as const)('is %s of %s: %j', async (method, type, body, ask) => {
    const object = { kind: 'Pod' };
    played.answers((response) => json(response, object));

    const answer = await ask();

    expect(answer).toEqual(method === 'DELETE' ? undefined : object);
    expect(played.asked).toMatchObject([{ title: `${method} ${pods}/a`, body }]);
    expect(played.asked[0]?.headers['content-type']).toBe(type);
  });

  test('are all of a kind, and as of when', async () => {
    played.answers(
      (response) => json(response, { items: [{ a: 1 }], metadata: { resourceVersion: '7' } }),
      // As Go writes a list without elements.
      (response) => json(response, { items: null, metadata: { resourceVersion: '8' } }),
    );

    expect(await api.list(`${pods}?labelSelector=x`)).toEqual({ items: [{ a: 1 }], resourceVersion: '7' });
    expect(await api.list(pods)).toEqual({ items: [], resourceVersion: '8' });
  });

  test('is the log of a pod', async () => {
    played.answers((response) => void response.end('line\n'));

    expect(await api.text(`${pods}/a/log`)).toBe('line\n');
  });

  test('is something else than an API server if it answers no JSON', async () => {
    played.answers((response) => void response.end('<html>'));

    await expect(api.get(pods)).rejects.toMatchObject({
      status: 200,
      isStatus: false,
      message: 'the answer is no JSON',
    });
  });

  test('is what happens, with the query that it has', async () => {
    const end = new AbortController();
    played.answers(
      (response) => json(response, { items: [], metadata: { resourceVersion: '7' } }),
      () => end.abort(),
    );

    await api.watch(`${pods}?fieldSelector=a`, () => undefined, end.signal);

    expect(played.titles).toEqual([
      `GET ${pods}?fieldSelector=a`,
      `GET ${pods}?fieldSelector=a&watch=true&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=60`,
    ]);
  });
});

describe('a program in a pod', () => {
  const nodes = new WebSocketServer({ noServer: true });
  const serve = (...messages: readonly string[]) =>
    played.server.once('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      nodes.handleUpgrade(request, socket, head, (webSocket) => {
        for (const each of messages) webSocket.send(Buffer.from(each));
        webSocket.close(1000);
      }),
    );

  test('is told by what it prints', async () => {
    serve('\x01one\n', '\x01two\n', '\x03{"status":"Success"}');

    expect(await api.exec('a', 'agent', ['list'])).toBe('one\ntwo\n');
  });

  test('has failed where its node says how it ended in no words that we know', async () => {
    serve('\x03no status');

    await expect(api.exec('a', 'agent', ['list'])).rejects.toThrow('it has failed');
  });
});

test('withQuery adds to a path', () => {
  expect(withQuery('/a', { b: 'c=d' })).toBe('/a?b=c%3Dd');
  expect(withQuery('/a', {})).toBe('/a');
});
