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

const has = (change: Change) => (facts: Facts) => facts.changes!.has(change);
const isChanged = ({ changes }: Facts) => changes!.size > 0;
const gravest = ({ changes }: Facts) => everyChange.find((change) => changes!.has(change))!;

/** The table: of the lines that fit, the first one counts. */
const table: readonly (readonly [
  when: string,
  fits: (facts: Facts) => boolean,
  then: (facts: Facts) => Action,
])[] = [
  ['there is none, and no image', (f) => f.state === 'none' && !f.hasImage, () => ({ kind: 'get image' })],
  ['there is none, and an image', (f) => f.state === 'none', () => ({ kind: 'make' })],
  ['it is being removed', (f) => f.state === 'leaving', () => ({ kind: 'wait', until: 'removed' })],
  [
    'it is to be made anew, and there is no image',
    (f) => f.isFresh && f.isOurs && !f.hasImage,
    () => ({ kind: 'get image' }),
  ],
  ['it is to be made anew', (f) => f.isFresh && f.isOurs, () => ({ kind: 'replace', because: 'asked for' })],
  ['it is not as it was made', (f) => !f.isAsMade, () => ({ kind: 'refuse', because: 'not as made' })],
  [
    'its removal has failed, and there is no image',
    (f) => f.state === 'dead' && !f.hasImage,
    () => ({ kind: 'get image' }),
  ],
  ['its removal has failed', (f) => f.state === 'dead', () => ({ kind: 'replace', because: 'dead' })],
  [
    'another process is making it',
    (f) => f.state === 'unfinished',
    () => ({ kind: 'wait', until: 'started by its maker' }),
  ],
  ['its user has paused it', (f) => f.state === 'paused', () => ({ kind: 'refuse', because: 'paused' })],
  ['nobody knows what has changed', (f) => f.changes === undefined, () => ({ kind: 'look', at: 'changes' })],
  [
    'it runs as it should',
    (f) => f.state === 'running' && !isChanged(f),
    () => ({ kind: 'use', despite: [] }),
  ],
  [
    'it ended as soon as it was started',
    (f) => !isChanged(f) && f.hasStarted,
    () => ({ kind: 'refuse', because: 'ends at once' }),
  ],
  ['it does not run', (f) => !isChanged(f), () => ({ kind: 'start' })],
  [
    'it has changed, and nobody knows if commands run',
    (f) => f.state === 'running' && f.isBusy === undefined,
    () => ({ kind: 'look', at: 'isBusy' }),
  ],
  [
    'it has changed, nothing runs in it, and there is no image',
    (f) => (f.state === 'stopped' || f.isBusy === false) && !f.hasImage,
    () => ({ kind: 'get image' }),
  ],
  [
    'it has changed, and nothing runs in it',
    (f) => f.state === 'stopped' || f.isBusy === false,
    (f) => ({ kind: 'replace', because: gravest(f) }),
  ],
  [
    'commands run in a folder that was replaced',
    has('folder'),
    () => ({ kind: 'refuse', because: 'folder' }),
  ],
  [
    'commands run, protected otherwise than is wanted',
    has('switched'),
    () => ({ kind: 'refuse', because: 'switched' }),
  ],
  [
    'commands run, and something else has changed',
    () => true,
    (f) => ({ kind: 'use', despite: (['settings', 'lost'] as const).filter((each) => f.changes!.has(each)) }),
  ],
];

describe('decide', () => {
  test.each(table.map(([when, , then], index) => [when, index, then] as const))(
    'knows what to do when %s',
    (_, row, then) => {
      const fitting = all.filter((facts) => table.findIndex(([, fits]) => fits(facts)) === row);

      expect(fitting).not.toEqual([]);
      for (const facts of fitting)
        if (!isSame(decide(facts, facts), then(facts)))
          expect([facts, decide(facts, facts)]).toEqual([facts, then(facts)]);
    },
  );

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

  test('looks at nothing twice', () => {
    const twice = all.filter((facts) => {
      const action = decide(facts, facts);
      return action.kind === 'look' && facts[action.at] !== undefined;
    });

    expect(twice).toEqual([]);
  });
});

function isSame(one: Action, other: Action): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
