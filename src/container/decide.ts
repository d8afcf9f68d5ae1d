/** The next step towards a container that can be used, decided from what is known of it: no engine is asked here. */
import type { Change } from './spec/changes';

/** What is known of the container of that name. What costs a request is only there once it was asked for. */
export interface FoundContainer {
  /**
   * `none`: nothing has the name; `leaving`: it is being removed; `dead`: its removal has failed, or the engine ended
   * meanwhile; `unfinished`: made, but never started; `paused`: by its user; `stopped`: it has run before.
   */
  readonly state: 'none' | 'leaving' | 'dead' | 'unfinished' | 'running' | 'paused' | 'stopped';
  /** Whether its label says that `cai` made it. */
  readonly isOurs: boolean;
  /** Whether it is for this workspace and agent, with the mounts, user and rights that it was made with. */
  readonly isAsMade: boolean;
  /** How it differs from the container that would be made now. */
  readonly changes?: ReadonlySet<Change>;
  readonly isBusy?: boolean;
}

/** A step. All but `look`, `use` and `refuse` change something: the container is looked at again after them. */
export type Action =
  /** Find out a fact that is still missing in `FoundContainer`. */
  | { readonly kind: 'look'; readonly at: 'changes' | 'isBusy' }
  /** Find or build the image. This comes before a removal: without an image the old container stays. */
  | { readonly kind: 'get image' }
  | { readonly kind: 'make' }
  /** `started by its maker`: another process has just made it and will start it, or has died at that. */
  | { readonly kind: 'wait'; readonly until: 'removed' | 'started by its maker' }
  /** Remove it, so that another can be made. `because` is told to the user, who may have asked for it. */
  | { readonly kind: 'replace'; readonly because: Change | 'asked for' | 'dead' }
  | { readonly kind: 'start' }
  /** `despite`: differences that the user is told of. */
  | { readonly kind: 'use'; readonly despite: readonly Change[] }
  | {
      readonly kind: 'refuse';
      readonly because: 'not as made' | 'paused' | 'ends at once' | Refused;
    };

/** The differences, from the gravest on, and what each means for a container in which commands run. */
const whileBusy = {
  // A command would run in another folder than the one that has the name now.
  folder: 'refuse',
  settings: 'tell',
  switched: 'refuse',
  lost: 'tell',
  // What came into being in a turn is told where the turn ends.
  more: 'ignore',
} as const satisfies Readonly<Record<Change, 'refuse' | 'tell' | 'ignore'>>;

type Refused = { [C in Change]: (typeof whileBusy)[C] extends 'refuse' ? C : never }[Change];
const isRefused = (change: Change): change is Refused => whileBusy[change] === 'refuse';

type Known = Readonly<Record<'isFresh' | 'hasImage' | 'hasStarted', boolean>>;

/**
 * Decides. The same facts always give the same step. `isFresh`: the container that was found has to be replaced in any
 * case; `hasImage`: the image is there to make another from; `hasStarted`: this process has started it already.
 */
export function decide(found: FoundContainer, known: Known): Action {
  const { state, changes, isBusy } = found;
  if (state === 'none') return known.hasImage ? { kind: 'make' } : { kind: 'get image' };
  if (state === 'leaving') return { kind: 'wait', until: 'removed' };
  if (known.isFresh && found.isOurs) return replace('asked for', known);
  if (!found.isAsMade) return { kind: 'refuse', because: 'not as made' };
  if (state === 'dead') return replace('dead', known);
  if (state === 'unfinished') return { kind: 'wait', until: 'started by its maker' };
  if (state === 'paused') return { kind: 'refuse', because: 'paused' };
  if (changes === undefined) return { kind: 'look', at: 'changes' };
  const all = (Object.keys(whileBusy) as Change[]).filter((change) => changes.has(change));
  const [gravest] = all;
  if (gravest !== undefined) {
    if (state === 'stopped') return replace(gravest, known);
    if (isBusy === undefined) return { kind: 'look', at: 'isBusy' };
    if (!isBusy) return replace(gravest, known);
    // Commands run in it, and nothing ends them.
    const because = all.find(isRefused);
    if (because !== undefined) return { kind: 'refuse', because };
    return { kind: 'use', despite: all.filter((change) => whileBusy[change] === 'tell') };
  }
  if (state === 'running') return { kind: 'use', despite: [] };
  return known.hasStarted ? { kind: 'refuse', because: 'ends at once' } : { kind: 'start' };
}

function replace(because: (Action & { kind: 'replace' })['because'], { hasImage }: Known): Action {
  return hasImage ? { kind: 'replace', because } : { kind: 'get image' };
}
