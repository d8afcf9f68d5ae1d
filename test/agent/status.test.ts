import { parseStatus, statusLine } from '../../src/agent/status';
import type { AgentStatus } from '../../src/agent/status';

describe('parseStatus', () => {
  it.each<AgentStatus>([
    { kind: 'started' },
    { kind: 'started', image: 'sha256:12', imageName: 'containai:claude' },
    { kind: 'notice', text: 'two\nlines' },
    { kind: 'delay', text: 'building' },
    { kind: 'failed', code: 'NO_ENGINE' },
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
    '{"kind":"other"}',
  ])('takes no other line: %j', (line) => expect(parseStatus(line)).toBeUndefined());

  it('leaves out of a start what is of another form or unknown', () => {
    expect(parseStatus('{"kind":"started","image":1,"imageName":null,"x":"y"}')).toEqual({ kind: 'started' });
  });
});
