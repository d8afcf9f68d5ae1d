import { PassThrough } from 'node:stream';
import { View } from '../../../src/commands/try/view';

/** What a person sees of these updates. */
function shown(isPlain: boolean, ...updates: object[]): string {
  const output = new PassThrough({ encoding: 'utf8' });
  const view = new View(output, isPlain);
  for (const update of updates) view.update({ update });
  view.endLine();
  return output.read() as string;
}

const text = (words: string, sessionUpdate = 'agent_message_chunk') => ({
  sessionUpdate,
  content: { type: 'text', text: words },
});

test('pieces of a message are one text; a thought, and what is done, are lines of their own', () => {
  expect(
    shown(
      true,
      ...[text('one '), text('two'), text('hm', 'agent_thought_chunk')],
      { sessionUpdate: 'tool_call', toolCallId: 'a', title: 'Read b.txt', status: 'pending' },
      { sessionUpdate: 'tool_call_update', toolCallId: 'a', status: 'in_progress' },
      { sessionUpdate: 'tool_call_update', toolCallId: 'a', status: 'completed' },
      { sessionUpdate: 'tool_call', toolCallId: 'b', title: 'Run x', status: 'failed' },
      {
        sessionUpdate: 'plan',
        entries: [
          { content: 'First', status: 'completed' },
          { content: 'Then', status: 'pending' },
        ],
      },
    ),
  ).toBe('one two\nhm\n  • Read b.txt\n  ✓ Read b.txt\n  ✗ Run x\n  ✓ First\n  · Then\n');
});

test('blocks that are no text are named, and updates that are not shown change nothing', () => {
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
  const link = { type: 'resource_link', name: 'a.txt', uri: 'file:///a.txt' };

  expect(
    shown(
      true,
      { ...text(''), content: image },
      { ...text(''), content: link },
      { sessionUpdate: 'available_commands_update', availableCommands: [] },
    ),
  ).toBe('[image][resource_link a.txt]\n');
});

test('thoughts and actions are dim where there are colours', () => {
  expect(shown(false, text('hm', 'agent_thought_chunk'))).toBe('\u001b[2mhm\u001b[22m\n');
});

test('no word of an agent steers the terminal', () => {
  const evil = '\u001b]0;x\u0007\u202e';
  const output = shown(
    true,
    text(evil),
    { sessionUpdate: 'tool_call', toolCallId: 'a', title: `${evil}\nb` },
    { sessionUpdate: 'plan', entries: [{ content: evil }] },
  );
  const question = new View(new PassThrough(), true).questionOf({
    toolCall: { title: evil },
    options: [{ optionId: 'a', name: evil, kind: 'allow_once' }],
  });

  for (const seen of [output, question.text])
    for (const character of evil.slice(0, 1) + evil.slice(-2)) expect(seen).not.toContain(character);
  expect(output.split('\n')).toHaveLength(4);
});
