/**
 * The walk over one JSON value: checks it against the whole grammar and reports where the places are
 * that a plan wants. It decodes nothing else and does not recurse, so no nesting is too deep.
 */
import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from './bytes';
import { scalarEnd, skipSpace } from './tokens';
import { stringEnd, unquote } from './string';
import type { Plan } from './wanted-places';

/** A wanted place. `[start, end)` is its JSON text, with the quotes of a string. */
export interface Field {
  /** The plan's word for it. */
  readonly kind: string;
  /** Offset of its first byte. */
  readonly start: number;
  /** Offset after its last byte. */
  readonly end: number;
  /** It is a string; else a number, literal, object or array. */
  readonly isString: boolean;
}

/** Picks what is wanted of the outermost object's member with that index in the plan, at `start`. */
export type MemberPlan = (index: number, start: number) => Plan | undefined;

const enum State {
  /** A value must come. */
  value,
  /** As `value`, or the end of the array that just began. */
  firstElement,
  /** A key must come. */
  key,
  /** As `key`, or the end of the object that just began. */
  firstKey,
  /** A value has ended. */
  after,
}

/** An object or array in which something is wanted. */
interface Frame {
  plan: Plan;
  /** Where its content begins, after the bracket. */
  readonly start: number;
  /** How many fields there were before its content. */
  readonly fieldCount: number;
  /** Bits of the plan's keys that were met. */
  seen: number;
  /** A key that is not the tag was met. */
  hasPassedKeys: boolean;
  /** Index of its own entry in the fields, -1 if it is not wanted itself. */
  readonly field: number;
}

/** Starts and ends of members that have not been met; a copy of it is made faster than an array is filled. */
const nowhere = [-1, -1, -1, -1, -1, -1];

/** One bit per open bracket, set for objects. A walk runs without a break, so all walks share it. */
const usualDepth = 256;
const maxKeptDepth = 64 * 1024;
let isObject = new Uint8Array(usualDepth);

/** The walk over the values of one line. */
export class Walk {
  /** What was found, in the order of the starts. */
  readonly fields: { -readonly [K in keyof Field]: Field[K] }[] = [];
  /** A wanted key stands twice (after unescaping) in an object: two parsers could read it differently. */
  hasDuplicate = false;
  /** Where the outermost object's wanted members lie, by index in the plan; -1 when absent. */
  readonly memberStarts: number[];
  /** Offsets after those members. */
  readonly memberEnds: number[];

  /** Where the content of the longest string value in the body lies that is not wanted and picks no variant. */
  longestStart = 0;
  /** Offset after that. */
  longestEnd = 0;

  readonly #frames: Frame[] = [];

  /** `memberCount`: how many members the plan of the outermost object has, if they are asked for. */
  constructor(
    readonly text: Buffer,
    memberCount = 0,
  ) {
    this.memberStarts = nowhere.slice(0, memberCount);
    this.memberEnds = nowhere.slice(0, memberCount);
  }

  /**
   * Reads the value at `at`. With `memberPlan`, the value is the message itself and each of its wanted
   * members is noted. Returns the offset after the value, or -1 when it is not JSON.
   *
   * One loop over a state machine, kept whole though it is long, because it runs for every byte. `wanted`: the plan
   * for the next value. `frames`: the open brackets in which something is wanted, always the outermost ones, so that
   * `depth === frames.length` means that something is wanted in the innermost bracket.
   */
  value(at: number, plan: Plan | undefined, memberPlan?: MemberPlan): number {
    const { text } = this;
    const frames = this.#frames;
    this.#forgetLongest();
    // An earlier line, nested millions deep, may have grown it.
    if (isObject.length > maxKeptDepth) isObject = new Uint8Array(usualDepth);
    let wanted = plan;
    let state = State.value;
    let depth = 0;
    let member = -1;
    let isTag = false;
    for (;;) {
      at = skipSpace(text, at);
      const c = text[at];
      if (state === State.key || state === State.firstKey) {
        if (c === closeBrace && state === State.firstKey) {
          state = State.after;
          continue;
        }
        if (c !== quote) return -1;
        const keyStart = at + 1;
        const keyEnd = stringEnd(text, keyStart);
        if (keyEnd < 0) return -1;
        at = skipSpace(text, keyEnd);
        if (text[at] !== colon) return -1;
        at = skipSpace(text, at + 1);
        wanted = undefined;
        isTag = false;
        state = State.value;
        if (depth === 1) member = -1;
        if (depth !== frames.length) continue;
        const frame = frames[depth - 1]!;
        const index = this.#meet(frame, keyStart, keyEnd - 1);
        if (index < 0) continue;
        if (depth === 1 && memberPlan !== undefined) {
          member = index;
          this.memberStarts[index] = at;
          wanted = memberPlan(index, at);
        } else {
          wanted = frame.plan.members[index];
          isTag = index === frame.plan.tag || index === frame.plan.picker;
          if (index === frame.plan.tag && this.#pickVariant(frame, at)) {
            at = frame.start;
            state = State.firstKey;
          }
        }
      } else if (state === State.after) {
        const inObject = isObject[depth - 1] === 1;
        if (c === comma) {
          at++;
          state = inObject ? State.key : State.value;
          wanted = !inObject && depth === frames.length ? frames[depth - 1]!.plan.each : undefined;
          continue;
        }
        if (c !== (inObject ? closeBrace : closeBracket)) return -1;
        at++;
        if (depth === frames.length && this.#leave(at, inObject)) {
          at = frames[depth - 1]!.start;
          state = State.firstKey;
          continue;
        }
        depth--;
        if (depth === 0) return at;
        if (depth === 1 && member >= 0) this.memberEnds[member] = at;
      } else if (c === openBrace || c === openBracket) {
        if (depth === isObject.length) growStack();
        isObject[depth] = c === openBrace ? 1 : 0;
        if (wanted !== undefined) this.#enter(wanted, at);
        wanted = c === openBracket ? wanted?.each : undefined;
        depth++;
        at++;
        state = c === openBrace ? State.firstKey : State.firstElement;
      } else if (c === closeBracket && state === State.firstElement) {
        state = State.after;
      } else {
        const start = at;
        at = c === quote ? stringEnd(text, at + 1) : scalarEnd(text, at);
        if (at < 0) return -1;
        if (wanted?.kind === undefined) {
          const isFree = c === quote && !isTag && (depth > 1 || memberPlan === undefined);
          if (isFree && at - start - 2 > this.longestEnd - this.longestStart) {
            this.longestStart = start + 1;
            this.longestEnd = at - 1;
          }
        } else {
          this.fields.push({ kind: wanted.kind, start, end: at, isString: c === quote });
        }
        if (depth === 0) return at;
        if (depth === 1 && member >= 0) this.memberEnds[member] = at;
        state = State.after;
      }
    }
  }

  /** Notes a key of a tracked object; returns its index in the plan, or -1. */
  #meet(frame: Frame, start: number, end: number): number {
    let index = frame.plan.indexOf(this.text, start, end);
    if (index < 0 && hasBackslash(this.text, start, end)) {
      const key = Buffer.from(unquote(this.text, start - 1, end + 1));
      index = frame.plan.indexOf(key, 0, key.length);
    }
    if (index !== frame.plan.tag) frame.hasPassedKeys = true;
    if (index < 0) {
      // Some parsers do not look at the case of keys: for them it is the one that is wanted.
      if (frame.plan.hasInOtherCase(this.text, start - 1, end + 1)) this.hasDuplicate = true;
      return -1;
    }
    if (frame.seen & (1 << index)) this.hasDuplicate = true;
    frame.seen |= 1 << index;
    return index;
  }

  /** An object or array begins of which something is wanted. */
  #enter(plan: Plan, at: number): void {
    const { fields } = this;
    const field = plan.kind === undefined ? -1 : fields.length;
    if (plan.kind !== undefined) fields.push({ kind: plan.kind, start: at, end: -1, isString: false });
    const fieldCount = fields.length;
    this.#frames.push({ plan, start: at + 1, fieldCount, seen: 0, hasPassedKeys: false, field });
  }

  /**
   * The tag's value is at `at`. If it picks a variant, the object is read with that from now on; true
   * when it has to be read again from its start, because keys have passed that the variant may want.
   */
  #pickVariant(frame: Frame, at: number): boolean {
    if (this.text[at] !== quote) return false;
    const end = stringEnd(this.text, at + 1);
    const variant = end < 0 ? undefined : frame.plan.variants.get(unquote(this.text, at, end));
    if (variant === undefined) return false;
    const hasPassedKeys = frame.hasPassedKeys;
    this.#restart(frame, variant);
    if (!hasPassedKeys) frame.seen = 1 << variant.picker;
    return hasPassedKeys;
  }

  /** A tracked object or array has ended before `at`; true when it has to be read again as a variant. */
  #leave(at: number, inObject: boolean): boolean {
    const frame = this.#frames.at(-1)!;
    const { plan } = frame;
    const hasTag = !inObject || plan.tag < 0 || (frame.seen & (1 << plan.tag)) !== 0;
    const absent = hasTag ? undefined : plan.variants.get('');
    if (absent !== undefined) {
      this.#restart(frame, absent);
      return true;
    }
    if (frame.field >= 0) this.fields[frame.field]!.end = at;
    this.#frames.pop();
    return false;
  }

  /** By another plan, it may pick a variant. */
  #forgetLongest(): void {
    this.longestStart = 0;
    this.longestEnd = 0;
  }

  /** Forgets what was found in an object, to read it by another plan. */
  #restart(frame: Frame, plan: Plan): void {
    if (this.fields.length > frame.fieldCount) this.fields.length = frame.fieldCount;
    frame.plan = plan;
    frame.seen = 0;
    this.#forgetLongest();
    frame.hasPassedKeys = false;
  }
}

function hasBackslash(text: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (text[at] === backslash) return true;
  return false;
}

function growStack(): void {
  const larger = new Uint8Array(isObject.length * 2);
  larger.set(isObject);
  isObject = larger;
}
