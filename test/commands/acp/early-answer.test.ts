import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { cai, runCli, userWith, type CliOptions } from '../../support/cli';
import { untilIdle } from '../../support/processes';
import { newFolder } from '../../support/temp-folder';

const mock = resolve(__dirname, '../../../fixtures/mock-acp-server');
const config = `[agents.mock]\ncommand = ${JSON.stringify([process.execPath, mock, '--acp'])}\n`;
const clientInfo = { name: 'editor', version: '1' };
const hello = call(1, 'initialize', { protocolVersion: 1, clientInfo, clientCapabilities: {} });
const nameOfMock = { name: 'mock-acp-server', version: '1.0.0' };
const answer = {
  jsonrpc: '2.0',
  id: 1,
  result: expect.objectContaining({ agentInfo: nameOfMock }) as object,
};

describe('cai --acp with a recorded profile', () => {
  let user: CliOptions;
  beforeAll(async () => {
    user = userWith(config);
    await runCli(['--acp', 'mock'], { ...user, input: hello });
  });

  test('answers before the proxy is loaded', async () => {
    const folder = newFolder();
    for (const name of ['bin', 'dist']) {
      cpSync(join(dirname(cai), '..', name), join(folder, name), { recursive: true });
    }
    rmSync(join(folder, 'dist/commands/acp/connection.js'));
    const program = join(folder, 'bin/cai');

    const { stdout, stderr } = await runCli(['--acp', 'mock'], { ...user, program, input: hello });

    expect(linesOf(stdout)).toEqual([answer]);
    expect(stderr).toContain('connection.js');
  });

  test('answers everything that was sent with it, once', async () => {
    const input = `${hello}${call(2, 'session/prompt', { sessionId: 'none' })}${call(3, 'initialize', { protocolVersion: 1 })}`;

    const { stdout, status } = await runCli(['--acp', 'mock'], { ...user, input });

    expect(linesOf(stdout)).toEqual([
      answer,
      { ...answer, id: 3 },
      { jsonrpc: '2.0', id: 2, error: expect.objectContaining({ code: -32002 }) as object },
    ]);
    expect(status).toBe(0);
  });

  test('answers a line that is too long to be read at once', async () => {
    const _meta = { x: 'x'.repeat(100_000) };
    const input = call(1, 'initialize', { protocolVersion: 1, clientInfo, clientCapabilities: {}, _meta });

    const { stdout } = await runCli(['--acp', 'mock'], { ...user, input });

    expect(linesOf(stdout)).toEqual([answer]);
  });

  test.each([
    ['another request', call(9, 'session/list', {}), -32600],
    ['one without a version', call(9, 'initialize', {}), -32602],
    ['what is no JSON', 'hello\n', -32700],
  ])('leaves %s to the proxy', async (_, input, code) => {
    const { stdout } = await runCli(['--acp', 'mock'], { ...user, input: `${input}${hello}` });

    expect(linesOf(stdout)).toEqual([
      expect.objectContaining({ error: expect.objectContaining({ code }) as object }),
      answer,
    ]);
  });

  test.each(['--jitless', '--no-enable-sse4-1'])(
    'answers where WebAssembly has no vectors: %s',
    async (option) => {
      const params = {
        protocolVersion: 1,
        clientInfo,
        clientCapabilities: {},
        _meta: { x: 'x'.repeat(200) },
      };
      const child = spawn(process.execPath, [option, cai, '--acp', 'mock'], { env: user.env });
      child.stdin.end(call(1, 'initialize', params) + call(2, 'session/list', { _meta: params }));

      const lines = linesOf(await text(child.stdout)) as { id: number }[];

      expect(lines[0]).toEqual(answer);
      expect(lines[1]).toMatchObject({ id: 2 });
    },
  );

  test('writes the whole of it down where that is wanted', async () => {
    const file = join(newFolder(), 'record');

    await runCli(['--acp', '--record', file, 'mock'], { ...user, input: hello });

    expect(readFileSync(file, 'utf8')).toMatch(/from editor.*initialize.*\n.*to editor.*mock-acp-server/);
  });

  test('ends by a signal while nothing has been sent', async () => {
    const program = spawn(process.execPath, [cai, '--acp', 'mock'], { env: user.env });
    await untilIdle(program.pid!);

    program.kill('SIGTERM');

    expect(await once(program, 'exit')).toEqual([null, 'SIGTERM']);
  });
});

function call(id: number, method: string, params: object): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
}

function linesOf(stdout: string): unknown[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}
