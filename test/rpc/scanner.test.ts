import * as fields from '../../src/rpc/protocol/fields';
import { planOf, type PlanSource } from '../../src/rpc/json/wanted-places';
import { scan, type Plans } from '../../src/rpc/message';
import { Scanner } from '../../src/rpc/scanner';

const file: PlanSource = { '?type': { resource_link: {}, other: { path: 'path' } } };
const link = '{"type":"resource_link","path":"/a"}';

describe('Scanner', () => {
  test('does not look again at what a line has in common with the one before', () => {
    const scanner = new Scanner(plansOf(fields.update));
    const [first, second] = ['I would return early', 'No: that \\"test\\"'].map((text) =>
      scanner.scan(chunk(text)),
    );

    expect(first!.fields).toHaveLength(2);
    expect(second!.fields).toBe(first!.fields);
    expect(second).toEqual(scan(chunk('No: that \\"test\\"'), plansOf(fields.update)));
  });

  test.each([
    [
      'picks what is wanted',
      { content: file },
      notification(`{"content":${link}}`),
      'resource_link',
      'other',
    ],
    [
      'picks it in an object that is read again',
      { '?kind': { k: { content: file } } },
      notification(`{"content":${link},"kind":"k"}`),
      'resource_link',
      'other',
    ],
    [
      'picks it in params that stand before the method',
      { content: file },
      `{"jsonrpc":"2.0","params":{"content":${link}},"method":"m"}`,
      'resource_link',
      'other',
    ],
    ['is wanted itself', { path: 'path' }, notification('{"path":"/a/long/path"}'), '/a/long/path', '/b'],
    ['is the method', {}, '{"jsonrpc":"2.0","method":"x/method","params":{}}', 'x/method', 'm'],
    ['is an id', {}, '{"jsonrpc":"2.0","id":"an-id-of-it","method":"m","params":{}}', 'an-id-of-it', 'b'],
    ['is no JSON', {}, notification('{"a":"long enough"}'), 'long enough', 'a\\x'],
    ['is no UTF-8', {}, notification('{"a":"long enough"}'), 'long enough', '\u00ff'],
  ])('reads a line anew where the string that differs %s', (_, plan, line, string, other) => {
    const scanner = new Scanner(plansOf(plan));
    const second = Buffer.from(
      line.replace(string, () => other),
      'latin1',
    );
    scanner.scan(Buffer.from(line));

    expect(scanner.scan(second)).toEqual(scan(second, plansOf(plan)));
  });

  test('reads a line anew that is shorter than what it could have in common', () => {
    const scanner = new Scanner(plansOf({}));
    const line = notification('{"a":"long enough"}');
    scanner.scan(Buffer.from(line));

    for (let length = 0; length < line.length; length++) {
      expect(scanner.scan(Buffer.from(line.slice(0, length)))).toMatchObject({ defect: 'json' });
    }
  });
});

function chunk(text: string): Buffer {
  const content = `{"type":"text","text":"${text}"}`;
  const update = `{"sessionUpdate":"agent_message_chunk","content":${content}}`;
  return Buffer.from(notification(`{"sessionId":"s","update":${update}}`));
}

function notification(params: string): string {
  return `{"jsonrpc":"2.0","method":"m","params":${params}}`;
}

function plansOf(source: PlanSource): Plans {
  const plan = planOf(source);
  return { params: () => plan, result: () => plan, error: plan };
}
