import { decide, type Action, type FoundContainer } from '../../src/container/decide';
import type { Change } from '../../src/container/spec/changes';

type Facts = FoundContainer & Parameters<typeof decide>[1];

const flags = [false, true];
const everyChange: readonly Change[] = ['folder', 'settings', 'switched', 'lost', 'more'];
const subsets = everyChange.reduce<Change[][]>(
  (sets, change) => sets.flatMap((set) => [set, [...set, change]]),
  [[]],
);

/** Every combination of facts, of those that may be missing also without them. */
const all: readonly Facts[] = (
  ['none', 'leaving', 'dead', 'unfinished', 'running', 'paused', 'stopped'] as const
).flatMap((state) =>
  combinations({
    state: [state],
    isOurs: flags,
    isAsMade: flags,
    changes: [undefined, ...subsets.map((each) => new Set(each))],
    isBusy: [undefined, ...flags],
    isFresh: flags,
    hasImage: flags,
    hasStarted: flags,
  }),
) as object[] as Facts[];

function combinations(values: Record<string, readonly unknown[]>): Record<string, unknown>[] {
  return Object.entries(values).reduce<Record<string, unknown>[]>(
    (facts, [name, each]) =>
      facts.flatMap((fact) => each.map((value) => (value === undefined ? fact : { ...fact, [name]: value }))),
    [{}],
  );
}

describe('decide', () => {
  test("never removes a container without an image to make another from, and never a stranger's", () => {
    const removing = all.filter((facts) => decide(facts, facts).kind === 'replace');

    expect(removing.filter(({ hasImage, isOurs, isAsMade }) => !hasImage || !(isOurs || isAsMade))).toEqual(
      [],
    );
  });

  test('never uses or starts what is not as it was made, stands still, or has another folder', () => {
    const used = all.filter((facts) => ['use', 'start'].includes(decide(facts, facts).kind));

    expect(
      used.filter(
        ({ isAsMade, state, changes }) => !isAsMade || state === 'paused' || changes?.has('folder') !== false,
      ),
    ).toEqual([]);
  });

  test('tells what is not as wanted where commands run, and refuses only for the folder and for what is switched', () => {
    const told = (changes: ReadonlySet<Change> | undefined) =>
      (['settings', 'lost'] as const).filter((change) => changes?.has(change));
    const wrong = all.filter((facts) => {
      const action = decide(facts, facts);
      const { state, isAsMade, changes } = facts;
      if (action.kind === 'use') return action.despite.join() !== told(changes).join();
      const isGrave = changes === undefined || changes.has('folder') || changes.has('switched');
      return action.kind === 'refuse' && state === 'running' && isAsMade && !isGrave;
    });

    expect(wrong).toEqual([]);
  });

  const changed = { changes: new Set(['lost', 'switched'] as const) };
  test.each<[string, Partial<Facts>, Action]>([
    ['leaves to its maker what was never started', { state: 'unfinished' }, { kind: 'wait', until: 'started by its maker' }],
    ['starts what has ended', { state: 'stopped' }, { kind: 'start' }],
    ['does not start twice what ends at once', { state: 'stopped', hasStarted: true }, { kind: 'refuse', because: 'ends at once' }],
    ['counts no commands in what has ended, and names the gravest change', { state: 'stopped', ...changed }, { kind: 'replace', because: 'switched' }],
    ['replaces what is not as it was made, if the user asks for it', { isAsMade: false, isFresh: true }, { kind: 'replace', because: 'asked for' }],
  ])('%s', (_, facts, action) => {
    const usual = { state: 'running', isOurs: true, isAsMade: true, changes: new Set<Change>() } as const;
    const known = { isFresh: false, hasImage: true, hasStarted: false, ...facts };

    expect(decide({ ...usual, ...facts }, known)).toEqual(action);
  }); // prettier-ignore

  test('looks at nothing twice', () => {
    const twice = all.filter((facts) => {
      const action = decide(facts, facts);
      return action.kind === 'look' && facts[action.at] !== undefined;
    });

    expect(twice).toEqual([]);
  });
});
