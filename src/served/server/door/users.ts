/** Who else may come in than the user, and to what: `[[serve.users]]` and `[[serve.groups]]`. */
import { configFileOf, loadConfig, type Config } from '../../../config/config';
import { ownerName } from '../../../config/serve-words';
import { CaiError } from '../../../errors';
import type { Host } from '../../../system/host';
import { realOrSame } from '../../../system/real-path';
import { stampOf } from './stamp';
import type { Visitor } from './visitor';

type People = Pick<Config['serve'], 'users' | 'groups' | 'groupsHeader'>;
type Entry = People['users'][number];

/** Of a folder of a group: it stands for the name of whoever comes in. */
const personMark = '{user}';

/** As the configuration is at the time. */
export class Users {
  readonly #real = new Map<string, string>();
  #people: People;
  #stamp: string | undefined;

  /**
   * `host`: whose configuration is read again whenever it has changed; without one, `people` are all. Folders are what they
   * lead to when they are first named: a link that somebody makes later in the place of one changes nothing. Throws
   * `CaiError('CONFIG')` for two of one name, for groups of which nobody tells, and for limits that nothing would hold.
   */
  constructor(
    people: People,
    private readonly host?: Host,
  ) {
    this.#stamp = host && stampOfConfig(host);
    this.#people = this.#checked(people);
  }

  /**
   * A new object for each visit; `undefined`: nobody of that name may come in, nor anybody of these groups. What a person's
   * own entry says counts, else the first entry of a group. Throws as `loadConfig`.
   */
  visitor(name: string, groups: readonly string[] = []): Visitor | undefined {
    return name === ownerName ? { name } : this.#visitorOf(this.#current(), name, groups);
  }

  /** Whether a visitor of that name may still do just what this one may, as the configuration last could be read. */
  isStill(visitor: Visitor): boolean {
    try {
      this.#current();
    } catch {
      // A slip while somebody edits it ends no turns.
    }
    const { name, group } = visitor;
    const now = this.#visitorOf(this.#people, name, group === undefined ? [] : [group]);
    return JSON.stringify(now) === JSON.stringify(visitor);
  }

  #visitorOf({ users, groups }: People, name: string, ofGroups: readonly string[]): Visitor | undefined {
    if (name === ownerName) return { name };
    const user = users.find((each) => each.name === name);
    if (user !== undefined) return { name, ...this.#limitsOf(user) };
    const group = groups.find((each) => ofGroups.includes(each.name));
    return group && { name, group: group.name, ...this.#limitsOf(group, name) };
  }

  #limitsOf({ agents, workspaces }: Entry, name = personMark): Pick<Visitor, 'agents' | 'workspaces'> {
    return {
      ...(agents !== 'all' && { agents }),
      ...(workspaces !== 'all' && {
        workspaces: workspaces.map((each) => this.#realOf(each.replaceAll(personMark, name))),
      }),
    };
  }

  #current(): People {
    if (this.host === undefined) return this.#people;
    const stamp = stampOfConfig(this.host);
    if (stamp !== this.#stamp) {
      this.#people = this.#checked(loadConfig(this.host).serve);
      this.#stamp = stamp;
    }
    return this.#people;
  }

  #checked(people: People): People {
    const { users, groups, groupsHeader } = people;
    for (const [table, entries] of Object.entries({ users, groups })) {
      const twice = entries.find(({ name }, at) => entries.findIndex((each) => each.name === name) < at);
      if (twice === undefined) continue;
      throw new CaiError('CONFIG', `two [[serve.${table}]] have the name "${twice.name}": make one of them`);
    }
    if (groups.length > 0 && groupsHeader === undefined)
      throw new CaiError(
        'CONFIG',
        'nobody says who is in [[serve.groups]]: put groups_header = "X-Auth-Request-Groups", or whichever your proxy has, below [serve]',
      );
    const limited = [...users, ...groups].find(({ workspaces }) => workspaces !== 'all');
    const { CAI_ACP_DIRECT_SPAWN, CAI_ACP_TEST_MODE } = this.host?.env ?? {};
    if (limited !== undefined && CAI_ACP_DIRECT_SPAWN === '1' && CAI_ACP_TEST_MODE !== '1')
      throw new CaiError(
        'CONFIG',
        `"${limited.name}" of [serve] may use some folders alone, which only containers can hold, and CAI_ACP_DIRECT_SPAWN=1 takes these away: unset it, or remove the entry`,
      );
    for (const user of users) this.#limitsOf(user);
    return people;
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
