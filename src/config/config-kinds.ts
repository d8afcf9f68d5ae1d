/** The kinds of values that a config file has. */
import { posix } from 'node:path';
import { isFilePath } from '../system/real-path';

/** What paths in a file are relative to. All absolute. */
export interface Base {
  readonly folder: string;
  /** What `~` stands for. */
  readonly home: string;
}

export interface Kind<T> {
  /** Completes "must be ...". */
  readonly expected: string;
  /** The value as the program uses it; `undefined`: not of this kind. `base` counts for paths alone. */
  read(value: unknown, base?: Base): T | undefined;
  /** Of a value that is a list and not of this kind: the position of the first element that does not fit. */
  misfit?(value: unknown): number | undefined;
}

function kind<T>(expected: string, isOne: (value: unknown) => boolean): Kind<T> {
  return { expected, read: (value) => (isOne(value) ? (value as T) : undefined) };
}

export const text = kind<string>(
  'a string that is not empty',
  (value) => typeof value === 'string' && value !== '',
);

export const flag = kind<boolean>('true or false', (value) => typeof value === 'boolean');

/** A program and its arguments, started without a shell. */
export const command = kind<readonly [string, ...string[]]>(
  'a list of strings, the program first, such as ["prog", "--acp"]',
  (value) =>
    Array.isArray(value) &&
    // No system passes NUL on as part of an argument.
    value.every((part) => typeof part === 'string' && !part.includes('\0')) &&
    Boolean(value[0]),
);

export function oneOf<const T extends string>(...choices: readonly T[]): Kind<T> {
  const expected = choices.map((choice) => JSON.stringify(choice)).join(' or ');
  return kind(expected, (value) => choices.some((choice) => choice === value));
}

export function wholeNumber(least: number): Kind<number> {
  const isOne = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= least;
  return kind(`a whole number, at least ${least}`, isOne);
}

export function decimal(least: number): Kind<number> {
  const isOne = (value: unknown) => Number.isFinite(value) && (value as number) >= least;
  return kind(`a number, at least ${least}`, isOne);
}

/** A path, read as an absolute one without `.` and `..`. */
export const path: Kind<string> = {
  expected: 'a path: absolute, from "~/", or from the folder of this file',
  read: (value, base = { folder: '/', home: '/' }) => {
    if (typeof value !== 'string' || value === '') return undefined;
    const whole = /^~(?=\/|$)/.test(value) ? base.home + value.slice(1) : posix.join(base.folder, value);
    const absolute = posix.resolve(value.startsWith('/') ? value : whole);
    return isFilePath(absolute) ? absolute : undefined;
  },
};

/** A path that does not depend on where the file lies. */
export const absolutePath: Kind<string> = {
  expected: 'a path: absolute, or from "~/"',
  read: (value, base) => (/^(\/|~(\/|$))/.test(String(value)) ? path.read(value, base) : undefined),
};

export const url = kind<string>(
  'a URL that begins with "http://" or "https://"',
  (value) => typeof value === 'string' && /^https?:\/\/\S+$/.test(value) && URL.canParse(value),
);

export function matching(expected: string, form: RegExp): Kind<string> {
  return kind(expected, (value) => typeof value === 'string' && form.test(value));
}

/** A list of different strings that each pass `isElement`; it can be empty. */
export function listOf(expected: string, isElement: (element: string) => boolean): Kind<readonly string[]> {
  return listWith<string>(expected, (each) => typeof each === 'string' && isElement(each));
}

/** A list of at most so many different whole numbers from `least` to `greatest`; it can be empty. */
export function numbersOf(
  what: string,
  { least, greatest, most }: { readonly least: number; readonly greatest: number; readonly most: number },
): Kind<readonly number[]> {
  const expected = `a list of at most ${most} different ${what} from ${least} to ${greatest}`;
  const isOne = (value: unknown) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= greatest;
  return listWith<number>(expected, (each, index) => isOne(each) && index < most);
}

function listWith<T>(
  expected: string,
  isElement: (element: unknown, index: number) => boolean,
): Kind<readonly T[]> {
  const misfit = (value: unknown) =>
    Array.isArray(value)
      ? value.findIndex((each, index) => !isElement(each, index) || value.indexOf(each) < index)
      : undefined;
  return { ...kind(expected, (value) => misfit(value) === -1), misfit };
}

const durationUnitsMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const sizeUnitsBytes = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** A time, read as milliseconds, at most `most`. */
export function duration(most?: string): Kind<number> {
  const limit = most === undefined ? Number.MAX_SAFE_INTEGER : quantity(most, durationUnitsMs)!;
  return {
    expected: `a duration such as "10m" (whole number and s, m, h or d)${most === undefined ? '' : `, at most ${most}`}`,
    read: (value) => quantity(value, durationUnitsMs, 0, limit),
  };
}

/** An amount of memory, read as bytes, at least `least`. */
export function size(least: string): Kind<number> {
  const limit = quantity(least, sizeUnitsBytes)!;
  return {
    expected: `a size such as "64MiB" (whole number and KiB, MiB or GiB), at least ${least}`,
    read: (value) => quantity(value, sizeUnitsBytes, limit),
  };
}

/** `undefined` too for what is beyond exact arithmetic. */
function quantity(
  value: unknown,
  units: Readonly<Record<string, number>>,
  least = 0,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const [, digits, unit = ''] = /^(\d+)([A-Za-z]+)$/.exec(typeof value === 'string' ? value : '') ?? [];
  const amount = Object.hasOwn(units, unit) ? Number(digits) * units[unit]! : NaN;
  return amount >= least && amount <= most ? amount : undefined;
}
