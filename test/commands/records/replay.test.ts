import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { runCli, runInTerminal } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { newFolder } from '../../support/temp-folder';

const head = '{"recording":1,"cai":"1","agent":"a","at":"2026-01-01T00:00:00.000Z"}';
const hello = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}';
const answer = '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}';
const mock = resolve(__dirname, '../../../fixtures/mock-acp-server');

/** A recording with these lines of the editor's side, half a second apart. */
function recording(...lines: readonly [string, string][]): string {
  const file = join(newFolder(), 'r.ndjson');
  const records = lines.map(([side, line], index) => JSON.stringify({ ms: index * 500, side, line }));
  writeFileSync(file, `${[head, ...records].join('\n')}\n`);
  return file;
}

describe('cai replay', () => {
  test('plays the agent on stdin and stdout', async () => {
    const file = recording(['from editor', hello], ['to editor', answer]);

    const result = await runCli(['replay', file], { input: `${hello.replace('1,', '"x",')}\n` });

    expect(result).toEqual({ status: 0, stdout: `${answer.replace('1,', '"x",')}\n`, stderr: '' });
  });

  test('says on a terminal what it waits for', async () => {
    const file = recording(['from editor', hello], ['to editor', answer]);

    const { stdout } = await runInTerminal(['replay', file]);

    expect(stdout).toMatch(/^cai: this waits for an editor: name it in the settings/m);
  });

  test('plays no agent that acts where the editor is, and says so', async () => {
    const method = '{"id":"a","type":"terminal","args":["x"]}';
    const offering = answer.replace('1}', `1,"authMethods":[${method},{"id":"b"}]}`);
    const prompt = '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s"}}';
    const asks = (id: number, name: string): string =>
      `{"jsonrpc":"2.0","id":${id},"method":"${name}","params":{"sessionId":"s"}}`;
    const done = '{"jsonrpc":"2.0","id":2,"result":{}}';
    const file = recording(
      ['from editor', hello],
      ['to editor', offering],
      ['from editor', prompt],
      ['to editor', asks(7, 'terminal/create')],
      ['from editor', '{"jsonrpc":"2.0","id":7,"result":{"terminalId":"t"}}'],
      ['to editor', asks(8, 'fs/write_text_file')],
      ['from editor', '{"jsonrpc":"2.0","id":8,"result":null}'],
      ['to editor', '{"method":"terminal/create","method":"x"}'],
      ['to editor', done],
    );

    expect(await runCli(['replay', file], { input: `${hello}\n${prompt}\n` })).toEqual({
      status: 0,
      stdout: `${offering.replace(`${method},`, '')}\n${done}\n`,
      stderr:
        'cai: line 3 of the recording is played without its sign-in commands\n' +
        'cai: line 5 of the recording is left out: terminal/create\n' +
        'cai: line 7 of the recording is left out: fs/write_text_file\n' +
        'cai: line 9 of the recording is left out: no message\n',
    });
  });

  test('keeps the pauses with --timing', async () => {
    const file = recording(['from editor', hello], ['to editor', answer]);
    const startedAt = performance.now();

    const { status } = await runCli(['replay', file, '--timing'], { input: `${hello}\n` });

    expect(status).toBe(0);
    expect(performance.now() - startedAt).toBeGreaterThan(499);
  });

  test('plays the editor to a command', async () => {
    const file = recording(['from editor', hello], ['to editor', answer]);

    const result = await runCli(['replay', file, '--as', 'editor', '--', mock, '--acp']);

    expect(result).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  test('ends with 1 and says what came instead', async () => {
    const file = recording(['from editor', hello], ['to editor', answer]);

    expect(await runCli(['replay', file], { input: '{"jsonrpc":"2.0","method":"_x"}\n' })).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'cai: line 2 of the recording has the request initialize (id 1); instead came the notification _x\n',
    });
  });

  test.each([
    [['--as', 'editor'], 'an editor is played to an agent: cai replay FILE --as editor -- COMMAND'],
    [['--', 'x'], 'an agent is played on stdin and stdout, without a COMMAND: or add --as editor'],
  ])('refuses %j', async (args, message) => {
    const { status, stderr } = await runHere(['replay', recording(['from editor', hello]), ...args]);

    expect({ status, stderr }).toEqual({ status: 2, stderr: `cai: ${message}\n` });
  });

  test.each(['abc', '1.5', '', '0', '-1'])('refuses "%s" for the number of an agent', async (child) => {
    const { status, stderr } = await runHere(['replay', 'r.ndjson', `--child=${child}`]);

    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: `cai: --child: "${child}" is not the number of an agent, which is 1 or more\n`,
    });
  });

  test.each([
    [
      'an agent that it does not have',
      ['--child', '3'],
      'the recording has no lines of an agent 3; its agents: none',
    ],
    ['a command that is not there', ['--as', 'editor', '--', '/no/such'], '"/no/such" was not found'],
  ])('ends with 1 for %s', async (_, args, message) => {
    const file = recording(['from editor', hello], ['to editor', answer]);

    const { status, stderr } = await runHere(['replay', file, ...args]);

    expect(status).toBe(1);
    expect(stderr).toContain(message);
  });

  test('ends with 1 for a file that is not there', async () => {
    const { status, stderr } = await runHere(['replay', '/no/such/file']);

    expect(status).toBe(1);
    expect(stderr).toContain('/no/such/file cannot be read: no such file or directory');
  });
});
