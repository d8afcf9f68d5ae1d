/** Who else may come in than the user, and to what: `[[serve.users]]`. */
import { configFileOf, loadConfig, type Config } from '../../../config/config';
import { ownerName } from '../../../config/serve-words';
import { CaiError } from '../../../errors';
import type { Host } from '../../../system/host';
import { realOrSame } from '../../../system/real-path';
import { stampOf } from './stamp';
import type { Visitor } from './visitor';

type Entries = Config['serve']['users'];

/** As the configuration is at the time. */
export class Users {
  readonly #real = new Map<string, string>();
  #users: ReadonlyMap<string, Visitor>;
  #stamp: string | undefined;

  /**
   * `host`: whose configuration is read again whenever it has changed; without one, `users` are all. Folders are what they
   * lead to when they are first named: a link that somebody makes later in the place of one changes nothing. Throws
   * `CaiError('CONFIG')` for two of one name, and for limits that nothing would hold.
   */
  constructor(
    users: Entries,
    private readonly host?: Host,
  ) {
    this.#stamp = host && stampOfConfig(host);
    this.#users = this.#read(users);
  }

  /** A new object for each visit; `undefined`: nobody of that name may come in. Throws as `loadConfig`. */
  visitor(name: string): Visitor | undefined {
    if (name === ownerName) return { name };
    const user = this.#current().get(name);
    return user && { ...user };
  }

  /** Whether a visitor of that name may still do just what this one may, as the configuration last could be read. */
  isStill(visitor: Visitor): boolean {
    try {
      this.#current();
    } catch {
      // A slip while somebody edits it ends no turns.
    }
    const now = visitor.name === ownerName ? { name: ownerName } : this.#users.get(visitor.name);
    return JSON.stringify(now) === JSON.stringify(visitor);
  }

  #current(): ReadonlyMap<string, Visitor> {
    if (this.host === undefined) return this.#users;
    const stamp = stampOfConfig(this.host);
    if (stamp !== this.#stamp) {
      this.#users = this.#read(loadConfig(this.host).serve.users);
      this.#stamp = stamp;
    }
    return this.#users;
  }

  #read(users: Entries): ReadonlyMap<string, Visitor> {
    const twice = users.find(({ name }, index) => users.findIndex((each) => each.name === name) < index);
    if (twice !== undefined)
      throw new CaiError('CONFIG', `two [[serve.users]] have the name "${twice.name}": make one of them`);
    const limited = users.find(({ workspaces }) => workspaces !== 'all');
    const { CAI_ACP_DIRECT_SPAWN, CAI_ACP_TEST_MODE } = this.host?.env ?? {};
    if (limited !== undefined && CAI_ACP_DIRECT_SPAWN === '1' && CAI_ACP_TEST_MODE !== '1')
      throw new CaiError(
        'CONFIG',
        `"${limited.name}" of [[serve.users]] may use some folders alone, which only containers can hold, and CAI_ACP_DIRECT_SPAWN=1 takes these away: unset it, or remove the user`,
      );
    return new Map(
      users.map(({ name, agents, workspaces }) => [
        name,
        {
          name,
          ...(agents !== 'all' && { agents }),
          ...(workspaces !== 'all' && { workspaces: workspaces.map((each) => this.#realOf(each)) }),
        },
      ]),
    );
  }

  #realOf(path: string): string {
    const known = this.#real.get(path) ?? realOrSame(path);
    this.#real.set(path, known);
    return known;
  }
}

/** The file may be a link, as a ConfigMap of Kubernetes is, which changes by what it leads to. */
function stampOfConfig(host: Host): string {
  return stampOf(realOrSame(configFileOf(host)));
}
