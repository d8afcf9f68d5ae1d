/** What `cai try` makes of the words of an agent that is faulty, or hostile. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCli, userWith, type CliResult } from '../../support/cli';

/** The prompt is a turn, as JSON. What it is answered is told as a message. */
const agent = `
  const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
  let turn;
  const end = () => say({ id: turn.id, ...turn.end });
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params, result, error } = JSON.parse(line);
    if (method === 'initialize') say({ id, result: { protocolVersion: 1 } });
    else if (method === 'session/new') say({ id, result: { sessionId: 's' } });
    else if (method === 'session/prompt') {
      turn = { id, ...JSON.parse(params.prompt[0].text) };
      for (const update of turn.updates ?? []) say({ method: 'session/update', params: { sessionId: 's', update } });
      if (turn.asks === undefined) end();
      else say({ id: 'q', method: 'session/request_permission', params: { sessionId: 's', ...turn.asks } });
    } else if (id === 'q') {
      const content = { type: 'text', text: JSON.stringify(error?.code ?? result) };
      say({ method: 'session/update', params: { sessionId: 's', update: { sessionUpdate: 'agent_message_chunk', content } } });
      end();
    }
  });`;
const user = userWith('');
const cwd = join(user.cwd!, 'project');
mkdirSync(cwd);
writeFileSync(join(cwd, 'odd.js'), agent);
writeFileSync(
  user.file,
  `[agents.odd]\ncommand = ${JSON.stringify([process.execPath, join(cwd, 'odd.js')])}\n`,
);

interface Turn {
  readonly updates?: readonly unknown[];
  readonly asks?: object;
  readonly end: object;
}

async function turn(each: Turn): Promise<CliResult> {
  return await runCli(['try', 'odd', JSON.stringify(each)], { ...user, cwd });
}

const ended = { result: { stopReason: 'end_turn' } };

/** Sets the clipboard, and clears the screen. */
const evil = '\u001b]52;c;cm0gLXJmIH4K\u0007\u001b[2J';

test.each<[string, Turn]>([
  ['the end of a turn', { end: { result: { stopReason: `why${evil}` } } }],
  [
    'an option that is chosen for nobody',
    {
      asks: {
        toolCall: { toolCallId: 't' },
        options: [{ optionId: 'n', name: `why${evil}`, kind: 'reject_once' }],
      },
      end: ended,
    },
  ],
])('no word of an agent steers the terminal: %s', async (_, each) => {
  const { stdout, stderr } = await turn(each);

  expect(stdout + stderr).toContain('why');
  expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]/u);
});

const chunk = (content: unknown) => ({ sessionUpdate: 'agent_message_chunk', content });
const odd = { toString: null };

test('updates that cannot be read are left out', async () => {
  const updates = [
    null,
    [],
    ...[null, odd, { type: odd }, { type: 'text', text: odd }].map(chunk),
    ...[null, {}, [null, 5, { content: odd }]].map((entries) => ({ sessionUpdate: 'plan', entries })),
    { sessionUpdate: 'tool_call', toolCallId: odd },
    { sessionUpdate: 'tool_call', toolCallId: 't', title: odd, status: odd },
    { sessionUpdate: 'plan', entries: [null, { content: 'Then', status: odd }] },
    chunk({ type: 'text', text: 'one\u2028two' }),
  ];

  expect(await turn({ updates, end: ended })).toEqual({
    status: 0,
    stdout: '  • t\n  · Then\none\ufffdtwo\n',
    stderr: '',
  });
});

test.each([
  [null],
  [[]],
  [[null]],
  [[{ optionId: 'a', name: odd, kind: 'allow_once' }]],
  [[{ optionId: 'a', name: 'A' }]],
])('a permission with the options %j is refused, and nobody is asked', async (options) => {
  expect(await turn({ asks: { toolCall: null, options }, end: ended })).toEqual({
    status: 0,
    stdout: '-32602\n',
    stderr: '',
  });
});

test('a permission is asked for without what cannot be read of its call', async () => {
  const options = [{ optionId: 'n', name: 'No', kind: 'reject_once' }];

  const { stdout } = await turn({ asks: { toolCall: { toolCallId: odd, title: odd }, options }, end: ended });

  expect(stdout).toMatch(/^\? The agent asks for a permission\n {2}1 {2}No\n/);
});

test.each([{ result: null }, { result: { stopReason: odd } }])(
  'a turn that ends with %j has failed',
  async (end) => {
    const { status, stdout } = await turn({ end });

    expect([status, stdout]).toEqual([1, '  (the agent does not say why)\n']);
  },
);
