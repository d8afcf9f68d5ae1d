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
