import fc from 'fast-check';
import * as fields from '../../src/rpc/protocol/fields';
import type { PlanSource } from '../../src/rpc/json/wanted-places';
import { scan } from '../../src/rpc/message';
import { Scanner } from '../../src/rpc/scanner';
import { runs } from '../support/properties';
import { mutated, stringText, valueText } from './json-text';
import { plansOf, planSource, withLine } from './message-text';

/** Every tree of places that the proxy really uses. */
const realPlans: PlanSource[] = Object.values(fields);
const anyString = /"(?:[^"\\]|\\.)*"/g;
/** Longer than any other, so that it is the one in which lines may differ. */
const long = `"${'-'.repeat(100)}"`;

/** A plan, and a message with a long string somewhere. */
const planAndLine = fc
  .oneof({ weight: realPlans.length, arbitrary: planSource.chain(withLine) }, ...realPlans.map(withLine))
  .chain(([plan, text]) => {
    const strings = [...text.matchAll(anyString)];
    return fc
      .nat(Math.max(0, strings.length - 1))
      .map((index) => [plan, replaced(text, strings[index], long)] as const);
  });

describe('Scanner', () => {
  test('sees in a line what scan sees, whatever string differs from the line before', () => {
    fc.assert(
      fc.property(
        planAndLine,
        fc.array(fc.oneof(stringText, valueText), { minLength: 1, maxLength: 3 }),
        ([plan, text], others) => {
          const scanner = new Scanner(plansOf(plan));
          const lines = [text, ...others.map((other) => text.replace(long, () => other)), text];

          for (const line of lines.map((each) => Buffer.from(each))) {
            expect(scanner.scan(line)).toEqual(scan(line, plansOf(plan)));
          }
        },
      ),
      runs,
    );
  });

  test('sees in a line what scan sees, whatever bytes differ from the line before', () => {
    fc.assert(
      fc.property(
        planAndLine.chain(([plan, text]) =>
          mutated(fc.constant(text)).map((line) => [plan, text, line] as const),
        ),
        ([plan, text, line]) => {
          const scanner = new Scanner(plansOf(plan));
          scanner.scan(Buffer.from(text));

          expect(scanner.scan(line)).toEqual(scan(line, plansOf(plan)));
        },
      ),
      runs,
    );
  });
});

function replaced(text: string, place: RegExpExecArray | undefined, other: string): string {
  if (place === undefined) return text;
  return text.slice(0, place.index) + other + text.slice(place.index + place[0].length);
}
