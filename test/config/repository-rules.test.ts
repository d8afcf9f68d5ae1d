import { totalmem } from 'node:os';
import { catalog } from '../../src/agent/catalog';
import {
  addition,
  agentNames,
  anyKnownAgent,
  fewMore,
  lower,
  lowerMemory,
  only,
  sooner,
  type Narrowing,
} from '../../src/config/repository-rules';

const gibibyte = 2 ** 30;
const half = totalmem() / 2;
const user = { agents: { mine: {} } };

/** A rule; then a wanted value, the one that is held, and whether the rule admits it. */
const cases: readonly (readonly [
  string,
  Narrowing<unknown>,
  readonly (readonly [unknown, unknown, boolean])[],
])[] = [
  [
    'lower',
    lower,
    [
      [1, 2, true],
      [2, 2, true],
      [3, 2, false],
      [1e9, undefined, true],
    ],
  ],
  [
    'lowerMemory',
    lowerMemory,
    [
      [gibibyte, 2 * gibibyte, true],
      [3 * gibibyte, 2 * gibibyte, false],
      [64 * gibibyte, 128 * gibibyte, true],
      [Math.min(8 * gibibyte, half), undefined, true],
      [Math.min(8 * gibibyte, half) + 1, undefined, false],
    ],
  ],
  [
    'sooner',
    sooner,
    [
      [1, 2, true],
      [2, 2, true],
      [3, 2, false],
      [0, 2, false],
      [0, 0, true],
      [2, 0, true],
    ],
  ],
  [
    'fewMore',
    fewMore,
    [
      [Array(64).fill('a'), undefined, true],
      [Array(65).fill('a'), Array(70).fill('a'), false],
    ],
  ],
  [
    'only',
    only('a'),
    [
      ['a', 'b', true],
      ['a', 'a', true],
      ['b', 'b', true],
      ['b', 'a', false],
    ],
  ],
  [
    'anyKnownAgent',
    anyKnownAgent,
    [
      ['gemini', 'claude', true],
      ['mine', 'claude', true],
      ['other', 'claude', false],
      ['other', 'other', true],
      ['constructor', 'claude', false],
      ['', 'claude', false],
    ],
  ],
  [
    'addition',
    addition,
    [
      [[], ['A'], true],
      [['A'], ['A', 'B'], true],
      [['A', 'C'], ['A', 'B'], false],
      [['A'], undefined, false],
    ],
  ],
];

describe.each(cases)('%s', (_, rule, rows) => {
  test.each(rows)('%j, where %j is held: %s', (wanted, held, isAdmitted) => {
    expect(rule.admits(wanted, held, user)).toBe(isAdmitted);
  });
});

test('a user without agents of his own has the known ones', () => {
  expect(anyKnownAgent.admits('codex', 'claude', {})).toBe(true);
  expect(anyKnownAgent.admits('mine', 'claude', {})).toBe(false);
});

test('the agents that can be named without configuration are those of the catalog', () => {
  expect(agentNames).toEqual(Object.keys(catalog));
});
