/** Variables in the values of Compose files. Source: Compose Specification, "Interpolation". */
import { posix } from 'node:path';
import { parseEnv } from 'node:util';
import { CaiError } from '../../../errors';
import { quoted } from '../../../system/quoted';
import { withTexts, type Json } from '../json';

/** `$$`, `$NAME`, `${NAME}`, or with `-`, `?` or `+`, perhaps behind `:`, and text, in which one more can be. */
const form = /\$(?:\$|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?)([-?+])((?:[^{}]|\$\{[^{}]*\})*))?\})/g;

/** Longest text that all files and values together become: a short file can name a long value often. */
const maxLength = 2 ** 20;
/** Longest file with variables, in characters: somebody waits while it is parsed, with lines of one word for very long. */
const maxFileLength = 2 ** 16;

/** The text of a file; `undefined`: it does not exist. Fails with `CaiError('CONFIG')` for one outside the workspace. */
export type Read = (path: string) => string | undefined;

/** Those that files of the workspace set: none of this machine gets in. */
export class Variables {
  #known: ReadonlyMap<string, string> | undefined;
  #length = 0;

  /** `folder`: of the file `.env`, which is read once a variable is wanted. */
  constructor(
    private readonly folder: string,
    private readonly read: Read,
  ) {}

  /** What a file such as `.env` sets; `undefined`: it does not exist. Fails with `CaiError('CONFIG')`. */
  inFile(path: string): ReadonlyMap<string, string> | undefined {
    const file = posix.resolve(this.folder, path);
    const text = this.read(file);
    if (text !== undefined && text.length > maxFileLength)
      throw new CaiError(
        'CONFIG',
        `${quoted(file)} is longer than ${maxFileLength / 2 ** 10} KiB: shorten it`,
      );
    return text === undefined
      ? undefined
      : new Map(Object.entries(parseEnv(this.#counted(text)) as Record<string, string>));
  }

  /**
   * The value with what its variables stand for, in all its strings. Fails with `CaiError('CONFIG')` for one that grows
   * too long.
   */
  replacedIn(value: Json): Json {
    return withTexts(value, (text) => this.#replaced(text));
  }

  #replaced(text: string): string {
    return text.replace(form, (whole, ...groups: (string | undefined)[]) => {
      if (whole === '$$') return '$';
      const [plain, name = plain!, colon, sign, otherwise = ''] = groups;
      const value = this.#valueOf(name);
      const isSet = value !== undefined && (colon !== ':' || value !== '');
      const result = sign === '+' || (sign === '-' && !isSet) ? this.#replaced(otherwise) : (value ?? '');
      return this.#counted(sign === '+' && !isSet ? '' : result);
    });
  }

  #valueOf(name: string): string | undefined {
    this.#known ??= this.inFile('.env') ?? new Map();
    return this.#known.get(name);
  }

  #counted(text: string): string {
    this.#length += text.length;
    if (this.#length > maxLength)
      throw new CaiError('CONFIG', 'the variables of the Compose files stand for more than 1 MiB');
    return text;
  }
}
