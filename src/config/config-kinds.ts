/** The kinds of values that a config file has. */
import { posix } from 'node:path';
import { isFilePath } from '../system/real-path';

/** What paths in a file are relative to. All absolute. */
export interface Base {
  /** The folder that the file lies in. */
  readonly folder: string;
  /** What `~` stands for. */
  readonly home: string;
}

/** How a value is read. */
export interface Kind<T> {
  /** Completes "must be ...". */
  readonly expected: string;
  /** The value as the program uses it; `undefined`: not of this kind. `base` counts for paths alone. */
  read(value: unknown, base?: Base): T | undefined;
  /** Of a value that is a list and not of this kind: the position of the first element that does not fit. */
  misfit?(value: unknown): number | undefined;
}

/** A string that is not empty. */
export const text: Kind<string> = {
  expected: 'a string that is not empty',
  read: (value) => (typeof value === 'string' && value !== '' ? value : undefined),
};

/** `true` or `false`. */
export const flag: Kind<boolean> = {
  expected: 'true or false',
  read: (value) => (typeof value === 'boolean' ? value : undefined),
};

/** A program and its arguments, started without a shell. */
export const command: Kind<readonly [string, ...string[]]> = {
  expected: 'a list of strings, the program first, such as ["prog", "--acp"]',
  read: (value) => {
    if (!Array.isArray(value)) return undefined;
    // No system passes NUL on as part of an argument.
    if (!value.every((part): part is string => typeof part === 'string' && !part.includes('\0')))
      return undefined;
    const [program, ...args] = value;
    return program === undefined || program === '' ? undefined : [program, ...args];
  },
};

/** One of these strings. */
export function oneOf<const T extends string>(...choices: readonly T[]): Kind<T> {
  return {
    expected: choices.map((choice) => JSON.stringify(choice)).join(' or '),
    read: (value) => choices.find((choice) => choice === value),
  };
}

/** A whole number. */
export function wholeNumber(least: number): Kind<number> {
  return {
    expected: `a whole number, at least ${least}`,
    read: (value) =>
      Number.isSafeInteger(value) && (value as number) >= least ? (value as number) : undefined,
  };
}

/** A number, also one with a fraction. */
export function decimal(least: number): Kind<number> {
  return {
    expected: `a number, at least ${least}`,
    read: (value) => (Number.isFinite(value) && (value as number) >= least ? (value as number) : undefined),
  };
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

/** The address of a server that speaks HTTP. */
export const url: Kind<string> = {
  expected: 'a URL that begins with "http://" or "https://"',
  read: (value) =>
    typeof value === 'string' && /^https?:\/\/\S+$/.test(value) && URL.canParse(value) ? value : undefined,
};

/** A string of that form. */
export function matching(expected: string, form: RegExp): Kind<string> {
  return { expected, read: (value) => (typeof value === 'string' && form.test(value) ? value : undefined) };
}

/** A list of different strings that each pass `isElement`; it can be empty. */
export function listOf(expected: string, isElement: (element: string) => boolean): Kind<readonly string[]> {
  return {
    expected,
    read: (value) => {
      if (!Array.isArray(value) || new Set(value).size < value.length) return undefined;
      return value.every((element): element is string => typeof element === 'string' && isElement(element))
        ? value
        : undefined;
    },
    misfit: (value) => {
      if (!Array.isArray(value)) return undefined;
      return value.findIndex(
        (each, index) => typeof each !== 'string' || !isElement(each) || value.indexOf(each) < index,
      );
    },
  };
}

const durationUnitsMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const sizeUnitsBytes = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** A time, read as milliseconds, at most `most`. */
export function duration(most?: string): Kind<number> {
  const limit = most === undefined ? Number.MAX_SAFE_INTEGER : quantity(most, durationUnitsMs)!;
  return {
    expected: `a duration such as "10m" (whole number and s, m, h or d)${most === undefined ? '' : `, at most ${most}`}`,
    read: (value) => {
      const ms = quantity(value, durationUnitsMs);
      return ms !== undefined && ms <= limit ? ms : undefined;
    },
  };
}

/** An amount of memory, read as bytes, at least `least`. */
export function size(least: string): Kind<number> {
  const limit = quantity(least, sizeUnitsBytes)!;
  return {
    expected: `a size such as "64MiB" (whole number and KiB, MiB or GiB), at least ${least}`,
    read: (value) => {
      const bytes = quantity(value, sizeUnitsBytes);
      return bytes !== undefined && bytes >= limit ? bytes : undefined;
    },
  };
}

/** `undefined` too for what is beyond exact arithmetic. */
function quantity(value: unknown, units: Readonly<Record<string, number>>): number | undefined {
  if (typeof value !== 'string') return undefined;
  const [, digits, unit] = /^(\d+)([A-Za-z]+)$/.exec(value) ?? [];
  if (digits === undefined || unit === undefined || !Object.hasOwn(units, unit)) return undefined;
  const amount = Number(digits) * units[unit]!;
  return Number.isSafeInteger(amount) ? amount : undefined;
}
