import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';
import { cai, runCli, userWith } from '../../support/cli';
import { onTerminal } from '../../support/on-terminal';
import { newFolder } from '../../support/temp-folder';

const mock = resolve(__dirname, '../../../fixtures/mock-acp-server');
const home = userWith(`[agents.mock]\ncommand = ${JSON.stringify([process.execPath, mock, '--acp'])}\n`);
const user = { ...home, cwd: join(home.cwd!, 'project') };
mkdirSync(user.cwd);

test('one turn with a prompt as arguments: what the agent says and does, and a refusal', async () => {
  const { status, stdout } = await runCli(['try', 'mock', 'say so be', 'it; permission Write a.txt'], user);

  expect(stdout).toBe(
    'so be it\n  • Write a.txt\n? Write a.txt\n  1  Allow\n  2  Reject\n  Reject\npermission: reject\n',
  );
  expect(status).toBe(0);
});

test('one turn with a prompt on stdin', async () => {
  expect(await runCli(['try', 'mock'], { ...user, input: 'say one;\nsay two' })).toMatchObject({
    status: 0,
    stdout: 'onetwo\n',
  });
});

test('conversations on a terminal: answers, turns that are stopped, words typed ahead', async () => {
  const shown = await onTerminal(['try', 'mock'], user, [
    ['> ', 'permission Write\nsay typed ahead\n'],
    ['1, 2? ', '?\n'],
    ['1, 2? ', 'y\n'],
    ['typed ahead\r\n> ', 'wait\n'],
    ['wait', '\u0003'],
    ['(cancelled)\r\n> ', '\u0004'],
  ]);

  expect(shown).toContain('  Type a number; y is 1; n is 2. Ctrl+C stops the turn.\n');
  expect(shown).toContain('permission: allow\n');
  expect(shown).toContain('  stopping; Ctrl+C once more leaves\n');
});

test.each([
  [['try', 'mock'], 2, 'cai: there is no prompt: give it as an argument, or on stdin\n'],
  [['try', 'mock', 'exit 3'], 1, 'cai: '],
])('%j ends with status %i', async (args, status, words) => {
  const result = await runCli(args, user);

  expect(result.stderr).toContain(words);
  expect(result.status).toBe(status);
});

test.each([
  ['Authentication required', 'Authentication required: run "cai login locked", then try again'],
  ['To sign in, run: cai login locked', 'To sign in, run: cai login locked'],
])('says once how to sign in, after "%s"', async (message, advice) => {
  const locked = join(user.cwd, 'locked.js');
  writeFileSync(
    locked,
    `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      const answer = method === 'initialize' ? { result: { protocolVersion: 1 } } : { error: { code: -32000, message: '${message}' } };
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    });`,
  );
  writeFileSync(home.file, `[agents.locked]\ncommand = ${JSON.stringify([process.execPath, locked])}\n`);

  const { status, stderr } = await runCli(['try', 'locked', 'hi'], user);

  expect(stderr).toContain(`cai: ${advice}\n`);
  expect(status).toBe(11);
});

describe('an agent that asks for two permissions at once', () => {
  const asks = join(user.cwd, 'asks.js');
  writeFileSync(
    asks,
    `const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
    const answers = [];
    const call = (sessionUpdate, toolCallId, title) =>
      say({ method: 'session/update', params: { sessionId: 's', update: { sessionUpdate, toolCallId, title } } });
    const ask = (id, toolCall) => say({ id, method: 'session/request_permission', params: { sessionId: 's', toolCall,
      options: [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }, { optionId: 'no', name: 'No', kind: 'reject_once' }] } });
    let turn;
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params, result } = JSON.parse(line);
      if (method === 'initialize') say({ id, result: { protocolVersion: 1 } });
      if (method === 'session/new') say({ id, result: { sessionId: 's' } });
      if (method === 'session/prompt') {
        turn = id;
        call('tool_call', 't2', 'Delete all');
        ask('a', { toolCallId: 't1', title: 'Read notes' });
        ask('b', { toolCallId: 't2' });
        if (params.prompt[0].text === 'ends') say({ id, result: { stopReason: 'end_turn' } });
      }
      if (result?.outcome !== undefined) {
        answers.push(result.outcome.optionId ?? result.outcome.outcome);
        if (answers.length % 2 === 0) {
          const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: answers.splice(0).join() } };
          say({ method: 'session/update', params: { sessionId: 's', update } });
          say({ id: turn, result: { stopReason: 'end_turn' } });
        }
      }
    });`,
  );
  beforeAll(() =>
    writeFileSync(home.file, `[agents.asks]\ncommand = ${JSON.stringify([process.execPath, asks])}\n`),
  );

  test('is answered one by one, with what it has told before; nothing more is asked after Ctrl+C', async () => {
    const shown = await onTerminal(['try', 'asks'], user, [
      ['> ', 'go\n'],
      ['? Read notes\r\n  1  Yes\r\n  2  No\r\n  1, 2? ', '1\n'],
      ['? Delete all\r\n  1  Yes\r\n  2  No\r\n  1, 2? ', '2\n'],
      ['yes,no\r\n> ', 'go\n'],
      ['1, 2? ', '\u0003'],
      ['no,cancelled\r\n> ', '\u0004'],
    ]);

    expect(shown.match(/\? Delete all/g)).toHaveLength(1);
  });

  test('gets no answer after its turn: the next line is a prompt', async () => {
    await onTerminal(['try', 'asks'], user, [
      ['> ', 'ends\n'],
      [',cancelled', 'go\n'],
      ['1, 2? ', '\u0003'],
      ['no,cancelled\r\n> ', '\u0004'],
    ]);
  });
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s ends a turn of nobody, with all that was begun',
  async (signal) => {
    const [tmp, folder] = [newFolder(), newFolder()];
    const env = { PATH: process.env.PATH, HOME: folder, TMPDIR: tmp, CAI_NO_UPDATE_CHECK: '1' };
    const child = spawn(process.execPath, [cai, 'try', '--mock', 'count'], { cwd: folder, env });
    child.stdout.setEncoding('utf8').once('data', () => child.kill(signal));

    const [status] = (await once(child, 'close')) as [number | null];

    expect(status).toBe(128 + constants.signals[signal]);
    expect(readdirSync(tmp)).toEqual([]);
  },
);

test('Ctrl+C leaves while the agent starts', async () => {
  const silent = join(user.cwd, 'silent.js');
  writeFileSync(silent, `process.stdin.resume().on('end', () => process.exit()); console.error('starting');`);
  writeFileSync(home.file, `[agents.silent]\ncommand = ${JSON.stringify([process.execPath, silent])}\n`);

  await onTerminal(['try', 'silent'], { ...user, env: { ...user.env, CAI_LOG_LEVEL: 'debug' } }, [
    ['starting', '\u0003'],
  ]);
});

describe('--mock', () => {
  const newcomer = { env: { HOME: newFolder(), TMPDIR: newFolder() }, cwd: newFolder() };

  test('needs nothing, and leaves nothing behind', async () => {
    const { status, stdout, stderr } = await runCli(['try', '--mock', 'bake', 'bread'], newcomer);

    expect(stderr).toBe('');
    expect(stdout).toMatch(
      /^I am a mock: .* You have said: bake bread\n(?:.*\n)*\? Write hello\.txt\n {2}1 {2}Yes\n {2}2 {2}No\n {2}No\n(?:.*\n)*You have refused it\./,
    );
    expect(status).toBe(0);
    expect(
      Object.values({ ...newcomer.env, cwd: newcomer.cwd }).flatMap((each) => readdirSync(each)),
    ).toEqual([]);
  });

  test('has a turn, a question and a stop on a terminal', async () => {
    const shown = await onTerminal(['try', '--mock'], newcomer, [
      ['> ', 'bake bread\n'],
      ['1, 2? ', '1\n'],
      ['You have allowed it. I have changed nothing.\r\n> ', 'count\n'],
      ['until you stop me: 1', '\u0003'],
      ['(cancelled)\r\n> ', 'bake cake\n'],
      ['1, 2? ', '\u0003'],
      ['(cancelled)\r\n> ', '\u0004'],
    ]);

    expect(shown).toContain('write "count" for a turn to stop.\n');
    expect(shown).toContain('  ✓ Write hello.txt\n');
    expect(shown).toContain('  ✗ Write hello.txt\n');
  });
});
