/** Arbitrary messages as text, shaped so that what a plan wants is likely to be in them. */
import fc from 'fast-check';
import { wantedIn, type PlanSource } from '../../src/rpc/json/wanted-places';
import type { Plans } from '../../src/rpc/message';
import { memberText, numberText, objectText, space, spelled, stringText, valueText } from './json-text';
import { memberPlans } from './json-tree';

const kind = fc.constantFrom('path', 'session', 'uri');

/** Arbitrary plans. Keys are few, so that the same ones are met at many places. */
export const planSource: fc.Arbitrary<PlanSource> = fc.letrec<{
  plan: PlanSource;
  below: PlanSource | string;
}>((tie) => {
  const keys = (pool: readonly string[]) =>
    fc.dictionary(fc.constantFrom(...pool), tie('below'), { maxKeys: 3, noNullPrototype: true });
  const variants = fc.dictionary(fc.constantFrom('x', 'y', ''), keys(['v', 'w', 'content']), {
    minKeys: 1,
    noNullPrototype: true,
  });
  const more = fc.record({ '=': kind, '*': tie('below'), '?type': variants }, { requiredKeys: [] });
  return {
    below: fc.oneof({ maxDepth: 2 }, { weight: 2, arbitrary: kind }, tie('plan')),
    plan: fc.tuple(keys(['a', 'é', 'sessionId', 'content']), more).map(([a, b]) => ({ ...a, ...b })),
  };
}).plan;

/** A line that is mostly a request, notification or response, with `plan` for its params, result or error. */
export function messageText(plan: PlanSource | string): fc.Arbitrary<string> {
  const body = valueFor(plan);
  const version = fc.oneof({ weight: 15, arbitrary: spelled('2.0') }, { weight: 1, arbitrary: valueText });
  const id = fc.oneof({ weight: 5, arbitrary: stringText }, { weight: 5, arbitrary: numberText }, valueText);
  const method = fc.oneof({ weight: 9, arbitrary: stringText }, { weight: 1, arbitrary: valueText });
  const forms = [
    { id, method, params: body },
    { method, params: body },
    { id, result: body },
    { id, error: body },
  ].map((form) => ({ weight: 4, arbitrary: objectOf({ jsonrpc: version, ...form }) }));
  const all = objectOf({ jsonrpc: version, id, method, params: body, result: body, error: body });
  const message = fc.oneof(...forms, all);
  return fc.tuple(space, message, space).map((parts) => parts.join(''));
}

/** A value that is mostly of the form in which the plan's places are met. */
export function valueFor(plan: PlanSource | string): fc.Arbitrary<string> {
  const fitting = typeof plan === 'string' ? stringText : containerFor(plan);
  return fc.oneof({ weight: 9, arbitrary: fitting }, { weight: 1, arbitrary: valueText });
}

function containerFor(plan: PlanSource): fc.Arbitrary<string> {
  const each = plan['*'];
  const members = memberPlans(plan);
  const object = objectFor(members);
  if (each === undefined) return object;
  const array = fc.array(valueFor(each), { maxLength: 3 }).map((items) => `[${items.join(',')}]`);
  return Object.keys(members).length === 0 ? array : fc.oneof(array, object);
}

function objectFor(members: PlanSource): fc.Arbitrary<string> {
  const tagKey = Object.keys(members).find((key) => key.startsWith('?'));
  if (tagKey === undefined) return objectOf(textsOf(members));
  const { [tagKey]: variants, ...common } = members;
  const forms = Object.entries(variants as PlanSource).map(([name, below]) => {
    const tag = name === '' ? {} : { [tagKey.slice(1)]: spelled(name) };
    return objectOf({ ...textsOf({ ...common, ...(below as PlanSource) }), ...tag });
  });
  return fc.oneof(...forms, objectOf({ ...textsOf(common), [tagKey.slice(1)]: valueText }));
}

function textsOf(members: PlanSource): Record<string, fc.Arbitrary<string>> {
  return Object.fromEntries(Object.entries(members).map(([key, below]) => [key, valueFor(below)]));
}

/** A key, seldom in capitals. */
function named(key: string): fc.Arbitrary<string> {
  const capitals = { weight: 1, arbitrary: spelled(key.toUpperCase()) };
  return fc.oneof({ weight: 60, arbitrary: spelled(key) }, capitals);
}

/** An object with these members in any order; some may be missing, some stand twice, others be added. */
function objectOf(members: Record<string, fc.Arbitrary<string>>): fc.Arbitrary<string> {
  const wanted = Object.entries(members).map(([key, value]) => memberText(named(key), value));
  const other = memberText(fc.oneof(stringText, spelled('_meta'), spelled('type')), valueText);
  const again = wanted.length === 0 ? other : fc.oneof(...wanted);
  return fc
    .tuple(
      fc.tuple(...wanted),
      fc.array(other, { maxLength: 2 }),
      fc.oneof(
        { weight: 20, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: again.map((one) => [one]) },
      ),
    )
    .chain(([all, others, twice]) => {
      const list = [...all, ...others, ...twice];
      return fc.oneof(
        { weight: 6, arbitrary: fc.shuffledSubarray(list, { minLength: list.length }) },
        { weight: 1, arbitrary: fc.shuffledSubarray(list) },
      );
    })
    .chain(objectText);
}

/** A plan with a line that is mostly for it. */
export function withLine(plan: PlanSource): fc.Arbitrary<[PlanSource, string]> {
  return messageText(plan).map((text) => [plan, text]);
}

/** One plan for params, results and errors. */
export function plansOf(source: PlanSource): Plans {
  const plan = wantedIn(source);
  return { params: () => plan, result: () => plan, error: plan };
}
