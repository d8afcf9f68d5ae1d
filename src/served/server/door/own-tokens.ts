/** The tokens that one person makes for programs of theirs, such as `cai connect`. */
import { CaiError } from '../../../errors';
import { quoted } from '../../../system/quoted';
import type { TokenRecord, Tokens } from './tokens';
import type { Visitor } from './visitor';

const maxTokens = 10;
/** Whoever leaves the team loses the sign-in to its proxy, and with it the way to new ones. */
const lifeMs = 90 * 24 * 60 * 60_000;
/** Without characters that cannot be seen. */
const labelForm = /^[^\p{C}\p{Z}](?:[^\p{C}]{0,38}[^\p{C}\p{Z}])?$/u;

/** What a person sees of a token. */
export type OwnToken = Readonly<Record<'label' | 'created' | 'expires' | 'used', string | undefined>>;

export class OwnTokens {
  constructor(
    private readonly tokens: Tokens,
    private readonly owner: Visitor,
  ) {}

  /** In the order in which they were made. */
  list(): readonly OwnToken[] {
    return this.tokens
      .list()
      .filter((each) => this.#isOwn(each))
      .map(({ label, created, expires, used }) => ({ label, created, expires, used }));
  }

  /** A new one, which is kept nowhere. Rejects with `CaiError('USAGE')` for a label that is not valid or is taken, and for too many. */
  async make(label: string): Promise<string> {
    if (!labelForm.test(label))
      throw new CaiError('USAGE', 'the name of a token has 1 to 40 characters that can be seen: choose one');
    const expires = new Date(Date.now() + lifeMs).toISOString();
    const { name, group } = this.owner;
    return await this.tokens.addOne({ name, label, expires, ...(group && { group }) }, (others) => {
      const own = others.filter((each) => this.#isOwn(each));
      if (own.some((each) => each.label === label))
        throw new CaiError(
          'USAGE',
          `you have a token ${quoted(label)}: end it first, or choose another name`,
        );
      if (own.length >= maxTokens)
        throw new CaiError('USAGE', `you have ${maxTokens} tokens, and no more are kept: end one first`);
    });
  }

  /** Whether there was one. What it has let in ends. */
  async end(label: string): Promise<boolean> {
    return (await this.tokens.remove((each) => this.#isOwn(each) && each.label === label)) > 0;
  }

  #isOwn({ name, label }: TokenRecord): boolean {
    return name === this.owner.name && label !== undefined;
  }
}
