import * as fields from '../../src/rpc/protocol/fields';
import { scan } from '../../src/rpc/message';
import { Scanner } from '../../src/rpc/scanner';
import { plansOf } from './message-text';

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
