import fc from 'fast-check';
import { UnprovenLines } from '../../../src/served/client/unproven';
import { runs } from '../../support/properties';

const lines = fc.array(
  fc.string({ maxLength: 8 }).map((text) => Buffer.from(text)),
  { maxLength: 12 },
);
/** Messages are added, or an end tells how many it has: so many more than is known, or fewer. */
const steps = fc.array(fc.oneof(lines, fc.integer({ min: -3, max: 14 })), { maxLength: 20 });

describe('unproven messages', () => {
  test('are those that were added and not proven, under their numbers', () => {
    fc.assert(
      fc.property(steps, (given) => {
        const unproven = new UnprovenLines();
        const all: Buffer[] = [];
        let proven = 0;
        for (const step of given) {
          if (typeof step === 'number') {
            const count = proven + step;
            const isPossible = step >= 0 && count <= all.length;
            expect(unproven.prove(count)).toBe(isPossible);
            if (isPossible) proven = count;
          } else {
            for (const line of step) unproven.add(line);
            all.push(...step);
          }
          const kept = all.slice(proven);
          expect(unproven.last).toBe(all.length);
          expect(unproven.proven).toBe(proven);
          expect(unproven.bytes).toBe(Buffer.concat(kept).length);
          for (let number = -1; number <= all.length + 1; number++)
            expect(unproven.at(number)).toBe(number > proven ? all[number - 1] : undefined);
        }
      }),
      runs,
    );
  });

  test.each([NaN, 0.5, -1, Infinity])('are proven by whole numbers alone, not by %p', (count) => {
    const unproven = new UnprovenLines();
    unproven.add(Buffer.from('a'));

    expect(unproven.prove(count)).toBe(false);
  });
});

/**
 * Two ends that a test connects by sockets which lose what is on its way: what one end has sent reaches the other once
 * and in order, if it sends again what the other says that it does not have.
 */
test('nothing is lost or repeated, wherever sockets break and pongs get lost', () => {
  const event = fc.oneof(
    fc.record({ kind: fc.constant('send' as const), count: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ kind: fc.constant('arrive' as const), count: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ kind: fc.constant('pong' as const), count: fc.nat(4) }),
    fc.record({ kind: fc.constant('break' as const), count: fc.constant(0) }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const unproven = new UnprovenLines();
      const received: string[] = [];
      let next = 1;
      let arrived = 0;
      for (const { kind, count } of [...events, { kind: 'break' as const, count: 0 }]) {
        if (kind === 'send') {
          for (let n = 0; n < count; n++) unproven.add(Buffer.from(String(unproven.last + 1)));
          next = unproven.last + 1;
        } else if (kind === 'arrive') {
          for (let n = 0; n < count && arrived < next - 1; n++)
            received.push(unproven.at(++arrived)!.toString());
        } else if (kind === 'pong') {
          // An earlier one may come late.
          unproven.prove(Math.max(arrived - count, 0));
        } else {
          expect(unproven.prove(arrived)).toBe(true);
        }
      }
      while (unproven.at(arrived + 1) !== undefined) received.push(unproven.at(++arrived)!.toString());

      expect(received).toEqual(Array.from({ length: unproven.last }, (_, index) => String(index + 1)));
    }),
    runs,
  );
});
