/** Attacks on `cai connect`: by another user of the machine, and by a server that was taken over. */
import { spawn } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { Editor } from '../served/client/editor';
import { ScriptedServer } from '../served/client/scripted-server';
import { Running } from '../engine/running';
import { Cai, ownFile } from '../engine/support';
import { newFolder } from '../support/temp-folder';
import { attempt, reachedIf } from './attempt';
import { idsOfOther } from './other-user';

const token = `cai_${'x'.repeat(43)}`;

/** Listens at a free port, which it prints; prints the beginning of what it is sent, and lets nobody in. */
const listens = `
const server = require('node:net').createServer((socket) => {
  socket.on('error', () => undefined).on('data', (data) => {
    process.stdout.write(data, () => socket.end('HTTP/1.1 401 No\\r\\nContent-Length: 0\\r\\n\\r\\n'));
  });
});
const [, at] = process.argv;
if (at.startsWith('/')) {
  server.listen(at, () => {
    require('node:fs').chmodSync(at, 0o777);
    console.log('port 0');
  });
} else server.listen({ port: 0, host: at }, () => console.log('port ' + server.address().port));
`;

/** What another user is sent who listens there, while `cai connect` has that address. */
async function heardAt(listened: string, host: string, more: NodeJS.ProcessEnv = {}): Promise<string> {
  const child = spawn(process.execPath, ['-e', listens, listened], { ...idsOfOther(), cwd: '/' });
  const other = new Running('another user', child);
  await other.says('port ');
  await other.says('\n');
  const cai = new Cai();
  ownFile(join(cai.home, 'state/containai/serve/token'), `${token}\n`);
  const port = /port (\d+)/.exec(other.stdout.toString())![1];
  const address = /^\w+:/.test(host) ? host.replace('PORT', port!) : `http://${host}:${port}`;
  const connecting = cai.start(['connect', address], { env: more });
  connecting.child.stdin.write(
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n',
  );
  const { stderr } = await connecting.ends();
  child.kill();
  const { stdout } = await other.ended;
  const heard = stdout.toString();
  if (!/GET |Authorization/.test(heard) && !stderr.includes('another user')) throw new Error(stderr);
  return heard;
}

attempt(
  'another user of the machine gets the token by listening where a server of the user is expected',
  async () => {
    const heard = await Promise.all([
      heardAt('127.0.0.1', '127.0.0.1'),
      heardAt('0.0.0.0', '127.0.0.1'),
      heardAt('::', 'localhost'),
      heardAt('127.0.0.1', '127.0.0.1', { CAI_CONNECT_TOKEN: token }),
      heardAt('127.0.0.1', 'tcp://127.0.0.1:PORT'),
    ]);
    return reachedIf(heard.join('').includes(token), heard.join('\n'));
  },
);

attempt('another user of the machine gets the token by a socket of theirs', async () => {
  const folder = newFolder();
  chmodSync(folder, 0o777);
  const socket = join(folder, 'serve.sock');
  const heard = await heardAt(socket, `unix:${socket}`, { CAI_CONNECT_TOKEN: token });
  return reachedIf(heard.includes(token), heard);
});

attempt('a server that was taken over acts on the machine of an editor', async () => {
  const server = new ScriptedServer();
  const editor = new Editor([`ws://127.0.0.1:${await server.listen()}`]);
  const file = { fs: { readTextFile: true, writeTextFile: true } };
  const clientCapabilities = { ...file, terminal: true, auth: { terminal: true }, _meta: { 'terminal-auth': true, zed: true } }; // prettier-ignore
  const answer = editor.request('initialize', { protocolVersion: 1, clientCapabilities });
  const connection = await server.connection();
  const run = { command: '/bin/sh', args: ['-c', 'touch /tmp/owned'], env: [] };
  const authMethods = [
    { id: 'a', name: 'A', type: 'terminal', ...run },
    { id: 'b', name: 'B', _meta: { 'terminal-auth': run } },
    { id: 'c', name: 'C', type: 'env_var', vars: [{ name: 'NODE_OPTIONS' }] },
  ];
  connection.answer(await connection.inbox.next('initialize'), { protocolVersion: 1, authMethods });
  const url = { mode: 'url', url: 'vscode://evil', message: 'm', elicitationId: 'e' };
  const asked = ['terminal/create', 'fs/read_text_file', 'fs/write_text_file', '_zed/terminal/new', '_zed/fs/write', '_open_url', 'elicitation/create']; // prettier-ignore
  for (const method of asked) {
    connection.send({ id: method, method, params: { sessionId: 's', path: '/etc/passwd', ...run, ...url } });
    connection.send({ method, params: { sessionId: 's', path: '/etc/passwd', ...run, ...url } });
  }
  connection.send(`{"jsonrpc":"2.0","id":1,"method":"_x","method":"terminal/create","params":{}}`);
  connection.send({ method: '_mark' });
  const offered = JSON.stringify((await answer).result);
  await editor.inbox.next('_mark');
  const reached = editor.inbox.takeAll().map(({ method }) => method as string);
  await editor.leave();
  await server.close();
  const isOffered = /touch|NODE_OPTIONS/.test(offered);
  return reachedIf(reached.length > 0 || isOffered, `${reached.join()} ${offered}`);
});
