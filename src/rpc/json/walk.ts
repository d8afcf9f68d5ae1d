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
  /** Index of its entry in the fields, -1 if it is not wanted itself. */
  readonly field: number;
}

/** Starts and ends of members that have not been met; a copy of it is made faster than an array is filled. */
const nowhere = [-1, -1, -1, -1, -1, -1];
/** With more, a walk stops: each takes many times what stands there, and only a line that is to fill the memory has them. */
const maxFields = 100_000;

/*
 * Where the walk that runs stands. A walk runs without a break, so all walks share this, and none has to make it.
 */

/**
 * The open brackets in which something is wanted, which are always the outermost ones. If there are as many as `depth`,
 * something is wanted in the innermost bracket too.
 */
const frames: Frame[] = [];
let at = 0;
let state: State = State.value;
let depth = 0;
let wanted: Plan | undefined;
/** The next value picks a variant. */
let isTag = false;
let memberPlan: MemberPlan | undefined;
/** Index of the outermost object's wanted member that is being read; -1 outside of them. */
let member = -1;

/** The walk over the values of one line. */
export class Walk {
  /** What was found, in the order of the starts. */
  readonly fields: { -readonly [K in keyof Field]: Field[K] }[] = [];
  /** A wanted key stands twice (after unescaping) in an object: two parsers could read it differently. */
  hasDuplicate = false;
  /** There were more than `maxFields`. */
  hasTooMany = false;
  /** Where the outermost object's wanted members lie, by index in the plan; -1 when absent. */
  readonly memberStarts: number[];
  /** Offsets after those members. */
  readonly memberEnds: number[];

  /** Where the content of the longest string value in the body lies that is not wanted and picks no variant. */
  longestStart = 0;
  /** Offset after that. */
  longestEnd = 0;

  /** `memberCount`: how many members the plan of the outermost object has, if they are asked for. */
  constructor(
    readonly text: Buffer,
    memberCount = 0,
  ) {
    this.memberStarts = nowhere.slice(0, memberCount);
    this.memberEnds = nowhere.slice(0, memberCount);
  }

  /**
   * Reads the value at `start`. With `planOfMember`, the value is the message itself and each of its wanted
   * members is noted. Returns the offset after the value, or -1 when it is not JSON.
   */
  value(start: number, plan: Plan | undefined, planOfMember?: MemberPlan): number {
    this.#begin(start, plan, planOfMember);
    let isJson: boolean;
    do {
      at = skipSpace(this.text, at);
      const isKey = state === State.key || state === State.firstKey;
      isJson = isKey ? this.#key() : state === State.after ? this.#afterValue() : this.#value();
      if (this.fields.length > maxFields) [isJson, this.hasTooMany] = [false, true];
    } while (isJson && (depth > 0 || state !== State.after));
    // It may hold the line.
    memberPlan = undefined;
    return isJson ? at : -1;
  }

  #begin(start: number, plan: Plan | undefined, planOfMember: MemberPlan | undefined): void {
    beginBrackets();
    this.#forgetLongest();
    at = start;
    memberPlan = planOfMember;
    frames.length = 0;
    wanted = plan;
    isTag = false;
    state = State.value;
    depth = 0;
    member = -1;
  }

  /** Reads a key up to its value, or the end of an object without any. */
  #key(): boolean {
    const { text } = this;
    if (text[at] === closeBrace && state === State.firstKey) {
      state = State.after;
      return true;
    }
    const start = at + 1;
    const keyEnd = text[at] === quote ? stringEnd(text, start) : -1;
    const colonAt = keyEnd < 0 ? -1 : skipSpace(text, keyEnd);
    if (colonAt < 0 || text[colonAt] !== colon) return false;
    at = skipSpace(text, colonAt + 1);
    wanted = undefined;
    isTag = false;
    state = State.value;
    if (depth === 1) member = -1;
    if (depth !== frames.length) return true;
    const frame = frames[depth - 1]!;
    const index = this.#meet(frame, start, keyEnd - 1);
    if (index >= 0) this.#want(frame, index);
    return true;
  }

  /** What is wanted of the value of a key: the one with that index in the plan of its object. */
  #want(frame: Frame, index: number): void {
    if (depth === 1 && memberPlan !== undefined) {
      member = index;
      this.memberStarts[index] = at;
      wanted = memberPlan(index, at);
      return;
    }
    const { plan } = frame;
    wanted = plan.members[index];
    isTag = index === plan.tag || index === plan.picker;
    if (index === plan.tag) this.#pickVariant(frame);
  }

  /** Reads what follows a value: a comma, or the end of the object or array that it is in. */
  #afterValue(): boolean {
    const c = this.text[at];
    const inObject = isObjectAt(depth - 1);
    const isTracked = depth === frames.length;
    if (c === comma) {
      at++;
      state = inObject ? State.key : State.value;
      wanted = !inObject && isTracked ? frames[depth - 1]!.plan.each : undefined;
      return true;
    }
    if (c !== (inObject ? closeBrace : closeBracket)) return false;
    at++;
    if (isTracked && !this.#leave(inObject)) return true;
    depth--;
    this.#endMember();
    return true;
  }

  /** Reads a string, number or literal, or the beginning of an object or array, or the end of an empty array. */
  #value(): boolean {
    const { text } = this;
    const c = text[at];
    const plan = wanted;
    if (c === openBrace || c === openBracket) {
      openBracketAt(depth, c === openBrace);
      if (plan !== undefined) this.#enter(plan);
      wanted = c === openBracket ? plan?.each : undefined;
      depth++;
      at++;
      state = c === openBrace ? State.firstKey : State.firstElement;
      return true;
    }
    if (c === closeBracket && state === State.firstElement) {
      state = State.after;
      return true;
    }
    const start = at;
    const end = c === quote ? stringEnd(text, start + 1) : scalarEnd(text, start);
    if (end < 0) return false;
    if (plan?.kind !== undefined) this.fields.push({ kind: plan.kind, start, end, isString: c === quote });
    else if (c === quote) this.#noteFree(start + 1, end - 1);
    at = end;
    state = State.after;
    this.#endMember();
    return true;
  }

  /** A string of which nothing is wanted. */
  #noteFree(start: number, end: number): void {
    const isInBody = depth > 1 || memberPlan === undefined;
    if (isTag || !isInBody || end - start <= this.longestEnd - this.longestStart) return;
    this.longestStart = start;
    this.longestEnd = end;
  }

  /** A value has ended, which may be that of a wanted member. */
  #endMember(): void {
    if (depth === 1 && member >= 0) this.memberEnds[member] = at;
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
  #enter(plan: Plan): void {
    const { fields } = this;
    const field = plan.kind === undefined ? -1 : fields.length;
    if (plan.kind !== undefined) fields.push({ kind: plan.kind, start: at, end: -1, isString: false });
    const fieldCount = fields.length;
    frames.push({ plan, start: at + 1, fieldCount, seen: 0, hasPassedKeys: false, field });
  }

  /** The tag's value comes next. If it picks a variant, the object is read by that plan from now on. */
  #pickVariant(frame: Frame): void {
    const start = at;
    const end = this.text[at] === quote ? stringEnd(this.text, at + 1) : -1;
    const variant = end < 0 ? undefined : frame.plan.variants.get(unquote(this.text, start, end));
    if (variant === undefined) return;
    const { hasPassedKeys } = frame;
    this.#restart(frame, variant);
    if (hasPassedKeys) return;
    // No key has passed that the variant may want.
    frame.seen = 1 << variant.picker;
    at = start;
    state = State.value;
  }

  /** A tracked object or array has ended; false when it has to be read again, as the variant without a tag. */
  #leave(inObject: boolean): boolean {
    const frame = frames.at(-1)!;
    const { plan } = frame;
    const hasTag = !inObject || plan.tag < 0 || (frame.seen & (1 << plan.tag)) !== 0;
    const absent = hasTag ? undefined : plan.variants.get('');
    if (absent !== undefined) {
      this.#restart(frame, absent);
      return false;
    }
    if (frame.field >= 0) this.fields[frame.field]!.end = at;
    frames.pop();
    return true;
  }

  /** Forgets what was found in an object, and reads it again from its start, by another plan. */
  #restart(frame: Frame, plan: Plan): void {
    if (this.fields.length > frame.fieldCount) this.fields.length = frame.fieldCount;
    frame.plan = plan;
    frame.seen = 0;
    frame.hasPassedKeys = false;
    this.#forgetLongest();
    at = frame.start;
    state = State.firstKey;
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
