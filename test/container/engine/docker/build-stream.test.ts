import { followBuild } from '../../../../src/container/engine/docker/build-stream';
import type { BuildEvent } from '../../../../src/container/engine/image-store';
import { CaiError } from '../../../../src/errors';

describe('followBuild', () => {
  test('tells steps and lines of Docker and of podman, whatever pieces they come in', async () => {
    // Observed: Docker 20.10, then podman 4.3.1.
    const text = [
      { stream: 'Step 1/2 : FROM h\u00e4' },
      { stream: '\n' },
      { stream: ' ---\u003e c9ff38b14587\n' },
      { stream: 'h\u00e4llo\npart' },
      { stream: '\u001b[91mial\n\u001b[0m' },
      { stream: '10%\r20%\r\n' },
      { stream: 'STEP 2/2: RUN a : b\n' },
      { stream: '[1/2] STEP 3/7: COPY c d\n' },
      { aux: { ID: 'sha256:7ae8' } },
      { stream: 'no end' },
    ]
      .map((message) => `${JSON.stringify(message)}\r\n`)
      .join('');
    const expected: BuildEvent[] = [
      { kind: 'step', step: 1, total: 2, text: 'FROM hä' },
      { kind: 'log', text: ' ---> c9ff38b14587' },
      { kind: 'log', text: 'hällo' },
      { kind: 'log', text: 'partial' },
      { kind: 'log', text: '10%' },
      { kind: 'log', text: '20%' },
      { kind: 'step', step: 2, total: 2, text: 'RUN a : b' },
      { kind: 'step', step: 3, total: 7, text: 'COPY c d' },
      { kind: 'log', text: 'no end' },
    ];

    for (const size of [1, 2, 7, 1000]) expect(await eventsOf(text, size)).toEqual(expected);
  });

  test('takes nothing for a line that is no object, and keeps little of one without end', async () => {
    const piece = JSON.stringify({ stream: 'x'.repeat(2 ** 19) });
    const text = ['null', '7', '{"stream":', ...Array.from({ length: 8 }, () => piece), ''].join('\n');

    const [only, ...more] = await eventsOf(text, 2 ** 16);

    expect(more).toEqual([]);
    expect(only).toMatchObject({ text: 'x'.repeat(2 ** 20) });
  });

  test('tells of the failure with the last twenty lines', async () => {
    const lines = Array.from({ length: 30 }, (_, index) => `${index + 1}\n`).join('');
    const message = 'The command returned a non-zero code: 3';
    const text = [
      { stream: lines },
      { stream: 'cause' },
      { errorDetail: { code: 3, message }, error: 'old form' },
    ]
      .map((line) => JSON.stringify(line))
      .join('\n');

    const error = await eventsOf(text, 50).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(CaiError);
    expect(error).toMatchObject({ code: 'IMAGE' });
    const tail = Array.from({ length: 19 }, (_, index) => String(index + 12));
    expect((error as CaiError).message).toBe([`cannot build x: ${message}`, ...tail, 'cause'].join('\n'));
  });

  test('tells the lines first that name the cause, and no script to its end', async () => {
    const script = `/bin/sh -c ${'true; '.repeat(100)}`;
    const text = [
      { stream: 'Step 2/4 : RUN apt-get\nE: tried again\nall went well\n' },
      { stream: `Step 3/4 : RUN ${'true; '.repeat(100)}\n` },
      { stream: 'npm error code E404\nnpm error 404 no such package\n' },
      { stream: Array.from({ length: 30 }, (_, index) => `${index + 1}\n`).join('') },
      { error: `The command '${script}' returned a non-zero code: 1` },
    ]
      .map((line) => JSON.stringify(line))
      .join('\n');

    const error = (await eventsOf(text, 50).catch((reason: unknown) => reason)) as CaiError;

    const lines = error.message.split('\n');
    expect(lines[0]).toMatch(/^cannot build x: The command '.{77}\.\.\.' returned a non-zero code: 1$/);
    expect(lines.slice(1, 5)).toEqual([
      'npm error code E404',
      'npm error 404 no such package',
      'Printed last, besides:',
      '11',
    ]);
    expect(lines.at(-1)).toBe('30');
  });

  test('cuts the script of a step among the last lines', async () => {
    const text = `{"stream":"STEP 3/4: RUN ${'true; '.repeat(100)}\\n"}\n{"error":"building at STEP \\"RUN ${'true; '.repeat(100)}\\": while running: 1"}`;

    const error = (await eventsOf(text, 50).catch((reason: unknown) => reason)) as CaiError;

    expect(error.message).toMatch(
      /^cannot build x: building at STEP "RUN .{73}\.\.\.": while running: 1\nSTEP 3\/4: .{67}\.\.\.$/,
    );
  });

  test('tells of a failure in the form of old engines', async () => {
    await expect(eventsOf('{"error":"no FROM statement found\\n"}', 10)).rejects.toThrow(
      /^cannot build x: no FROM statement found$/,
    );
  });
});

async function eventsOf(text: string, size: number): Promise<BuildEvent[]> {
  const events: BuildEvent[] = [];
  await followBuild(piecesOf(Buffer.from(text), size), 'build x', (event) => events.push(event));
  return events;
}

// eslint-disable-next-line @typescript-eslint/require-await -- as a stream
async function* piecesOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}
