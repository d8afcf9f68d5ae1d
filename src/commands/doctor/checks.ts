/** What `cai doctor` has found so far. */
import { messageOf } from '../../errors';

/** What came of a check. */
export interface Finding {
  /** `skip`: something else has to be mended, or started, before this can be told. */
  readonly status: 'ok' | 'warn' | 'fail' | 'skip';
  /** What is so. */
  readonly detail: string;
  /** What to do, where the detail does not say so. */
  readonly remedy?: string;
}

/** A check and what came of it. */
export interface Check extends Finding {
  /** What was looked at, in a word or two. */
  readonly name: string;
}

/** Runs checks one after the other. None stops the next, whatever is thrown. */
export class Checks {
  /** Those that are done, in their order. */
  readonly done: Check[] = [];

  constructor(private readonly tell: (check: Check) => void) {}

  /** Looks at one thing. */
  async check(name: string, look: () => Finding | Promise<Finding>): Promise<void> {
    await this.find(name, look, (finding) => finding);
  }

  /** Looks for what other checks need: `undefined` if that failed. */
  async find<T>(
    name: string,
    look: () => T | Promise<T>,
    describe: (found: T) => Finding | Promise<Finding>,
  ): Promise<T | undefined> {
    let found: T | undefined;
    let finding: Finding;
    try {
      found = await look();
      finding = await describe(found);
    } catch (reason) {
      finding = { status: 'fail', detail: messageOf(reason) };
    }
    this.done.push({ name, ...finding });
    this.tell({ name, ...finding });
    return found;
  }

  /** Says of each why it cannot be told. */
  async skip(names: readonly string[], why: string): Promise<void> {
    for (const name of names) await this.check(name, () => ({ status: 'skip', detail: why }));
  }
}
