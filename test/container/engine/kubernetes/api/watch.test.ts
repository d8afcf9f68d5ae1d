/** Source of the form: Kubernetes API concepts, "Efficient detection of changes" and "410 Gone responses". */
import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { KubernetesApi } from '../../../../../src/container/engine/kubernetes/api/api';
import { watch, type WatchEvent } from '../../../../../src/container/engine/kubernetes/api/watch';
import { cut, json, PlayedApi, status, type Answer } from './played-api';

let api: PlayedApi;
beforeAll(async () => (api = await PlayedApi.start()));
afterAll(() => api.end());

let events: string[];
let end: AbortController;
let lasting: Promise<void>;
beforeEach(() => {
  api.asked.length = 0;
  events = [];
  end = new AbortController();
});
afterEach(() => end.abort());

const listed =
  (version: string, ...items: unknown[]) =>
  (response: ServerResponse) =>
    json(response, { items, metadata: { resourceVersion: version } });
const line = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`;
const pod = (version: string, note = '') => ({ metadata: { resourceVersion: version, note } });
const gone = (response: ServerResponse) =>
  json(response, status(410, 'Expired', 'too old resource version'), 410);
const tells =
  (...lines: string[]) =>
  (response: ServerResponse) =>
    void response.end(lines.join(''));
const refuses = (code: number, reason: string) => (response: ServerResponse) =>
  json(response, status(code, reason, 'no'), code);

/** Watches until `last` has happened. */
async function watchUntil(last: string, ...answers: readonly Answer[]): Promise<void> {
  api.answers(...answers);
  await new Promise<void>((resolve, reject) => {
    const onEvent = (event: WatchEvent): void => {
      const told = event.type === 'LISTED' ? event.objects : [event.object];
      events.push(
        [event.type, ...told.map((each) => (each as ReturnType<typeof pod>).metadata.resourceVersion)].join(
          ' ',
        ),
      );
      if (events.at(-1) === last) resolve();
    };
    lasting = new KubernetesApi(api.cluster).watch('/p', onEvent, end.signal);
    lasting.catch(reject);
  });
}

/** The version from which each answer was asked for; of a list, there is none. */
const versions = () => api.titles.map((title) => /resourceVersion=(\d+)/.exec(title)?.[1]);

test('a watch tells what there is, then what happens, until it is ended', async () => {
  await watchUntil('DELETED 4', listed('2', pod('1'), pod('2')), (response) => {
    const text = line('ADDED', pod('3', 'ä')) + line('DELETED', pod('4'));
    const bytes = Buffer.from(text);
    // A character and a line in two pieces.
    const middle = bytes.indexOf('ä') + 1;
    response.write(bytes.subarray(0, middle), () => response.write(bytes.subarray(middle)));
  });

  expect(events).toEqual(['LISTED 1 2', 'ADDED 3', 'DELETED 4']);
  end.abort();
  await lasting;
});

describe('a watch goes on', () => {
  test('where an answer has ended, also after a bookmark, and does not list again', async () => {
    await watchUntil(
      'ADDED 10',
      listed('2'),
      tells(line('ADDED', pod('3')), line('BOOKMARK', pod('9'))),
      tells(line('ADDED', pod('10'))),
    );

    expect(events).toEqual(['LISTED', 'ADDED 3', 'ADDED 10']);
    expect(versions()).toEqual([undefined, '2', '9']);
  });

  test('where the connection was cut in the middle of a line', async () => {
    await watchUntil(
      'ADDED 4',
      listed('2'),
      (response) =>
        response.write(line('ADDED', pod('3')) + '{"type":"ADDED","object":{"meta', () => cut(response)),
      tells(line('ADDED', pod('4'))),
    );

    expect(events).toEqual(['LISTED', 'ADDED 3', 'ADDED 4']);
    expect(versions()).toEqual([undefined, '2', '3']);
  });

  test.each([
    ['by its status', gone],
    ['in an event', tells(line('ERROR', status(410, 'Expired', 'too old resource version')))],
  ])('with a list if the server knows no more what has happened: %s', async (_, forgets) => {
    await watchUntil(
      'ADDED 8',
      listed('2', pod('1')),
      forgets,
      listed('7', pod('6')),
      tells(line('ADDED', pod('8'))),
    );

    expect(events).toEqual(['LISTED 1', 'LISTED 6', 'ADDED 8']);
    expect(versions()).toEqual([undefined, '2', undefined, '7']);
  });

  test.each([
    ['503', refuses(503, 'ServiceUnavailable')],
    ['403, as rights may not be known yet', refuses(403, 'Forbidden')],
    ['a cut before the answer', cut],
  ])('after a server that has just started: %s', async (_, away) => {
    const before = tells(line('ADDED', pod('3')));
    await watchUntil('ADDED 4', listed('2'), before, away, tells(line('ADDED', pod('4'))));

    expect(versions()).toEqual([undefined, '2', '3', '3']);
  });
});

describe('a watch fails', () => {
  test.each([
    ['403', refuses(403, 'Forbidden')],
    ['503', refuses(503, 'ServiceUnavailable')],
  ])('if it cannot begin: %s', async (code, refuse) => {
    await expect(watchUntil('', refuse)).rejects.toMatchObject({ status: Number(code) });
  });

  test('if it is refused later', async () => {
    await expect(watchUntil('', listed('2'), refuses(404, 'NotFound'))).rejects.toMatchObject({
      status: 404,
    });
  });

  test('at once if all may be listed, and nothing watched', async () => {
    await expect(watchUntil('', listed('2'), refuses(403, 'Forbidden'))).rejects.toMatchObject({
      status: 403,
    });
  });

  test('by what is thrown where it tells', async () => {
    api.answers(listed('2'));
    const onEvent = (): void => {
      throw new Error('ours');
    };

    await expect(new KubernetesApi(api.cluster).watch('/p', onEvent, end.signal)).rejects.toThrow('ours');
  });

  describe('and waits', () => {
    beforeEach(() => jest.useFakeTimers());
    afterEach(() => jest.useRealTimers());

    const list = () => Promise.resolve({ items: [], resourceVersion: '1' });
    const refusal = Object.assign(new Error('away'), { code: 'ECONNREFUSED' });

    test('for 90 s if the server stays away, less and less often', async () => {
      const open = jest.fn(() => Promise.reject<PassThrough>(refusal));
      const failed = expect(watch({ list, open, onEvent: () => undefined, signal: end.signal })).rejects.toBe(
        refusal,
      );

      await jest.advanceTimersByTimeAsync(89_000);
      expect(open.mock.calls.length).toBeLessThan(25);
      await jest.advanceTimersByTimeAsync(10_000);

      await failed;
      expect(jest.getTimerCount()).toBe(0);
    });

    test('no longer than it has asked for, as an answer that does not end is dead', async () => {
      const bodies: PassThrough[] = [];
      const open = (): Promise<PassThrough> => {
        bodies.push(new PassThrough());
        return Promise.resolve(bodies.at(-1)!);
      };
      const ended = watch({ list, open, onEvent: () => undefined, signal: end.signal });

      await jest.advanceTimersByTimeAsync(74_999);
      expect(bodies).toHaveLength(1);
      await jest.advanceTimersByTimeAsync(1);

      expect(bodies).toHaveLength(2);
      expect(bodies[0]?.destroyed).toBe(true);
      end.abort();
      await ended;
      expect(bodies[1]?.destroyed).toBe(true);
      expect(jest.getTimerCount()).toBe(0);
    });
  });
});
