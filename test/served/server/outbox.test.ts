import fc from 'fast-check';
import { Keeper, receivedCount, Outbox } from '../../../src/served/server/outbox';
import { codeOf } from '../../support/code-of';

const unlimited = { bytes: Infinity, lines: Infinity };

function outboxWith(lines: readonly string[], limits = unlimited): Outbox {
  const outbox = new Outbox(new Keeper(limits));
  for (const line of lines) outbox.push(Buffer.from(line));
  return outbox;
}

function taken(outbox: Outbox): string[] {
  const lines: string[] = [];
  for (let next = outbox.take(); next !== undefined; next = outbox.take())
    lines.push(`${next.number}:${next.line.toString()}`);
  return lines;
}

test('whoever comes back gets what follows the number', () => {
  const outbox = outboxWith(['a', 'b', 'c']);
  taken(outbox);

  outbox.goOnAfter(1);

  expect(taken(outbox)).toEqual(['2:b', '3:c']);
});

test('without a number it goes on where it was', () => {
  const outbox = outboxWith(['a', 'b']);
  outbox.take();

  outbox.goOnAfter();

  expect(taken(outbox)).toEqual(['2:b']);
});

test('a number that no line had is refused', () => {
  const outbox = outboxWith(['a']);

  for (const number of [2, -1, 0.5, NaN]) expect(codeOf(() => outbox.goOnAfter(number))).toBe('USAGE');
});

test('lines that were dropped are missed, and that is told', () => {
  const outbox = outboxWith(['aa', 'bb', 'cc'], { bytes: 4, lines: Infinity });

  expect(outbox.hasLost).toBe(true);
  expect(codeOf(() => outbox.goOnAfter(0))).toBe('GONE');
  expect(codeOf(() => outbox.goOnAfter())).toBe('GONE');
  outbox.goOnAfter(1);
  expect(taken(outbox)).toEqual(['2:bb', '3:cc']);
});

test('of several outboxes one loses its only line, too, but never the line that has just come', () => {
  const keeper = new Keeper({ bytes: 4, lines: Infinity });
  const [first, second] = [new Outbox(keeper), new Outbox(keeper)];
  first.push(Buffer.from('aaaa'));
  second.push(Buffer.from('bbbbbb'));

  expect([first.count, first.hasLost]).toEqual([0, true]);
  expect(taken(second)).toEqual(['1:bbbbbb']);
  first.push(Buffer.from('c'));
  expect(second.count).toBe(0);
  expect(taken(first)).toEqual(['2:c']);
});

test('lines that were sent are dropped without a loss', () => {
  const outbox = outboxWith(['a', 'b'], { bytes: Infinity, lines: 2 });
  taken(outbox);

  outbox.push(Buffer.from('c'));

  expect(outbox.hasLost).toBe(false);
  expect(outbox.isWhole).toBe(false);
  expect(taken(outbox)).toEqual(['3:c']);
});

test('a line that is larger than the limit is kept until the next comes', () => {
  const outbox = outboxWith(['a', 'large'], { bytes: 3, lines: Infinity });

  expect(taken(outbox)).toEqual(['2:large']);
  expect(outbox.lines.map(String)).toEqual(['large']);
});

test('outboxes that share a keeper lose the oldest of the largest', () => {
  const keeper = new Keeper({ bytes: 6, lines: Infinity });
  const [small, large] = [new Outbox(keeper), new Outbox(keeper)];
  small.push(Buffer.from('s'));
  for (const line of ['11', '22', '33']) large.push(Buffer.from(line));

  expect(small.lines.map(String)).toEqual(['s']);
  expect(large.lines.map(String)).toEqual(['22', '33']);
});

test('one that is needed no more leaves its room to the others', () => {
  const keeper = new Keeper({ bytes: 4, lines: Infinity });
  const [over, other] = [new Outbox(keeper), new Outbox(keeper)];
  over.push(Buffer.from('1234'));
  over.forget();
  for (const line of ['ab', 'cd']) other.push(Buffer.from(line));

  expect(other.lines.map(String)).toEqual(['ab', 'cd']);
});

test('whatever happens, each line is given once and in order, or the loss is told', () => {
  const step = fc.oneof(
    fc.record({ push: fc.integer({ min: 1, max: 40 }) }),
    fc.constant('take' as const),
    fc.record({ back: fc.integer({ min: 0, max: 8 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 200 }), (steps, bytes) => {
      const outbox = new Outbox(new Keeper({ bytes, lines: 20 }));
      let pushed = 0;
      let received = 0;
      for (const each of steps) {
        if (each === 'take') {
          if (outbox.hasLost) continue;
          const next = outbox.take();
          if (next === undefined) {
            expect(received).toBe(pushed);
            continue;
          }
          expect(next.number).toBe(received + 1);
          expect(next.line.readUInt32LE()).toBe(next.number);
          received++;
        } else if ('push' in each) {
          const line = Buffer.alloc(4 + each.push);
          line.writeUInt32LE(++pushed);
          outbox.push(line);
        } else {
          const number = Math.max(0, received - each.back);
          const code = codeOf(() => outbox.goOnAfter(number));
          expect([undefined, 'GONE']).toContain(code);
          if (code === undefined) received = number;
          else expect(outbox.isWhole).toBe(false);
        }
        expect(outbox.unsentBytes).toBeGreaterThanOrEqual(0);
      }
    }),
  );
});

test('a number of messages is a number', () => {
  expect([receivedCount(undefined), receivedCount('0'), receivedCount('123')]).toEqual([undefined, 0, 123]);
  for (const text of ['', '-1', '1.5', 'x', '1'.repeat(16), ['1', '2']])
    expect(() => receivedCount(text)).toThrow(expect.objectContaining({ code: 'USAGE' }) as Error);
});
