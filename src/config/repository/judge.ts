/** What of a file that a stranger wrote is in effect: its settings beside those that hold without it. */
import { configKeys } from '../config';
import { assemble, nameOf, type Setting, type Source } from '../config-reader';
import { quoted } from '../../system/quoted';
import type { Narrowing } from '../repository-rules';

/** A setting of the file; the one that it would replace or add to; what holds if it counts. */
interface Judged {
  readonly setting: Setting;
  readonly verdict: 'narrows' | 'widens' | 'never';
  readonly held: Setting | undefined;
  readonly effective: Setting;
}

/** A key that would allow agents more, with its value without that file (`undefined`: none) and the one that it asks for. */
export interface Widening extends Record<'held' | 'wanted', unknown> {
  /** The key: `container.memory`. */
  readonly name: string;
  /** Where the file has it: `line 3`; `FILE:3` in a file that it names. */
  readonly place: string;
}

/** More notices than these are told as a number: a stranger chooses how many there are. */
const maxNotices = 20;

/** The settings of a file, as they are judged by those that hold without it. */
export class JudgedFile {
  readonly #judged: readonly Judged[];

  /** `isTrusted`: what widens counts, too. */
  constructor(
    private readonly file: Source & { readonly settings: readonly Setting[] },
    private readonly before: readonly Setting[],
    private readonly isTrusted: boolean,
  ) {
    this.#judged = judge(file.settings, before);
  }

  /** All that are in effect: those that hold without the file, and what counts of it. */
  get settings(): Setting[] {
    const counting = this.#judged.filter((each) => this.#counts(each));
    const all = [...this.before, ...counting.map(({ effective }) => effective)];
    return [...new Map(all.map((setting) => [JSON.stringify(setting.path), setting])).values()];
  }

  /** The keys that widen, in the file's order, with values as a file would have them. */
  get widening(): Widening[] {
    const widening = this.#judged.filter(({ verdict }) => verdict === 'widens');
    return widening.map(({ setting, setting: { key, path }, held, effective }) => ({
      name: nameOf(path),
      place: setting.from()[0]!.replace(`${this.file.file}:`, 'line '),
      held: held?.written ?? (isInList(path) ? undefined : key.standard),
      wanted: effective.written,
    }));
  }

  /** What the file sets that key to, if that counts; `held`: what holds without it. */
  set(name: string): { readonly value: unknown; readonly held: Setting | undefined } | undefined {
    const found = this.#judged.find((each) => this.#counts(each) && nameOf(each.setting.path) === name);
    return found && { value: found.effective.value, held: found.held };
  }

  /** One sentence for each key, or table of a list, that is ignored. */
  notices(remedies: { readonly never: string; readonly widens: string }): string[] {
    const { file, placeOf } = this.file;
    const ignored = new Map<string, Judged>();
    for (const each of this.#judged.filter((judged) => !this.#counts(judged))) {
      const { path } = each.setting;
      const name = nameOf(isInList(path) ? path.slice(0, -1) : path);
      if (!ignored.has(name)) ignored.set(name, each);
    }
    const notices = [...ignored].slice(0, maxNotices).map(([name, { setting, verdict }]) => {
      const { path, key } = setting;
      const own = key.repository === 'never' ? undefined : key.repository.why;
      const widens = own ?? 'it would allow the agent more than you do';
      const why =
        verdict === 'never'
          ? `a repository cannot set it: if you want it, ${remedies.never}`
          : `${widens}: if you want it, ${remedies.widens}`;
      return `${file}:${placeOf(path).line}: ${quoted(name)} is ignored, because ${why}`;
    });
    const more = ignored.size - notices.length;
    return more === 0 ? notices : [...notices, `${file}: ${more} more keys are ignored`];
  }

  #counts({ verdict }: Judged): boolean {
    return verdict === 'narrows' || (verdict === 'widens' && this.isTrusted);
  }
}

function judge(settings: readonly Setting[], user: readonly Setting[]): Judged[] {
  const byName = new Map(user.map((setting) => [nameOf(setting.path), setting]));
  const table = assemble(user, configKeys);
  return settings.map((setting) => {
    const { key, path, value } = setting;
    const { repository, kind, standard } = key;
    // Tables of a list are added to the user's.
    const held = isInList(path) ? undefined : byName.get(nameOf(path));
    const current = held?.value ?? (standard === undefined ? undefined : kind.read(standard));
    const widthOf = (rule: Narrowing<unknown>) => (rule.admits(value, current, table) ? 'narrows' : 'widens');
    const verdict = repository === 'never' ? 'never' : widthOf(repository);
    const effective = { ...setting, ...joined(setting, held), path: pathBehind(path, user) };
    return { setting, verdict, held, effective };
  });
}

/** For a key whose list is added to the user's: what the setting is then. */
function joined({ key, value, written, from }: Setting, held: Setting | undefined): Partial<Setting> {
  const { repository } = key;
  if (held === undefined || repository === 'never' || repository.isAddition !== true) return {};
  const union = (...lists: readonly unknown[]) => [...new Set((lists as string[][]).flat())];
  return {
    value: union(held.value, value),
    written: union(held.written, written),
    from: () => [...held.from(), ...from()],
  };
}

/** The path of a key in a list of tables, once that list comes after the user's. Other paths stay as they are. */
function pathBehind(path: Setting['path'], user: readonly Setting[]): Setting['path'] {
  const [list, position, ...rest] = path;
  if (list === undefined || typeof position !== 'number') return path;
  const taken = user
    .filter((setting) => setting.path[0] === list)
    .map((setting) => setting.path[1] as number);
  return [list, Math.max(-1, ...taken) + 1 + position, ...rest];
}

function isInList(path: Setting['path']): boolean {
  return path.some((name) => typeof name === 'number');
}
