import { lastUseOf, parseLines } from '../../src/sessions/session-record';
import type { SessionRecord } from '../../src/sessions/session-record';

describe('parseLines', () => {
  test('gives of each session the last record, in the order of the last changes', () => {
    const { records, lineCount } = parse(
      record('a', { title: 'old' }),
      record('b'),
      record('a', { title: 'new' }),
    );

    expect([...records.values()]).toEqual([record('b'), record('a', { title: 'new' })]);
    expect(lineCount).toBe(3);
  });

  test('tells which sessions are gone, and whether something of them is left', () => {
    const gone = { id: 'a', gone: true as const, at: 'now' };

    expect(parse(record('a'), gone)).toMatchObject({ gone: new Map([['a', gone]]), hasRemains: true });
    expect(parse(gone)).toMatchObject({ gone: new Map([['a', gone]]), hasRemains: false });
    expect(parse(gone, record('a'))).toMatchObject({
      gone: new Map(),
      records: new Map([['a', record('a')]]),
    });
  });

  test('keeps what is known of a session, and leaves out what is no text', () => {
    const known = record('a', { title: 'A', updatedAt: 'then', openBy: '1.2' });

    expect(parse(known).records.get('a')).toEqual(known);
    const odd = JSON.stringify({ ...known, title: 7, updatedAt: null, openBy: {}, more: 1 });
    expect(parseLines(odd).records.get('a')).toEqual(record('a'));
  });

  test.each(['', '{', '[]', 'null', '7', '{"id":7}', '{"id":"a"}', '{"id":"a","gone":false}', '\0'])(
    'passes over a line that is none of ours: %j',
    (line) => {
      expect(parseLines(`${line}\n${JSON.stringify(record('b'))}`).records).toEqual(
        new Map([['b', record('b')]]),
      );
    },
  );
});

describe('lastUseOf', () => {
  test.each([
    ['the last activity', { updatedAt: '2026-01-01T00:00:05Z' }, 5_000],
    ['when it was written, without one', {}, 1_000],
  ])('is %s', (_, more, ms) => {
    expect(lastUseOf(record('a', { at: '2026-01-01T00:00:01Z', ...more }))).toBe(Date.UTC(2026, 0) + ms);
  });

  test('is long ago for what is no time', () => {
    expect(lastUseOf(record('a', { at: 'some day' }))).toBe(0);
  });
});

function parse(...lines: readonly object[]): ReturnType<typeof parseLines> {
  return parseLines(lines.map((line) => JSON.stringify(line)).join('\n'));
}

function record(id: string, more: Partial<SessionRecord> = {}): SessionRecord {
  return { id, agent: 'claude', agentId: 's1', root: '/w', cwd: '/w', at: '2026-01-01T00:00:00Z', ...more };
}
