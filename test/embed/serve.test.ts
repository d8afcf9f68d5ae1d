import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { serve, serveBytes } from '../../src/embed/connect';
import type { AnyMessage, StreamPair } from '../../src/embed/message';
import { userWith } from '../support/cli';

const mock = JSON.stringify([process.execPath, resolve('fixtures/mock-acp-server'), '--acp']);
const { cwd: home, env } = userWith(`agent.default = "mock"\n[agents.mock]\ncommand = ${mock}\n`);
const cwd = join(home!, 'work');
mkdirSync(cwd);
const options = { env: { PATH: process.env.PATH, ...env }, direct: true };

/** Both ends of a stream in memory, of which one is to be served. */
function twoEnds<T>(): { given: StreamPair<T>; far: StreamPair<T> } {
  const [there, back] = [new TransformStream<T, T>(), new TransformStream<T, T>()];
  return {
    given: { readable: there.readable, writable: back.writable },
    far: { readable: back.readable, writable: there.writable },
  };
}

/** What makes a session, and with it an agent. */
const opening: readonly AnyMessage[] = [
  { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1 } },
  { jsonrpc: '2.0', id: 2, method: 'session/new', params: { cwd, mcpServers: [] } },
];

/** An editor whose agent runs, at the other end of what is served. */
async function opened() {
  const { given, far } = twoEnds<AnyMessage>();
  const ending = serve(given, options);
  const [writer, reader] = [far.writable.getWriter(), far.readable.getReader()];
  for (const message of opening) await writer.write(message);
  for (const id of [1, 2]) expect((await reader.read()).value).toMatchObject({ id, result: {} });
  return { ending, writer, reader };
}

describe('a stream that is served', () => {
  test('ends the connection where the editor has closed its side, and is closed itself', async () => {
    const { ending, writer, reader } = await opened();
    await writer.close();

    expect(await reader.read()).toEqual({ done: true, value: undefined });
    await ending.closed;
  });

  test('is closed in both directions when the connection is', async () => {
    const { ending, writer, reader } = await opened();
    await ending.close();

    expect((await reader.read()).done).toBe(true);
    await expect(writer.closed).rejects.toMatchObject({ code: 'AGENT_EXITED' });
  });

  test('ends the connection where the editor breaks off', async () => {
    const first = await opened();
    await first.writer.abort(new Error('broken'));
    await first.ending.closed;

    const second = await opened();
    await second.reader.cancel();
    await second.ending.closed;
  });

  test('ends the connection where it has what is no message, and no bytes', async () => {
    const first = await opened();
    await first.writer.write({ jsonrpc: '2.0', method: '_x', params: 1n });
    await first.ending.closed;

    const { given, far } = twoEnds<Uint8Array>();
    const second = serveBytes(given, options);
    await far.writable.getWriter().write('text' as unknown as Uint8Array);
    await second.closed;
  });
});

test('bytes pass as they are, wherever they are cut, in memory that is the reader’s alone', async () => {
  const { given, far } = twoEnds<Uint8Array>();
  const { closed } = serveBytes(given, options);
  const writer = far.writable.getWriter();
  const sent = Buffer.from(`no JSON\n{"jsonrpc":"2.0","id":12345678901234567890,"method":"_é"}\n`);
  for (const cut of [sent.subarray(0, 9), sent.subarray(9, -4), sent.subarray(-4)]) await writer.write(cut);
  void writer.close();

  let text = '';
  for await (const chunk of far.readable) {
    expect(chunk.buffer.byteLength).toBe(chunk.length);
    text += Buffer.from(chunk).toString();
  }
  await closed;
  const [defect, answer] = text.split('\n');
  expect(JSON.parse(defect!)).toMatchObject({ id: null, error: { code: -32700 } });
  expect(answer).toContain('"id":12345678901234567890,');
});
