import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openProgress, withStepName } from '../../../src/container/image/progress';
import type { BuildEvent } from '../../../src/container/engine/image-store';

/** A progress; what was written of it, and what a terminal would show of that on its last line. */
function opened(options: { isTTY: boolean; columns?: number }, isQuiet = false) {
  let text = '';
  const stream: Parameters<typeof openProgress>[0] = {
    ...options,
    write: (chunk) => ((text += String(chunk)), true),
  };
  return {
    progress: openProgress(stream, isQuiet),
    text: () => text,
    lines: () => text.split('\n').slice(0, -1),
    live: () => text.split('\n').at(-1)!.split('\r\x1b[K').at(-1)!,
  };
}

const step = (n: number, total: number, text: string): BuildEvent => ({ kind: 'step', step: n, total, text });
const log = (text: string): BuildEvent => ({ kind: 'log', text });
const layer = (id: string, text: string): BuildEvent => ({ kind: 'pull', id: id.repeat(12), text });

describe('openProgress, without a terminal', () => {
  test('writes a line for each step, and nothing of what the steps print', () => {
    const { progress, lines } = opened({ isTTY: false });

    progress.begin('building x');
    progress.report(step(1, 2, 'FROM base'));
    progress.report(log(' ---> abc'));
    progress.report(log('Get:1 something'));
    progress.report(step(2, 2, 'RUN a;     b'));
    progress.end();
    progress.say('done');

    expect(lines()).toEqual([
      'cai: building x',
      'cai: building x: step 1 of 2: FROM base',
      'cai: building x: step 2 of 2: RUN a; b',
      'cai: done',
    ]);
  });

  test('writes a line for each layer that a registry has', () => {
    const { progress, lines } = opened({ isTTY: false });

    progress.begin('pushing x');
    for (const id of ['a', 'b', 'c']) progress.report(layer(id, 'Preparing'));
    progress.report(layer('a', 'Pushing [==>  ] 5B/10B'));
    progress.report(layer('a', 'Pushed'));
    progress.report(layer('b', 'Layer already exists'));
    progress.report(layer('c', 'Mounted from team/other'));

    expect(lines().slice(1)).toEqual([1, 2, 3].map((count) => `cai: pushing x: ${count} of 3 layers`));
  });

  test('writes a line for each layer that is there', () => {
    const { progress, lines } = opened({ isTTY: false });

    progress.begin('pulling x');
    progress.report({ ...layer('', 'Pulling from library/x'), id: '22' } as BuildEvent);
    progress.report(layer('a', 'Pulling fs layer'));
    progress.report(layer('b', 'Pulling fs layer'));
    progress.report(layer('a', 'Downloading [==>  ] 5B/10B'));
    progress.report(layer('a', 'Pull complete'));
    progress.report(layer('a', 'Pull complete'));
    progress.report(layer('b', 'Already exists'));

    expect(lines()).toEqual([
      'cai: pulling x',
      'cai: pulling x: 1 of 2 layers',
      'cai: pulling x: 2 of 2 layers',
    ]);
  });

  test('cuts long steps', () => {
    const { progress, lines } = opened({ isTTY: false });

    progress.begin('building x');
    progress.report(step(1, 1, `RUN ${'y'.repeat(5_000)}`));

    expect(lines()[1]).toHaveLength(120);
    expect(lines()[1]).toMatch(/y\.\.\.$/);
  });
});

describe('openProgress, in a terminal', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test('keeps one line with the step, the time and what was printed last', () => {
    const { progress, lines, live } = opened({ isTTY: true, columns: 120 });

    progress.begin('building x');
    progress.report(step(3, 4, 'RUN npm install'));
    expect(live()).toBe('cai: building x: step 3 of 4, 0 s: RUN npm install');
    jest.advanceTimersByTime(2_200);
    progress.report(log('found nothing'));
    progress.report(log(' ---> abc'));

    expect(live()).toBe('cai: building x: step 3 of 4, 2 s: found nothing');
    expect(lines()).toEqual([]);
    progress.end();
    expect(live()).toBe('');
  });

  test('goes on counting seconds while nothing is printed, and stops at the end', () => {
    const { progress, live, text } = opened({ isTTY: true });

    progress.begin('building x');
    jest.advanceTimersByTime(65_000);
    expect(live()).toContain('65 s');
    progress.end();
    const before = text();
    jest.advanceTimersByTime(5_000);

    expect(text()).toBe(before);
  });

  test('counts on where the same is said again', () => {
    const { progress, live } = opened({ isTTY: true });

    progress.begin('waiting for a node');
    jest.advanceTimersByTime(30_000);
    progress.begin('waiting for a node');
    expect(live()).toBe('cai: waiting for a node: 30 s');
    progress.begin('building x');
    expect(live()).toBe('cai: building x: 0 s');
    progress.end();
  });

  test('shows how far a pull is, in the words of the engine', () => {
    const { progress, live } = opened({ isTTY: true });

    progress.begin('pulling x');
    progress.report(layer('a', 'Downloading [=> ] 20MB/100MB'));
    progress.report(layer('b', 'Pull complete'));
    jest.advanceTimersByTime(1_200);
    progress.report(layer('a', 'Downloading [==>] 90MB/100MB'));

    expect(live()).toBe('cai: pulling x: 1 of 2 layers, 1 s: Downloading [==>] 90MB/100MB');
  });

  test.each([
    [40, 39],
    [0, 79],
  ])('is never wider than a terminal that says it has %i columns', (columns, length) => {
    const { progress, live } = opened({ isTTY: true, columns });

    progress.begin('building x');
    progress.report(step(1, 4, 'y'.repeat(100)));

    expect(live()).toHaveLength(length);
  });

  test('leaves sentences above the line', () => {
    const { progress, lines, live } = opened({ isTTY: true });

    progress.begin('building x');
    progress.say('waiting');

    expect(lines().at(-1)).toMatch(/\r\x1b\[Kcai: waiting$/); // eslint-disable-line no-control-regex
    expect(live()).toContain('building x');
  });

  test('takes nothing that would steer the terminal from a sentence', () => {
    const { progress, lines } = opened({ isTTY: true });

    progress.say('the registry says \x1b[2J\u202eno');

    expect(lines()).toEqual(['\r\x1b[Kcai: the registry says no']);
  });

  test('takes nothing that would steer the terminal from what steps print', () => {
    const { progress, live } = opened({ isTTY: true });

    progress.begin('building x');
    jest.advanceTimersByTime(1_200);
    progress.report(log('\x1b[2J\x1b]0;title\x07one\u202etwo\x9b1m\x00'));

    expect(live()).toBe('cai: building x: 1 s: one two');
  });

  test('is not drawn for each of many lines', () => {
    const { progress, text } = opened({ isTTY: true });

    progress.begin('building x');
    for (let i = 0; i < 1_000; i++) progress.report(log(`line ${i}`));

    expect(text().split('\r').length).toBeLessThan(5);
  });
});

test('openProgress writes nothing at all when it is to be quiet', () => {
  const { progress, text } = opened({ isTTY: true }, true);

  progress.begin('building x');
  progress.report(step(1, 4, 'FROM x'));
  progress.say('waiting');
  progress.end();

  expect(text()).toBe('');
});

describe('withStepName', () => {
  const stepsOf = (name: string) =>
    readFileSync(join(__dirname, '../../..', name), 'utf8')
      .replace(/^#.*\n/gm, '')
      .replaceAll('\\\n', '')
      .split('\n')
      .filter((line) => line !== '');

  test.each([
    ['Dockerfile', ['installing Debian packages', 'installing Python packages', 'installing mine@1']],
    ['src/container/image/agent.Dockerfile', ['installing mine@1']],
  ])('says what each step of %s does, and names the packages', (name, installing) => {
    const named = stepsOf(name).map((text) =>
      withStepName({ kind: 'step', step: 1, total: 9, text }, ['mine@1']),
    );

    const texts = named.map(({ text }: BuildEvent & { text?: string }) => text);
    expect(texts.filter((text) => /\b(RUN|COPY|FROM \$)/.test(text))).toEqual([]);
    expect(texts.filter((text) => text.startsWith('installing'))).toEqual(installing);
  });

  test('leaves alone what a step prints', () => {
    const event: BuildEvent = { kind: 'log', text: 'RUN npm install' };

    expect(withStepName(event, [])).toBe(event);
  });
});
