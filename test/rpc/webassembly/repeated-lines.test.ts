import fc from 'fast-check';
import * as fields from '../../../src/rpc/protocol/fields';
import { LineReader } from '../../../src/rpc/line';
import { wantedIn } from '../../../src/rpc/json/wanted-places';
import { RunRewriter, type Run } from '../../../src/rpc/webassembly/repeated-lines';
import { scan, type Plans } from '../../../src/rpc/message';
import { Scanner } from '../../../src/rpc/scanner';
import { joined, splice } from '../../../src/rpc/splice';
import { runs } from '../../support/properties';
import { stringText } from '../json-text';

const plan = wantedIn({ sessionId: 'session', update: fields.update });
const plans: Plans = { params: () => plan, result: () => undefined, error: undefined };
const limits = { maxLineBytes: 1_000_000, maxSearchBytes: 0 };

describe('RunRewriter', () => {
  test.each([0, 1, 7, 15, 16, 17, 31, 32, 33, 100, 1_000, 5_000, 40_000])(
    'rewrites lines with texts of about %i bytes, however they are cut',
    (bytes) => {
      const lines = Array.from({ length: 12 }, (_, i) =>
        chunk('s1', 'a"é\\\n'.repeat(i) + 'x'.repeat(bytes)),
      );

      for (const id of ['s1', 'other', 'an-id-that-is-longer']) {
        expect(rewritten(lines.join(''), id, 65_536)).toEqual(expected(lines, id));
        expect(rewritten(lines.join(''), id, 997)).toEqual(expected(lines, id));
      }
    },
  );

  test('takes many lines at once, and more where there were many', () => {
    const lines = Buffer.from(chunk('s1', 'some text').repeat(1_000));
    const rewriter = new RunRewriter(...patternOf('s1', 'e1'));

    const taken = [];
    for (let at = 0; at < lines.length; at += taken.at(-1)!)
      taken.push(rewriter.take([lines.subarray(at)])!.bytes);

    expect(taken.length).toBeLessThan(6);
  });

  test.each([
    ['another session', chunk('s2', 'text')],
    ['another kind', chunk('s1', 'text').replace('agent_message', 'agent_thought')],
    ['one member more', chunk('s1', 'text').replace('}}}}', '},"_meta":{}}}')],
    ['a space', chunk('s1', 'text').replace('":"text"', '": "text"')],
    ['a CR before the line end', chunk('s1', 'text').replace('\n', '\r\n')],
    ['a string that does not end', chunk('s1', 'text').replace('"}}}}', '')],
    ['a control character', chunk('s1', 'te\txt').replace('\\t', '\t')],
    ['what is no escape', chunk('s1', 'te@xt').replace('@', '\\x')],
    ['what is no UTF-8', Buffer.from(chunk('s1', 'te@xt').replace('@', '\xff'), 'latin1')],
    ['an escape of several letters', chunk('s1', 'te@xt').replace('@', '\\u0041')],
    ['nothing in it', '\n'],
    ['no line end', chunk('s1', 'text').trimEnd()],
  ])('leaves a line with %s to others', (_, line) => {
    const before = chunk('s1', 'before');
    const other = Buffer.from(line as string);

    expect(take(Buffer.concat([other, Buffer.from(before)])).run).toBeUndefined();
  });

  test('takes the lines before one that is left to others', () => {
    const { run } = take(chunk('s1', 'a') + chunk('s1', 'b') + chunk('s2', 'c') + chunk('s1', 'd'));

    expect(run!.lines.toString()).toBe(chunk('e1', 'a') + chunk('e1', 'b'));
    expect(run!.bytes).toBe(2 * chunk('s1', 'a').length);
  });

  test('leaves nothing of what one has had to the next', () => {
    const a = new RunRewriter(...patternOf('s1', 'e1'));
    const b = new RunRewriter(...patternOf('session-2', 'e2'));

    for (const [rewriter, from, to] of [
      [a, 's1', 'e1'],
      [b, 'session-2', 'e2'],
      [a, 's1', 'e1'],
    ] as const) {
      expect(rewriter.take([Buffer.from(chunk(from, 'text'))])!.lines.toString()).toBe(chunk(to, 'text'));
    }
  });

  test('does not look at long heads and tails', () => {
    const long = 'x'.repeat(2_500);

    expect(new RunRewriter(...patternOf(long, 'e1')).take([Buffer.from(chunk(long, 'a'))])).toBeUndefined();
    expect(new RunRewriter(...patternOf('s1', long)).take([Buffer.from(chunk('s1', 'a'))])).toBeUndefined();
  });

  test('tries ever less where lines are none of these, and goes on soon when they are', () => {
    const bad = Buffer.from(chunk('s1', 'te@xt').replace('@', '\xff'), 'latin1');
    const good = Buffer.from(chunk('s1', 'text'));
    const rewriter = new RunRewriter(...patternOf('s1', 'e1'));
    const tries = (line: Buffer, count: number) => Array.from({ length: count }, () => rewriter.take([line]));

    expect(tries(bad, 500).every((run) => run === undefined)).toBe(true);
    const taken = tries(good, 200).map((run) => run !== undefined);

    expect(taken.indexOf(true)).toBeGreaterThan(0);
    expect(taken.indexOf(true)).toBeLessThan(65);
    expect(taken.slice(taken.indexOf(true))).not.toContain(false);
  });

  test('gives what rewriting line by line gives', () => {
    const line = fc.oneof(
      { weight: 6, arbitrary: stringText.map((text) => chunk('s1', '@').replace('"@"', () => text)) },
      { weight: 1, arbitrary: fc.constantFrom(chunk('s2', 'a'), '\n', '{"jsonrpc":"2.0"}\n', 'no JSON\n') },
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), fc.integer({ min: 1, max: 3_000 }), (lines, size) => {
        expect(rewritten(lines.join(''), 'e1', size)).toEqual(expected(lines, 'e1'));
      }),
      runs,
    );
  });
});

/** Session ids, of the agent and in place of it: what lines have in common, and what is to stand there. */
function patternOf(from: string, to: string): ConstructorParameters<typeof RunRewriter> {
  const scanner = new Scanner(plans);
  scanner.scan(Buffer.from(chunk(from, 'x'.repeat(50)).trimEnd()));
  const pattern = scanner.pattern!;
  return [pattern, Buffer.from(pattern.head.toString().replace(`"${from}"`, `"${to}"`))];
}

function take(input: string | Buffer): { run: Run | undefined; bytes: number } {
  const bytes = Buffer.from(input as string);
  const rewriter = new RunRewriter(...patternOf('s1', 'e1'));
  return { run: rewriter.take([bytes]), bytes: bytes.length };
}

/** All lines of the input, cut into pieces of that size, with `s1` replaced by `id` in those that are taken. */
function rewritten(input: string, id: string, size: number): string[] {
  const reader = new LineReader(limits);
  const rewriter = new RunRewriter(...patternOf('s1', id));
  const bytes = Buffer.from(input);
  let output = '';
  for (let at = 0; at < bytes.length; at += size) {
    reader.push(bytes.subarray(at, at + size));
    for (;;) {
      const taken = reader.offer((pieces) => {
        const run = rewriter.take(pieces);
        output += run?.lines.toString() ?? '';
        return run?.bytes ?? 0;
      });
      if (taken > 0) continue;
      const line = reader.next();
      if (line === undefined) break;
      output += `${lineWith(id, line as Buffer)}\n`;
    }
  }
  return output.split('\n');
}

/** The same, one by one. */
function expected(lines: readonly string[], id: string): string[] {
  const whole = lines.filter((line) => line.trim() !== '');
  return [...whole.map((line) => lineWith(id, Buffer.from(line.trimEnd()))), ''];
}

function lineWith(id: string, line: Buffer): string {
  const { fields: found } = scan(line, plans);
  const session = found.find(({ kind }) => kind === 'session');
  if (session === undefined || line.toString('utf8', session.start, session.end) !== '"s1"')
    return line.toString();
  return joined(splice(line, [{ ...session, text: `"${id}"` }])).toString();
}

function chunk(sessionId: string, text: string): string {
  const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } };
  return `${JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update } })}\n`;
}
