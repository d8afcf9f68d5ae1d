import * as fields from '../../../src/rpc/protocol/fields';
import { editsOf, pathsToAgent, pathsToEditor, type Rewrites } from '../../../src/acp/relay/rewrite';
import { planOf, type PlanSource } from '../../../src/rpc/json/wanted-places';
import { scan } from '../../../src/rpc/message';
import { editedText } from '../../../src/rpc/splice';
import { createPathMap } from '../../../src/system/paths/path-map';

const map = createPathMap({ hostRoots: ['/w'], agentRoots: ['/home/agent/workspace'] });
const one = createPathMap({ hostRoots: ['/w'], agentRoots: ['/w'] });

describe('editsOf', () => {
  test('rewrites ids, paths and URIs, each by its kind', () => {
    const plan: PlanSource = {
      a: 'session',
      b: 'sessionRef',
      c: 'path',
      d: 'cwd',
      e: 'root',
      f: 'uri',
      g: 'cursor',
      h: { '=': 'sessionRefs', '*': 'sessionRef' },
    };
    const text = '{"a":"1","b":"2","c":"3","d":"4","e":"5","f":"6","g":"7","h":["8"]}';

    const rewritten = rewrittenBy(text, plan, {
      session: (id) => `s${id}`,
      path: (path) => `p${path}`,
      uri: (uri) => `u${uri}`,
    });

    expect(rewritten).toBe('{"a":"s1","b":"s2","c":"p3","d":"p4","e":"p5","f":"u6","g":"7","h":["s8"]}');
  });

  test.each(['true', '"x"', 'null', '{"a":[1]}'])('takes away our own mark, also as %s', (value) => {
    const text = `{"_meta":{"a":1,"containai":${value}}}`;

    expect(rewrittenBy(text, fields.update, {})).toBe('{"_meta":{"a":1,"containai":false}}');
  });

  test('keeps the very bytes of what stays the same', () => {
    const text = '{"a":"\\u0061","b":"x\\/y"}';
    const plan: PlanSource = { a: 'session', b: 'path' };

    expect(rewrittenBy(text, plan, { session: () => undefined, path: (path) => path })).toBe(text);
    expect(rewrittenBy(text, plan, { session: () => 'a', path: () => 'x/y' })).toBe(text);
    expect(rewrittenBy(text, plan, {})).toBe(text);
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

describe('pathsToAgent and pathsToEditor', () => {
  test('map paths and URIs, each way', () => {
    expect(pathsToAgent(map)?.path('/w/a')).toBe('/home/agent/workspace/a');
    expect(pathsToAgent(map)?.uri('file:///w/a')).toBe('file:///home/agent/workspace/a');
    expect(pathsToEditor(map)?.path('/home/agent/workspace/a')).toBe('/w/a');
    expect(pathsToEditor(map)?.uri('file:///home/agent/workspace/a')).toBe('file:///w/a');
  });

  test('are nothing where paths are the same on both sides', () => {
    expect(pathsToAgent(one)).toBeUndefined();
    expect(pathsToEditor(one)).toBeUndefined();
  });
});

function rewrittenBy(text: string, plan: PlanSource, rewrites: Partial<Rewrites>): string {
  const compiled = planOf(plan);
  const line = Buffer.from(`{"jsonrpc":"2.0","method":"m","params":${text}}`);
  const message = scan(line, { params: () => compiled, result: () => undefined, error: undefined });
  expect(message.kind).toBe('notification');
  return editedText(line, message.bodyStart, message.bodyEnd, editsOf(message, rewrites));
}
