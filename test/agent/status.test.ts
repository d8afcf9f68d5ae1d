import { parseStatus, statusLine } from '../../src/agent/status';
import type { AgentStatus } from '../../src/agent/status';

describe('parseStatus', () => {
  it.each<AgentStatus>([
    { kind: 'started' },
    { kind: 'notice', text: 'two\nlines' },
    { kind: 'delay', text: 'building' },
  ])('reads back what statusLine wrote: %j', (status) => {
    const line = statusLine(status);

    expect(line.indexOf('\n')).toBe(line.length - 1);
    expect(parseStatus(line)).toEqual(status);
  });

  it.each(['', 'text', 'null', '[]', '{"kind":"notice"}', '{"kind":"delay","text":1}', '{"kind":"other"}'])(
    'takes no other line: %j',
    (line) => expect(parseStatus(line)).toBeUndefined(),
  );
});
