/**
 * What the scanner looks for in one JSON value: a tree of places, compiled from data so that keys can be
 * compared as bytes.
 */
import { backslash, capitalA, capitalZ, caseBit, lastAscii } from './bytes';
import { unquote } from './string';

/**
 * Places as data. A key is an object's member; `*` stands for each element of an array; `?name` holds one
 * tree per value of the member `name` of the same object (`''`: when that member is absent or empty), which
 * applies besides the object's other keys. A leaf is the kind under which the value there is reported; `=`
 * is that of a value of which something below is wanted too.
 */
export interface PlanSource {
  readonly [key: string]: PlanSource | string;
}

/** A wanted place. `[start, end)` is its JSON text, with the quotes of a string. */
export interface Field {
  /** The plan's word for it. */
  readonly kind: string;
  readonly start: number;
  /** Offset after its last byte. */
  readonly end: number;
  /** It is a string; else a number, literal, object or array. */
  readonly isString: boolean;
}

/** One value of the scanned JSON that something is wanted of: itself, or places below it. */
export class Plan {
  /** Kind to report the value under. */
  kind: string | undefined;
  /** Members of an object that are wanted, as UTF-8, and in the same order what is wanted of them. */
  readonly keys: Buffer[] = [];
  /** What is wanted of the value of each of `keys`; undefined: only that it stands once. */
  readonly members: (Plan | undefined)[] = [];
  /** What is wanted of each element of an array. */
  each: Plan | undefined;
  /** Index in `keys` of the member whose value picks a variant; -1 without variants. It can be wanted itself. */
  tag = -1;
  /** Of a variant: index in `keys` of the member whose value has picked it; else -1. */
  picker = -1;
  /** The keys as `fold` makes them. */
  readonly #folded: Buffer[] = [];
  /** By the tag's value, all that is wanted of the object then. `''`: the tag is absent. */
  readonly variants = new Map<string, Plan>();

  /** Index in `keys` of the key at `[start, end)` of `text`, or -1. */
  indexOf(text: Buffer, start: number, end: number): number {
    const length = end - start;
    for (let i = 0; i < this.keys.length; i++) {
      const key = this.keys[i]!;
      if (key.length !== length) continue;
      let at = 0;
      while (at < length && key[at] === text[start + at]) at++;
      if (at === length) return i;
    }
    return -1;
  }

  /**
   * Whether a key that is not in the plan, the string at `[start, end)` of `text`, is one for a parser that does
   * not look at case, as Go's: letters, and the two beyond ASCII that fold to ASCII.
   */
  hasInOtherCase(text: Buffer, start: number, end: number): boolean {
    for (let at = start; at < end; at++) {
      if (text[at]! > lastAscii || text[at] === backslash) {
        const folded = Buffer.from(fold(unquote(text, start, end)));
        return this.#folded.some((key) => key.equals(folded));
      }
    }
    return this.#folded.some((key) => isFolded(text, start + 1, end - 1, key));
  }

  /** Adds a wanted member, or one (`plan` undefined) that is only watched for duplicates. */
  add(key: string, plan: Plan | undefined): void {
    this.keys.push(Buffer.from(key));
    this.#folded.push(Buffer.from(fold(key)));
    this.members.push(plan);
  }
}

/** Whether the ASCII text at `[start, end)` is that key for `fold`. */
function isFolded(text: Buffer, start: number, end: number, key: Buffer): boolean {
  if (key.length !== end - start) return false;
  for (let i = 0; i < key.length; i++) {
    const c = text[start + i]!;
    const isCapital = c >= capitalA && c <= capitalZ;
    if ((isCapital ? c | caseBit : c) !== key[i]) return false;
  }
  return true;
}

function fold(key: string): string {
  return key.toLowerCase().replaceAll('\u017f', 's').replaceAll('\u212a', 'k');
}

const plans = new WeakMap<PlanSource, Plan>();

/** The compiled form of places, made once for each source. At most one `?name` an object, and at most 31 keys. */
export function wantedIn(source: PlanSource): Plan {
  const plan = plans.get(source) ?? compile(source);
  plans.set(source, plan);
  return plan;
}

function compile(source: PlanSource | string): Plan {
  const plan = new Plan();
  if (typeof source === 'string') {
    plan.kind = source;
    return plan;
  }
  const tagKey = Object.keys(source).find((key) => key.startsWith('?'));
  for (const [key, below] of Object.entries(source)) {
    if (key === '=') plan.kind = below as string;
    else if (key === '*') plan.each = compile(below);
    else if (key !== tagKey) plan.add(key, compile(below));
  }
  if (tagKey !== undefined) compileVariants(plan, source, tagKey);
  if (plan.keys.length > 31) throw new Error('a plan has more keys than bits to mark them');
  return plan;
}

function compileVariants(plan: Plan, source: PlanSource, tagKey: string): void {
  const { [tagKey]: variants, ...common } = source;
  const tag = tagKey.slice(1);
  plan.tag = addOnce(plan, tag);
  for (const [value, below] of Object.entries(variants as PlanSource)) {
    const variant = compile({ ...common, ...(below as PlanSource) });
    variant.picker = addOnce(variant, tag);
    plan.variants.set(value, variant);
  }
}

/** Watches a key, if nothing is wanted of it yet; returns its index. */
function addOnce(plan: Plan, key: string): number {
  const index = plan.keys.findIndex((known) => known.toString() === key);
  if (index >= 0) return index;
  plan.add(key, undefined);
  return plan.keys.length - 1;
}
