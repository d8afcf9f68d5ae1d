/**
 * The walk over one JSON value: checks it against the whole grammar and reports where the places are
 * that a plan wants. It decodes nothing else and does not recurse, so no nesting is too deep.
 */
import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from './bytes';
import { beginBrackets, isObjectAt, openBracketAt } from './brackets';
import { scalarEnd, skipSpace } from './tokens';
import { stringEnd, unquote } from './string';
import type { Field, Plan } from './wanted-places';

/** Picks what is wanted of the outermost object's member with that index in the plan, at `start`. */
type MemberPlan = (index: number, start: number) => Plan | undefined;

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

  /**
   * The open brackets in which something is wanted, which are always the outermost ones. If there are as many as
   * `#depth`, something is wanted in the innermost bracket too.
   */
  readonly #frames: Frame[] = [];
  /** Offset of what is read next. */
  #at = 0;
  #state: State = State.value;
  /** How many brackets are open. */
  #depth = 0;
  /** The plan for the next value. */
  #wanted: Plan | undefined;
  /** The next value picks a variant. */
  #isTag = false;
  #memberPlan: MemberPlan | undefined;
  /** Index of the outermost object's wanted member that is being read; -1 for none. */
  #member = -1;

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
   */
  value(at: number, plan: Plan | undefined, memberPlan?: MemberPlan): number {
    this.#begin(at, plan, memberPlan);
    do {
      this.#at = skipSpace(this.text, this.#at);
      const state = this.#state;
      const isKey = state === State.key || state === State.firstKey;
      const isJson = isKey ? this.#key() : state === State.after ? this.#afterValue() : this.#value();
      if (!isJson) return -1;
    } while (this.#depth > 0 || this.#state !== State.after);
    return this.#at;
  }

  #begin(at: number, plan: Plan | undefined, memberPlan: MemberPlan | undefined): void {
    beginBrackets();
    this.#forgetLongest();
    this.#at = at;
    this.#memberPlan = memberPlan;
    this.#wanted = plan;
    this.#isTag = false;
    this.#state = State.value;
    this.#depth = 0;
    this.#member = -1;
  }

  /** Reads a key up to its value, or the end of an object without any. */
  #key(): boolean {
    const { text } = this;
    const at = this.#at;
    if (text[at] === closeBrace && this.#state === State.firstKey) {
      this.#state = State.after;
      return true;
    }
    const keyEnd = text[at] === quote ? stringEnd(text, at + 1) : -1;
    const colonAt = keyEnd < 0 ? -1 : skipSpace(text, keyEnd);
    if (colonAt < 0 || text[colonAt] !== colon) return false;
    this.#at = skipSpace(text, colonAt + 1);
    this.#wanted = undefined;
    this.#isTag = false;
    this.#state = State.value;
    if (this.#depth === 1) this.#member = -1;
    if (this.#depth !== this.#frames.length) return true;
    const frame = this.#frames[this.#depth - 1]!;
    const index = this.#meet(frame, at + 1, keyEnd - 1);
    if (index >= 0) this.#want(frame, index);
    return true;
  }

  /** What is wanted of the value of a key: the one with that index in the plan of its object. */
  #want(frame: Frame, index: number): void {
    if (this.#depth === 1 && this.#memberPlan !== undefined) {
      this.#member = index;
      this.memberStarts[index] = this.#at;
      this.#wanted = this.#memberPlan(index, this.#at);
      return;
    }
    const { plan } = frame;
    this.#wanted = plan.members[index];
    this.#isTag = index === plan.tag || index === plan.picker;
    if (index === plan.tag) this.#pickVariant(frame);
  }

  /** Reads what follows a value: a comma, or the end of the object or array that it is in. */
  #afterValue(): boolean {
    const c = this.text[this.#at];
    const inObject = isObjectAt(this.#depth - 1);
    const isTracked = this.#depth === this.#frames.length;
    if (c === comma) {
      this.#at++;
      this.#state = inObject ? State.key : State.value;
      this.#wanted = !inObject && isTracked ? this.#frames[this.#depth - 1]!.plan.each : undefined;
      return true;
    }
    if (c !== (inObject ? closeBrace : closeBracket)) return false;
    this.#at++;
    if (isTracked && !this.#leave(inObject)) return true;
    this.#depth--;
    this.#endMember();
    return true;
  }

  /** Reads a string, number or literal, or the beginning of an object or array, or the end of an empty array. */
  #value(): boolean {
    const { text } = this;
    const c = text[this.#at];
    const wanted = this.#wanted;
    if (c === openBrace || c === openBracket) {
      openBracketAt(this.#depth, c === openBrace);
      if (wanted !== undefined) this.#enter(wanted, this.#at);
      this.#wanted = c === openBracket ? wanted?.each : undefined;
      this.#depth++;
      this.#at++;
      this.#state = c === openBrace ? State.firstKey : State.firstElement;
      return true;
    }
    if (c === closeBracket && this.#state === State.firstElement) {
      this.#state = State.after;
      return true;
    }
    const start = this.#at;
    const end = c === quote ? stringEnd(text, start + 1) : scalarEnd(text, start);
    if (end < 0) return false;
    if (wanted?.kind !== undefined)
      this.fields.push({ kind: wanted.kind, start, end, isString: c === quote });
    else if (c === quote) this.#noteFree(start + 1, end - 1);
    this.#at = end;
    this.#state = State.after;
    this.#endMember();
    return true;
  }

  /** A string of which nothing is wanted. */
  #noteFree(start: number, end: number): void {
    const isInBody = this.#depth > 1 || this.#memberPlan === undefined;
    if (this.#isTag || !isInBody || end - start <= this.longestEnd - this.longestStart) return;
    this.longestStart = start;
    this.longestEnd = end;
  }

  /** A value has ended, which may be that of a wanted member. */
  #endMember(): void {
    if (this.#depth === 1 && this.#member >= 0) this.memberEnds[this.#member] = this.#at;
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
      // Some parsers ignore the case of keys: for them this is the wanted key.
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

  /** The tag's value comes next. If it picks a variant, the object is read by that plan from now on. */
  #pickVariant(frame: Frame): void {
    const at = this.#at;
    const end = this.text[at] === quote ? stringEnd(this.text, at + 1) : -1;
    const variant = end < 0 ? undefined : frame.plan.variants.get(unquote(this.text, at, end));
    if (variant === undefined) return;
    const { hasPassedKeys } = frame;
    this.#restart(frame, variant);
    if (hasPassedKeys) return;
    // No key has passed that the variant may want.
    frame.seen = 1 << variant.picker;
    this.#at = at;
    this.#state = State.value;
  }

  /** A tracked object or array has ended; false when it has to be read again, as the variant without a tag. */
  #leave(inObject: boolean): boolean {
    const frame = this.#frames.at(-1)!;
    const { plan } = frame;
    const hasTag = !inObject || plan.tag < 0 || (frame.seen & (1 << plan.tag)) !== 0;
    const absent = hasTag ? undefined : plan.variants.get('');
    if (absent !== undefined) {
      this.#restart(frame, absent);
      return false;
    }
    if (frame.field >= 0) this.fields[frame.field]!.end = this.#at;
    this.#frames.pop();
    return true;
  }

  /** Forgets what was found in an object, and reads it again from its start, by another plan. */
  #restart(frame: Frame, plan: Plan): void {
    if (this.fields.length > frame.fieldCount) this.fields.length = frame.fieldCount;
    frame.plan = plan;
    frame.seen = 0;
    frame.hasPassedKeys = false;
    this.#forgetLongest();
    this.#at = frame.start;
    this.#state = State.firstKey;
  }

  /** A string of which nothing was wanted may pick a variant by another plan. */
  #forgetLongest(): void {
    this.longestStart = 0;
    this.longestEnd = 0;
  }
}

function hasBackslash(text: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (text[at] === backslash) return true;
  return false;
}
