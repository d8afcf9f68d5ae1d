import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Inbox } from '../support/inbox';
import { newFolder } from '../support/temp-folder';

/** Plays an editor for a program that speaks ACP, without containers; resolves with what the agent says in one turn. */
export async function turn(command: readonly [string, ...string[]], env: NodeJS.ProcessEnv): Promise<string> {
  const [program, ...args] = command;
  const workspace = newFolder();
  const child = spawn(program, args, { cwd: workspace, env: { ...env, CAI_ACP_DIRECT_SPAWN: '1' } });
  const inbox = new Inbox('cai');
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdout.on('data', (chunk: Buffer) => inbox.push(chunk));
  child.stdout.on('end', () => inbox.end(stderr));
  let id = 0;
  const ask = async (method: string, params: object): Promise<Record<string, unknown>> => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`);
    return (await inbox.response(id)).result as Record<string, unknown>;
  };
  await ask('initialize', { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await ask('session/new', { cwd: workspace, mcpServers: [] });
  const { stopReason } = await ask('session/prompt', {
    sessionId,
    prompt: [{ type: 'text', text: 'hello' }],
  });
  child.stdin.end();
  await once(child, 'close');

  expect(stopReason).toBe('end_turn');
  return inbox
    .takeAll()
    .map(({ params }) => (params as { update: { content?: { text?: string } } }).update.content?.text ?? '')
    .join('');
}
