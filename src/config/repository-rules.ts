/** What a repository's config file may do with a key: a stranger wrote it, so by itself it may only narrow. */
import { totalmem } from 'node:os';

/** `never`: a repository cannot set the key. Else what narrows counts, and the rest if the user trusts the file. */
export type RepositoryRule<T> = 'never' | Narrowing<T>;

export interface Narrowing<T> {
  /**
   * Whether `wanted` gives the agent no more than `held`, which is the user's value or what holds by default
   * (`undefined`: the key has no default). `user`: the rest of the user's configuration.
   */
  admits(wanted: T, held: T | undefined, user: Readonly<Record<string, unknown>>): boolean;
  /** For a list: the elements are added to the user's instead of taking their place. */
  readonly isAddition?: true;
  /** What a value that is not admitted does; default: it would allow the agent more. */
  readonly why?: string;
}

/** No value is narrower than another. */
export const trusted: Narrowing<unknown> = { admits: () => false };

/** Every value is as narrow as any other: what it leads to has its own rules. */
export const harmless: Narrowing<unknown> = { admits: () => true };

/** Less is narrower; without a value there is no limit. */
export const lower: Narrowing<number> = { admits: (wanted, held) => wanted <= (held ?? Infinity) };

/** Less is narrower; without a value half of the memory, and 8 GiB, are the limits. */
export const lowerMemory: Narrowing<number> = {
  admits: (wanted, held) => wanted <= (held ?? Math.min(8 * 2 ** 30, totalmem() / 2)),
};

/** Sooner is narrower; 0 is never. */
export const sooner: Narrowing<number> = {
  admits: (wanted, held) => held === undefined || held === 0 || (wanted > 0 && wanted <= held),
};

/** The narrowest value there is. */
export function only<T>(narrowest: T): Narrowing<T> {
  return { admits: (wanted, held) => wanted === narrowest || wanted === held };
}

/** The agents that need no configuration; `src/agent/catalog.ts` has their commands. */
export const agentNames: readonly string[] = [
  'claude',
  'gemini',
  'codex',
  'opencode',
  'qwen',
  'copilot',
  'cursor',
];

/** Any agent that can be named on the command line. */
export const anyKnownAgent: Narrowing<string> = {
  admits: (wanted, held, user) =>
    wanted === held || agentNames.includes(wanted) || Object.hasOwn(user.agents ?? {}, wanted),
};

/** A list whose elements each take something away from the agent. */
export const more: Narrowing<readonly string[]> = { admits: () => true, isAddition: true };

/** The same for patterns: as somebody waits until they are looked for, a stranger's can only be few. */
export const fewMore: Narrowing<readonly string[]> = {
  admits: (wanted) => wanted.length <= 64,
  isAddition: true,
  why: 'it has more than 64 elements, which take time to look for',
};

/** A list whose elements each give the agent something: only what the user's list already has narrows. */
export const addition: Narrowing<readonly string[]> = {
  admits: (wanted, held = []) => wanted.every((element) => held.includes(element)),
  isAddition: true,
};
