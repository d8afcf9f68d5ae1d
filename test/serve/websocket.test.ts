/** A client of the built `cai serve` that comes back on another WebSocket. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { resolve } from 'node:path';
import { WebSocket } from 'ws';
import { ServeProgram } from './program';

const mock = [process.execPath, resolve('fixtures/mock-acp-server'), '--acp'];
let server: ServeProgram;
let sockets: WebSocket[] = [];

beforeEach(async () => {
  server = await new ServeProgram(mock).ready();
});

afterEach(async () => {
  for (const socket of sockets) socket.terminate();
  sockets = [];
  await server.stop();
});

/** Opens a socket; resolves when the server has agreed, with the headers of its answer. */
async function open(headers: Record<string, string> = {}) {
  const all = { ...server.authorization, ...headers };
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/acp`, { headers: all });
  sockets.push(socket);
  const upgraded = once(socket, 'upgrade') as Promise<[IncomingMessage]>;
  await once(socket, 'open');
  const [{ headers: answer }] = await upgraded;
  return { socket, id: answer['acp-connection-id'] as string, received: answer['cai-received'] };
}

function ask(socket: WebSocket, id: number, method: string, params: object): void {
  socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
}

test('what arrives late by the socket before is not taken: the client sends it again', async () => {
  const first = await open();
  ask(first.socket, 1, 'initialize', { protocolVersion: 1 });
  await once(first.socket, 'message');
  // It does not learn that another socket takes its place.
  first.socket.pause();
  const second = await open({ 'acp-connection-id': first.id, 'cai-received': '1' });
  expect(second).toMatchObject({ id: first.id, received: '1' });

  const opens = { cwd: server.cwd, mcpServers: [] };
  ask(first.socket, 2, 'session/new', opens);
  first.socket.resume();
  const [code] = (await once(first.socket, 'close')) as [number];
  ask(second.socket, 2, 'session/new', opens);
  const [answer] = (await once(second.socket, 'message')) as [Buffer];

  expect(code).toBe(4000);
  expect(JSON.parse(answer.toString())).toMatchObject({
    id: 2,
    result: { sessionId: expect.any(String) as string },
  });
  expect(await open({ 'acp-connection-id': first.id, 'cai-received': '2' })).toMatchObject({ received: '2' });
});
