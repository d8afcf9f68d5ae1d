import fc from 'fast-check';
import * as fields from '../../src/rpc/protocol/fields';
import type { PlanSource } from '../../src/rpc/json/wanted-places';
import { scan } from '../../src/rpc/message';
import { splice, type Line } from '../../src/rpc/splice';
import { runs } from '../support/properties';
import { mutated, valueText } from './json-text';
import { expectedOf, type Seen } from './json-tree';
import { messageText, plansOf, planSource, withLine } from './message-text';

/** Every tree of places that the proxy really uses. */
const realPlans: PlanSource[] = Object.values(fields);

const planAndLine = fc.oneof(
  { weight: realPlans.length, arbitrary: planSource.chain(withLine) },
  ...realPlans.map(withLine),
);
const update = messageText(fields.update);

describe('scan', () => {
  test('sees in any message what JSON.parse and a tree of the text show', () => {
    fc.assert(
      fc.property(planAndLine, ([plan, text]) => {
        const line = Buffer.from(text);

        expect(seenIn(line, plan)).toEqual(normal(expectedOf(line, plan)));
      }),
      runs,
    );
  });

  test('takes for JSON what JSON.parse takes for it, whatever the bytes', () => {
    fc.assert(
      fc.property(mutated(fc.oneof(update, valueText)), (line) => {
        expect(seenIn(line, fields.update)).toEqual(normal(expectedOf(line, fields.update)));
      }),
      runs,
    );
  });
});

describe('scan and splice', () => {
  test('change the places that were found and not one byte beside them', () => {
    fc.assert(
      fc.property(planAndLine, valueText, ([plan, text], replacement) => {
        const line = Buffer.from(text);
        const places = leavesOf(expectedOf(line, plan).fields);

        const { fields } = scan(line, plansOf(plan));
        const edits = leavesOf(fields).map(({ start, end }) => ({ start, end, text: replacement }));
        const spliced = splice(line, edits);

        expect(hex(spliced)).toBe(Buffer.from(`${replaced(line, places, replacement)}\n`).toString('hex'));
      }),
      runs,
    );
  });

  test('give back the very bytes when nothing is to be changed', () => {
    fc.assert(
      fc.property(mutated(update), (line) => expect(hex(splice(line, []))).toBe(`${line.toString('hex')}0a`)),
      runs,
    );
  });
});

type Place = Seen['fields'][number];

function seenIn(line: Buffer, plan: PlanSource): Seen {
  const { line: same, ...seen } = scan(line, plansOf(plan));
  expect(same).toBe(line);
  return normal(seen);
}

/** Where an id is only means something when there is one. */
function normal(seen: Seen): Seen {
  return seen.id === undefined ? { ...seen, idStart: -1, idEnd: -1 } : seen;
}

/** The places without those that hold others. */
function leavesOf(places: readonly Place[]): Place[] {
  return places.filter(
    (outer) => !places.some((inner) => inner.start > outer.start && inner.end < outer.end),
  );
}

function hex(line: Line): string {
  return (Buffer.isBuffer(line) ? line : Buffer.concat(line)).toString('hex');
}

function replaced(line: Buffer, places: readonly Place[], replacement: string): string {
  let text = '';
  let at = 0;
  for (const { start, end } of places) {
    text += line.subarray(at, start).toString() + replacement;
    at = end;
  }
  return text + line.subarray(at).toString();
}
