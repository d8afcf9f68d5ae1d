import { once } from 'node:events';
import { duplexPair, PassThrough, type Writable } from 'node:stream';
import { CommandLink, StatusLink } from '../../../src/rpc/status';
import { askMs, askOnLink, askOnTerminal, shownPlace, type Ask } from '../../../src/network/egress/ask';

/** All that has been written to a stream since the last call. */
const said = (stream: PassThrough): string => String(stream.read() ?? '');

/** Lets streams and promises do what is due. */
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
});
afterEach(() => {
  jest.useRealTimers();
});

describe('askOnLink', () => {
  test('asks the program at the other end, once for all who ask about a place at the same time', async () => {
    const [ours, its] = duplexPair();
    const asked: string[] = [];
    const settles: ((isAllowed: boolean) => void)[] = [];
    new StatusLink(
      ours,
      () => undefined,
      (place) => {
        asked.push(place);
        return new Promise((settle) => settles.push(settle));
      },
    );
    const ask = askOnLink(new CommandLink(its));

    const answers = [ask('a:443'), ask('b:443'), ask('a:443')];
    await turns();
    expect(asked).toEqual(['a:443', 'b:443']);
    settles[1]!(false);
    settles[0]!(true);

    const granted = expect.any(AbortSignal) as unknown;
    expect(await Promise.all(answers)).toEqual([granted, false, granted]);
    void ask('a:443');
    await turns();
    expect(asked).toEqual(['a:443', 'b:443', 'a:443']);
  });

  test('tells by a signal that an answer counts no more, and not of the next one', async () => {
    const [ours, its] = duplexPair();
    const link = new StatusLink(
      ours,
      () => undefined,
      () => Promise.resolve(true),
    );
    const ask = askOnLink(new CommandLink(its));
    const [first, other] = [await ask('a:443'), await ask('b:443')] as AbortSignal[];

    link.endGrants(['a:443', 'never:443']);
    await turns();
    const second = (await ask('a:443')) as AbortSignal;

    expect([first!.aborted, other!.aborted, second.aborted]).toEqual([true, false, false]);
  });
});

describe('askOnTerminal', () => {
  let stdin: PassThrough & { isTTY?: boolean; isRaw?: boolean };
  let stderr: PassThrough & { isTTY?: boolean };
  let input: PassThrough;
  /** What the command prints, and where it is shown. */
  let printed: PassThrough;
  let shown: PassThrough;
  let remembered: string[];
  let ask: Ask;

  beforeEach(() => {
    stdin = Object.assign(new PassThrough(), { isTTY: true, isRaw: true });
    stderr = Object.assign(new PassThrough(), { isTTY: true });
    input = new PassThrough();
    stdin.pipe(input);
    [printed, shown] = [new PassThrough(), new PassThrough()];
    printed.pipe(shown, { end: false });
    remembered = [];
    ask = askOn(input)!;
  });

  const askOn = (to: Writable | undefined): Ask | undefined =>
    askOnTerminal({
      stdin,
      stderr,
      output: () => [[printed, shown]],
      input: () => to,
      remember: (place) => remembered.push(place),
    });

  /** Somebody types after a pause; each text is read at once. */
  async function type(...texts: string[]): Promise<void> {
    jest.advanceTimersByTime(1_000);
    for (const text of texts) {
      stdin.write(text);
      await turns();
    }
  }

  test('explains the keys for a question mark, and takes y for once', async () => {
    const answer = ask('example.org:443');
    await turns();
    said(stderr);

    await type('?');
    expect(said(stderr)).toMatch(/^o, y: allow it for this command; a: .*; n: .*Ctrl-C: .*\r\n[^]*\[n\]o: $/);
    await type('Y');

    expect(await answer).toBeInstanceOf(AbortSignal);
    expect(remembered).toEqual([]);
    expect(input.read()).toBeNull();
  });

  test('asks on stderr, and takes one key that the command does not get', async () => {
    const answer = ask('example.org:443');
    await turns();
    expect(said(stderr)).toBe(
      '\x18\x1b\\\x1b[0m\x1b(B\x0f\x1b[?7h\r\ncai: the command wants to connect to example.org:443: allow? [o]nce, for this command; [a]lways here; [n]o: ',
    );

    await type('o');

    expect(await answer).toBeInstanceOf(AbortSignal);
    expect(said(stderr)).toBe('allowed\r\n');
    await type('x');
    expect(said(input)).toBe('x');
    expect(remembered).toEqual([]);
  });

  test.each([
    ['o', true, [], 'allowed\r\n'],
    ['A', true, ['h:1'], 'allowed from now on\r\n'],
    ['n', false, [], 'refused\r\n'],
  ])('has %s answered with %s, for as long as the command runs', async (key, isAllowed, kept, words) => {
    const answer = ask('h:1');
    await turns();
    said(stderr);
    await type(key);

    expect((await answer) !== false).toBe(isAllowed);
    expect(said(stderr)).toBe(words);
    expect((await ask('h:1')) !== false).toBe(isAllowed);
    expect(said(stderr)).toBe('');
    expect(remembered).toEqual(kept);
  });

  test('takes a line where the terminal gives lines', async () => {
    stdin.isRaw = false;
    const answer = ask('h:1');
    await turns();
    expect(said(stderr)).toMatch(/\[n\]o, then Enter: $/);

    await type('n\n');

    expect(await answer).toBe(false);
    expect(said(input)).toBe('');
  });

  test('holds all other input back, and passes it on in its order', async () => {
    const answer = ask('h:1');
    await turns();
    await type('x', 'only', '\u001b[A');
    expect(said(input)).toBe('');

    await type('n');
    await turns();

    expect(await answer).toBe(false);
    expect(said(input)).toBe('xonly\u001b[A');
    await type('more');
    expect(said(input)).toBe('more');
  });

  test.each([
    ['is answered', () => type('n')],
    ['has no answer', () => jest.advanceTimersByTimeAsync(askMs)],
  ])('holds what the command prints until it %s, and loses nothing of it', async (_what, end) => {
    printed.write('before');
    await turns();
    const answer = ask('h:1');
    await turns();
    const text = 'x'.repeat(1_000_000);
    printed.write(text);
    await turns();
    expect(said(shown)).toBe('before');

    await end();
    await answer;
    printed.end('after');
    let all = '';
    shown.on('data', (chunk) => (all += String(chunk)));
    await once(printed, 'close');
    await turns();

    expect(all).toBe(`${text}after`);
  });

  test('takes no key for the answer of somebody who was just typing', async () => {
    const answer = ask('h:1');
    await turns();
    stdin.write('o');
    await turns();
    await type('e', 'a');
    await type('n');

    expect(await answer).toBe(false);
    expect(said(input)).toBe('oea');
  });

  test('gives up after its time, also what had to wait, and asks again at the next try', async () => {
    const answers = [ask('a:1'), ask('b:1')];
    await turns();
    said(stderr);
    await type('x');

    await jest.advanceTimersByTimeAsync(askMs);

    expect(await Promise.all(answers)).toEqual([undefined, undefined]);
    await turns();
    expect(said(stderr)).toBe('no answer\r\n');
    expect(said(input)).toBe('x');
    const again = ask('a:1');
    await turns();
    await type('o');
    expect(await again).toBeInstanceOf(AbortSignal);
  });

  test('lets Ctrl-C through to the command at once', async () => {
    const answer = ask('h:1');
    await turns();
    await type('x', '\u0003');

    expect(await answer).toBeUndefined();
    expect(said(input)).toBe('x\u0003');
  });

  test('passes the end of the input on, which answers nothing', async () => {
    const answer = ask('h:1');
    await turns();
    stdin.end('o');
    const ended = once(input.resume(), 'end');

    expect(await answer).toBeUndefined();
    await ended;
  });

  test('has no answer when the command ends meanwhile, and leaves the terminal alone', async () => {
    const answer = ask('h:1');
    await turns();
    input.destroy();

    expect(await answer).toBeUndefined();
    expect(await ask('h:1')).toBeUndefined();
    await turns();
    expect(stdin.listenerCount('data')).toBe(0);
  });

  test('asks nobody before a command runs, nor without a terminal at both ends', async () => {
    expect(await askOn(undefined)!('h:1')).toBeUndefined();
    expect(said(stderr)).toBe('');
    stderr.isTTY = false;
    expect(askOn(input)).toBeUndefined();
    Object.assign(stderr, { isTTY: true });
    stdin.isTTY = false;
    expect(askOn(input)).toBeUndefined();
  });

  test('says so where the answer cannot be remembered', async () => {
    const failing = askOnTerminal({
      stdin,
      stderr,
      output: () => [],
      input: () => input,
      remember: () => {
        throw new Error('disk\nfull');
      },
    })!;
    const answer = failing('h:1');
    await turns();
    await type('a');

    expect(await answer).toBeInstanceOf(AbortSignal);
    expect(said(stderr)).toMatch(/cai: this cannot be remembered: disk full\r\n$/);
  });
});

describe('shownPlace', () => {
  test('shows nothing that steers a terminal or marks text up, and of a long name its end', () => {
    expect(shownPlace('[2001:db8::1]:443')).toBe('[2001:db8::1]:443');
    expect(shownPlace('a\u001b[2J\nb`*(\u202e:443')).toBe('a\ufffd[2J\ufffdb\ufffd\ufffd\ufffd\ufffd:443');
    expect(shownPlace(`${'a'.repeat(300)}.evil.example:443`)).toBe(
      `…${'a'.repeat(200 - '.evil.example:443'.length)}.evil.example:443`,
    );
  });

  test('shows a name in other letters as it is, and those behind it', () => {
    expect(shownPlace('xn--e1afmkfd.example:443')).toBe('xn--e1afmkfd.example:443 (пример.example)');
    expect(shownPlace('npm.xn--80ak6aa92e.com:443')).toBe('npm.xn--80ak6aa92e.com:443 (npm.аррӏе.com)');
    expect(shownPlace('xn--a.example:443')).toBe('xn--a.example:443');
  });
});
