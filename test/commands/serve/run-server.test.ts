import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { cai, userWith } from '../../support/cli';
import { servedInEachTest } from '../../support/served';
import { StreamableClient } from '../../support/streamable';
import { newFolder } from '../../support/temp-folder';

const start = servedInEachTest();

const ann = (workspaces: string) =>
  `[[serve.users]]\nname = "ann"\nagents = "all"\nworkspaces = ${workspaces}\n`;

test('somebody who is added while the server runs comes in, and is out when removed', async () => {
  const server = await start();
  await server.said(/serving/);
  appendFileSync(join(server.home, '.config/containai/config.toml'), ann('"all"'));
  const env = { PATH: process.env.PATH, HOME: server.home };
  const run = (...args: string[]) =>
    execFileSync(process.execPath, [cai, 'serve', ...args], { env, stdio: 'pipe' })
      .toString()
      .trim();
  const authorization = `Bearer ${run('token', 'add', 'ann')}`;

  // The door has let in whoever is told that the metrics are the owner's.
  expect(await (await fetch(`${server.url}/metrics`, { headers: { authorization } })).text()).toMatch(
    /^Only/,
  );
  expect(run('link', '--user', 'ann')).toContain('#ticket=');
});

test('limits of folders are refused where no container holds them', async () => {
  await expect(start({ config: ann('["/srv"]') })).rejects.toThrow(
    '"ann" of [serve] may use some folders alone, which only containers can hold',
  );
});

test('a folder for chats must be there', async () => {
  await expect(start({ args: ['--chat', '/not/there'] })).rejects.toThrow('/not/there, which --chat names');
});

test('the path of an agent of tests is of the folder where the server was started', async () => {
  const folder = newFolder();
  mkdirSync(join(folder, 'sub'));
  symlinkSync(resolve(__dirname, '../../../fixtures/mock-acp-server'), join(folder, 'sub/agent'));
  const { env } = userWith('', { CAI_ACP_TEST_MODE: '1' });
  const args = [cai, 'serve', '--agent', 'sub/agent', '--listen', 'tcp://127.0.0.1:0'];
  const server = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [line] = (await once(createInterface(server.stderr), 'line')) as [string];
  server.kill();
  await once(server, 'close');

  expect(line).toContain(`serving ${join(folder, 'sub/agent')};`);
});

test('what processes say names their connection, line by line', async () => {
  const server = await start({ env: { CAI_LOG_LEVEL: 'debug' } });
  const client = new StreamableClient(server);
  await client.initialize();
  await server.said(new RegExp(`^\\[${client.id!.slice(0, 8)}\\] \\{.*\\}\n`, 'm'));
  const lines = server.stderr.trimEnd().split('\n');

  expect(lines.filter((line) => !/^(\[[0-9a-f]{8}\] )?(\{|cai: )/.test(line))).toEqual([]);
});
