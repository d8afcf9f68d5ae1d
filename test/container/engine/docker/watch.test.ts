import { PassThrough } from 'node:stream';
import { Silent } from '../../../../src/container/engine/silence';
import { watchRequests, type Modem } from '../../../../src/container/engine/docker/watch';

type DialOptions = Parameters<Modem['dial']>[0];

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** An engine of which a test says what it answers. */
class Played {
  /** Whether it says that it is there; an error: it says that with this. */
  sign: boolean | Error = true;
  /** How often it was asked. */
  signs = 0;
  /** The last request. */
  asked!: DialOptions;
  answer!: (error: Error | null, body: unknown) => void;
  readonly modem: Modem = {
    dial: (options, done) => {
      if (options.path !== '/_ping') {
        this.asked = options;
        this.answer = done;
        return;
      }
      this.signs++;
      if (this.sign instanceof Error) done(this.sign, null);
      else if (this.sign) done(null, new PassThrough().end());
    },
  };

  constructor() {
    watchRequests(this.modem);
  }

  /** How a request ends: once. */
  readonly ends: unknown[] = [];

  request(title: string): void {
    const [method, path] = title.split(' ') as [string, string];
    this.modem.dial({ method, path, statusCodes: {} }, (error, body) => this.ends.push(error ?? body));
  }
}

const minuteMs = 60_000;
let engine: Played;
beforeEach(() => (engine = new Played()));

describe('a request to an engine that has stopped', () => {
  test.each([
    'POST /containers/create?',
    'POST /build?t=x',
    'DELETE /containers/x?',
    'GET /containers/x/json',
  ])('fails after 20 s: %s', async (title) => {
    engine.sign = false;
    engine.request(title);

    await jest.advanceTimersByTimeAsync(19_999);
    expect(engine.ends).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);

    expect(engine.ends).toEqual([new Silent(20, false)]);
    expect(engine.ends[0]).toMatchObject({ seconds: 20, isThere: false });
    expect(engine.asked.abortSignal?.aborted).toBe(true);
    // As dockerode tells of the end that it was asked for.
    engine.answer(new Error('aborted'), null);
    expect(engine.ends).toHaveLength(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  test('fails also within its answer', async () => {
    engine.request('GET /containers/x/json');
    const body = new PassThrough();
    engine.answer(null, body);
    const failure = new Promise((resolve) => body.once('error', resolve));
    engine.sign = false;

    await jest.advanceTimersByTimeAsync(20_000);

    expect(await failure).toEqual(new Silent(20, false));
  });
});

describe('a request to an engine that is slow', () => {
  test.each([
    'POST /build?t=x',
    'POST /images/create?',
    'POST /images/a:1/b/push?',
    'POST /containers/x/wait?',
    'DELETE /images/x?',
  ])('may take as long as it needs: %s', async (title) => {
    engine.request(title);

    await jest.advanceTimersByTimeAsync(60 * minuteMs);
    engine.answer(null, new PassThrough());

    expect(engine.ends).toEqual([expect.any(PassThrough)]);
    expect(engine.signs).toBe(360);
  });

  test('has a limit where that takes no time in a sound one', async () => {
    engine.request('POST /containers/x/start?');

    await jest.advanceTimersByTimeAsync(90_000);

    expect(engine.ends).toEqual([new Silent(90, true)]);
    expect(engine.ends[0]).toMatchObject({ seconds: 90, isThere: true });
  });

  test('is given up neither for an answer that comes nor for a refusal of the question', async () => {
    engine.sign = Object.assign(new Error('404'), { statusCode: 404 });
    engine.request('GET /containers/x/json');
    await jest.advanceTimersByTimeAsync(minuteMs);
    const body = new PassThrough();
    engine.answer(null, body);
    body.end().resume();
    const closed = new Promise((resolve) => body.once('close', resolve));
    await jest.advanceTimersByTimeAsync(0);
    await closed;

    expect(engine.ends).toEqual([body]);
    expect(jest.getTimerCount()).toBe(0);
  });
});

test('a request that its caller ends is ended', () => {
  const abort = new AbortController();
  engine.modem.dial(
    { method: 'GET', path: '/x', statusCodes: {}, abortSignal: abort.signal },
    () => undefined,
  );

  abort.abort();

  expect(engine.asked.abortSignal?.aborted).toBe(true);
  engine.answer(new Error('aborted'), null);
});
