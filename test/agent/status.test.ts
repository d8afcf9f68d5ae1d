import { parseQuestion, parseStatus, statusLine } from '../../src/agent/status';
import type { AgentStatus, Answer } from '../../src/agent/status';

describe('parseStatus', () => {
  it.each<AgentStatus | Answer>([
    { kind: 'started' },
    { kind: 'started', image: 'sha256:12', imageName: 'containai:claude' },
    { kind: 'notice', text: 'two\nlines' },
    { kind: 'delay', text: 'building' },
    { kind: 'failed', code: 'NO_ENGINE' },
    { kind: 'stopped' },
    { kind: 'unwatchable' },
    { kind: 'lost', takenBytes: 7 },
    { kind: 'resumed' },
    { kind: 'answer', id: 7 },
    { kind: 'answer', id: 8, error: 'why' },
  ])('reads back what statusLine wrote: %j', (status) => {
    const line = statusLine(status);

    expect(line.indexOf('\n')).toBe(line.length - 1);
    expect(parseStatus(line)).toEqual(status);
  });

  it.each([
    '',
    'text',
    'null',
    '[]',
    '{"kind":"notice"}',
    '{"kind":"delay","text":1}',
    '{"kind":"failed"}',
    '{"kind":"lost"}',
    '{"kind":"other"}',
    '{"kind":"answer"}',
    '{"ask":"alive","id":1}',
  ])('takes no other line: %j', (line) => expect(parseStatus(line)).toBeUndefined());

  it('leaves out of a start what is of another form or unknown', () => {
    expect(parseStatus('{"kind":"started","image":1,"imageName":null,"x":"y"}')).toEqual({ kind: 'started' });
  });
});

describe('parseQuestion', () => {
  it('reads back what statusLine wrote', () => {
    expect(parseQuestion(statusLine({ ask: 'freeze', id: 3 }))).toEqual({ ask: 'freeze', id: 3 });
  });

  it('reads questions that it does not know, too', () => {
    expect(parseQuestion('{"ask":"later","id":1,"more":true}')).toEqual({ ask: 'later', id: 1 });
  });

  it.each(['', 'null', '7', '{"ask":"alive"}', '{"ask":1,"id":1}', '{"kind":"started"}'])(
    'takes no other line: %j',
    (line) => expect(parseQuestion(line)).toBeUndefined(),
  );
});
