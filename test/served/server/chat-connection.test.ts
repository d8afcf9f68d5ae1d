import { AgentError, ChatConnection } from '../../../src/served/server/chat/chat-connection';
import type { ServedConnection } from '../../../src/served/server/served-connection';
import { failure } from '../../support/messages';

test('a chat panel does not read what an agent fills with brackets, and nobody waits for it', async () => {
  const sent: unknown[] = [];
  const receive = (line: Buffer): void => void sent.push(JSON.parse(line.toString()));
  const served = { attach: () => undefined, receive } as unknown as ServedConnection;
  const listener = { updated: jest.fn(), asked: jest.fn(), withdrawn: jest.fn() };
  const connection = new ChatConnection(served, listener);
  const much = `[${'[],'.repeat(500_000)}0]`;
  const says = (members: string): boolean => connection.send(Buffer.from(`{"jsonrpc":"2.0",${members}}`));
  const answer = connection.request('session/new', {});
  sent.splice(0);

  says(`"method":"session/update","params":{"update":{"x":${much}}}`);
  says(`"id":7,"method":"session/request_permission","params":{"x":${much}}`);
  says(`"id":1,"result":{"x":${much}}`);

  await expect(answer).rejects.toThrow(AgentError);
  expect(sent).toEqual([failure(7, -32600)]);
  expect(listener.updated).not.toHaveBeenCalled();
  expect(listener.asked).not.toHaveBeenCalled();
});
