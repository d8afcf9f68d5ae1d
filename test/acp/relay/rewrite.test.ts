import * as fields from '../../../src/rpc/protocol/fields';
import { editsOf, type Rewrites } from '../../../src/acp/relay/rewrite';
import { wantedIn, type PlanSource } from '../../../src/rpc/json/wanted-places';
import { scan } from '../../../src/rpc/message';
import { editedText } from '../../../src/rpc/splice';

describe('editsOf', () => {
  test.each(['true', '"x"', 'null', '{"a":[1]}'])('takes away our own mark, also as %s', (value) => {
    const text = `{"_meta":{"a":1,"containai":${value}}}`;

    expect(rewrittenBy(text, fields.update, {})).toBe('{"_meta":{"a":1,"containai":false}}');
  });

  test('writes what becomes of it as JSON', () => {
    expect(rewrittenBy('{"a":"1"}', { a: 'session' }, { session: () => '"é\n' })).toBe('{"a":"\\"é\\n"}');
  });

  test.each(['7', 'null', '{"x":"1"}', '["1"]', 'true'])('leaves %s alone where text should be', (value) => {
    const text = `{"a":${value},"b":${value},"c":[${value}]}`;
    const plan: PlanSource = { a: 'session', b: 'path', c: { '*': 'uri' } };

    expect(rewrittenBy(text, plan, { session: () => 'x', path: () => 'x', uri: () => 'x' })).toBe(text);
  });

  test('gives the id of a listed session the working directory of its own row', () => {
    const text =
      '{"sessions":[{"cwd":"/a","sessionId":"1"},{"sessionId":"2"},{"sessionId":"3","cwd":"/c"},' +
      '{"sessionId":"4","cwd":7},{"sessionId":"5","cwd":"/e","_meta":{"cwd":"/x"}}]}';
    const asked: [string, string][] = [];

    rewrittenBy(text, fields.listResult, {
      listed: (id, cwd) => {
        asked.push([id, cwd]);
        return undefined;
      },
    });

    expect(asked).toEqual([
      ['1', '/a'],
      ['2', ''],
      ['3', '/c'],
      ['4', ''],
      ['5', '/e'],
    ]);
  });

  test('reads a long list in the time that its length takes', () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => `{"sessionId":"${i}","cwd":"/w"}`);
    const plan = fields.listResult;

    const rewritten = rewrittenBy(`{"sessions":[${rows.join(',')}]}`, plan, { listed: (id) => `x${id}` });

    expect(rewritten).toContain('"x19999"');
  });
});

function rewrittenBy(text: string, plan: PlanSource, rewrites: Partial<Rewrites>): string {
  const compiled = wantedIn(plan);
  const line = Buffer.from(`{"jsonrpc":"2.0","method":"m","params":${text}}`);
  const message = scan(line, { params: () => compiled, result: () => undefined, error: undefined });
  expect(message.kind).toBe('notification');
  return editedText(line, message.bodyStart, message.bodyEnd, editsOf(message, rewrites));
}
