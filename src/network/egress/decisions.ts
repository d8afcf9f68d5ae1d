/**
 * What the user has decided of a workspace's network: one small file for each root in our state folder, which no
 * agent can write.
 */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError, messageOf, errorCodeOf } from '../../errors';
import { ProcessLocks, type Lock } from '../../system/process-lock';
import { quoted } from '../../system/quoted';
import { replaceFile } from '../../system/files/replace-file';
import { recordName, stateRemedy, writeState } from '../../system/state-folder';

export type RuleKind = 'allow' | 'deny';

/** Rules by what they do, the oldest first; none twice. */
export interface Decisions extends Readonly<Record<RuleKind, readonly string[]>> {
  /** Why the file does not count, and what to do; absent: it counts, or does not exist. */
  readonly fault?: string;
}

/** Of the files' form. */
const version = 1;
/** For one workspace. Each is read again for every connection to a host that no list has. */
const maxRules = 5_000;
/** How long another process may have the lock, in milliseconds: it only writes this file. */
const lockMs = 2_000;
const lockPollMs = 3;

export function networkFolder(state: string): string {
  return posix.join(state, 'network');
}

/** What is decided for the workspace at `root`, or without one; nothing, and a fault, where the file cannot be read. */
export function decisionsOf(state: string, root: string | undefined): Decisions {
  const file = fileOf(state, root);
  const none = { allow: [], deny: [] };
  try {
    const record = JSON.parse(readFileSync(file, 'utf8')) as unknown;
    return isRecord(record, root)
      ? { allow: record.allow, deny: record.deny }
      : { ...none, fault: foreign(file) };
  } catch (reason) {
    if (errorCodeOf(reason) === 'ENOENT') return none;
    if (errorCodeOf(reason) === undefined) return { ...none, fault: foreign(file) };
    return { ...none, fault: `${file} cannot be read: ${messageOf(reason)}: ${stateRemedy(state)}` };
  }
}

/**
 * Allows or denies what a rule names from now on, in all processes; takes the place of the same rule of the other kind.
 * Fails with `CaiError('CONFIG')` where that cannot be written, or there are too many rules.
 */
export function keepDecision(state: string, root: string | undefined, kind: RuleKind, rule: string): void {
  change(state, root, (known) => {
    const { allow, deny } = without(known, rule);
    if (allow.length + deny.length >= maxRules) throw new CaiError('CONFIG', tooMany(root));
    return { allow, deny, [kind]: [...(kind === 'allow' ? allow : deny), rule] };
  });
}

/** From now on nothing is decided by that rule; returns whether something was. Fails as `keepDecision` does. */
export function forgetDecision(state: string, root: string | undefined, rule: string): boolean {
  let wasThere = false;
  change(state, root, (known) => {
    wasThere = known.allow.includes(rule) || known.deny.includes(rule);
    return wasThere ? without(known, rule) : undefined;
  });
  return wasThere;
}

/** Writes what `next` makes of the decisions, if it makes anything, while no other process does. */
function change(
  state: string,
  root: string | undefined,
  next: (known: Decisions) => Decisions | undefined,
): void {
  const file = fileOf(state, root);
  writeState(state, file, () => {
    const lock = lockOf(file);
    try {
      const known = decisionsOf(state, root);
      // What is in it may be denied: that must not get lost.
      if (known.fault !== undefined) throw new CaiError('CONFIG', known.fault);
      const decisions = next(known);
      if (decisions !== undefined)
        replaceFile(file, `${JSON.stringify({ version, root: root ?? null, ...decisions })}\n`);
    } finally {
      lock.release();
    }
  });
}

/** Waits for another process, without doing anything else: that is a matter of milliseconds. */
function lockOf(file: string): Lock {
  const locks = new ProcessLocks(posix.dirname(file));
  const clock = new Int32Array(new SharedArrayBuffer(4));
  for (const deadline = performance.now() + lockMs; ;) {
    const lock = locks.tryTake(posix.basename(file));
    if (lock !== undefined) return lock;
    if (performance.now() > deadline) throw new Error('another process does not stop writing it');
    // At random, so that two do not meet again.
    Atomics.wait(clock, 0, 0, lockPollMs * (1 + 2 * Math.random()));
  }
}

function without({ allow, deny }: Decisions, rule: string): Decisions {
  const isOther = (each: string) => each !== rule;
  return { allow: allow.filter(isOther), deny: deny.filter(isOther) };
}

function fileOf(state: string, root: string | undefined): string {
  return posix.join(networkFolder(state), `${recordName(root)}.json`);
}

function isRecord(record: unknown, root: string | undefined): record is Readonly<Record<RuleKind, string[]>> {
  const fields = Object(record) as Readonly<Record<string, unknown>>;
  const isList = (value: unknown) => Array.isArray(value) && value.every((each) => typeof each === 'string');
  return (
    fields.version === version &&
    fields.root === (root ?? null) &&
    isList(fields.allow) &&
    isList(fields.deny)
  );
}

function foreign(file: string): string {
  return `${file} is damaged, of another workspace, or of another version of cai, and may deny something, so containers connect to nothing: remove it, then decide again`;
}

function tooMany(root: string | undefined): string {
  const whose = root === undefined ? 'what runs without a workspace' : quoted(root);
  return `${maxRules} rules are decided for ${whose} already, and there can be no more: see "cai network", and remove some with "cai network forget RULE"`;
}
