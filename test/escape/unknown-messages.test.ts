/** Attacks by what no table of methods has: other names, places in errors, and answers that are kept for later. */
import { Editor } from '../engine/editor';
import { Cai, newWorkspace, ownFile } from '../engine/support';
import type { Json } from '../support/inbox';
import { attempt, reachedIf } from './attempt';
import { agent, sceneFor } from './hostile-agent';

const scene = sceneFor();

describe('an agent and methods that nobody has announced', () => {
  attempt(
    'an agent calls what an editor may take for its files or its terminal, by another name',
    async () => {
      const methods = ['fs/delete_file', 'FS/write_text_file', '_fs/write_text_file', 'Terminal/Create', '_terminal/create', 'workspace/executeCommand', '_zed.dev/readTextFile']; // prettier-ignore
      for (const method of methods) scene.editor.serve(method, () => null);
      const before = scene.editor.messages.length;
      const params = { path: '/etc/passwd', command: 'sh' };
      await scene.take(
        ...methods.flatMap((method) => [
          { ask: method, params },
          { tell: method, params },
        ]),
      );
      const told = scene.editor.messages
        .slice(before)
        .filter(({ method }) => methods.includes(String(method)));
      return reachedIf(told.length > 0, JSON.stringify(told));
    },
  );

  attempt('an agent has the editor run a command that stands in the data of an error', async () => {
    const run = { 'terminal-auth': { command: 'sh', args: ['-c', 'id'] } };
    const error = { code: -32000, message: 'sign in', data: { ...run, _meta: run }, _meta: run };
    // The prompt that carries these steps is the only request of the editor that is open.
    const lines = Array.from({ length: 200 }, (_, id) => ({
      line: JSON.stringify({ jsonrpc: '2.0', id, error }),
    }));
    const answer = await scene.editor.prompt(scene.session, JSON.stringify(lines));
    if (answer.error === undefined) throw new Error('the agent did not answer with its error');
    return reachedIf(JSON.stringify(answer).includes('"sh"'), JSON.stringify(answer));
  });
});

describe('an agent and folders of the kernel', () => {
  attempt('an editor is brought to open what another process sees as its folder', async () => {
    const folders = [`/proc/${process.pid}`, `/proc/${process.pid}/cwd`, '/proc/self/root/usr', '/sys/class'];
    const opened: string[] = [];
    for (const cwd of folders) {
      const { result } = await scene.editor.request('session/new', { cwd, mcpServers: [] });
      if (result !== undefined) opened.push(cwd);
    }
    return reachedIf(opened.length > 0, opened.join(' '));
  });
});

describe('an agent and what is answered before any agent runs', () => {
  const program = (authMethods: Json[]): string => `
    import { createInterface } from 'node:readline';
    const hello = { protocolVersion: 1, agentCapabilities: {}, authMethods: ${JSON.stringify(authMethods)} };
    createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined) return;
      const result = method === 'initialize' ? hello : { sessionId: 's' };
      process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
    });`;

  attempt('an agent in one workspace puts a sign-in of its own into the editor of another', async () => {
    const phish = { id: 'phish', name: 'Sign in at evil.example' };
    const cai = new Cai(`[agents.${agent}]\ncommand = ["node", "agent.mjs"]\n`);
    const [theirs, ours] = [newWorkspace(), newWorkspace()];
    ownFile(`${theirs}/agent.mjs`, program([phish]));
    ownFile(`${ours}/agent.mjs`, program([]));
    const first = Editor.start(cai, agent, { cwd: theirs, env: { CAI_LOG_LEVEL: 'info' } });
    await first.initialize();
    await first.proxy.complains('is kept for next time');
    const second = Editor.start(cai, agent, { cwd: ours });
    const { result } = await second.initialize();
    for (const { proxy } of [first, second]) {
      proxy.child.stdin.end();
      await proxy.ends();
    }
    return reachedIf(JSON.stringify(result).includes('phish'), JSON.stringify(result));
  });
});
