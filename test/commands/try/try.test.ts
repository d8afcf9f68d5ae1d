import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { runCli, userWith } from '../../support/cli';
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
