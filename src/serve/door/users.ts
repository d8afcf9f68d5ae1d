/** Who else may come in than the user, and to what: `[[serve.users]]`. */
import type { Config } from '../../config/config';
import { ownerName } from '../../config/serve-words';
import { CaiError } from '../../errors';
import { realOrSame } from '../../system/real-path';
import type { Visitor } from './visitor';

/** As the configuration is when the server starts. */
export class Users {
  readonly #users: ReadonlyMap<string, Visitor>;

  /**
   * Folders are what they lead to now: a link that somebody makes later in the place of one changes nothing. Throws
   * `CaiError('CONFIG')` for two of one name.
   */
  constructor(users: Config['serve']['users']) {
    const twice = users.find(({ name }, index) => users.findIndex((each) => each.name === name) < index);
    if (twice !== undefined)
      throw new CaiError('CONFIG', `two [[serve.users]] have the name "${twice.name}": make one of them`);
    this.#users = new Map(
      users.map(({ name, agents, workspaces }) => [
        name,
        {
          name,
          ...(agents !== 'all' && { agents }),
          ...(workspaces !== 'all' && { workspaces: workspaces.map(realOrSame) }),
        },
      ]),
    );
  }

  /** A new object for each visit; `undefined`: nobody of that name may come in. */
  visitor(name: string): Visitor | undefined {
    if (name === ownerName) return { name };
    const user = this.#users.get(name);
    return user && { ...user };
  }
}
