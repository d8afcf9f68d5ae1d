/** Our state folder where it cannot be used: how that is told from one that is not there, and what to do. */
import { accessSync, constants, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CaiError, messageOf, errorCodeOf, type FailureCode } from '../errors';
import { builtin } from './builtin';
import { ancestry } from './real-path';

/** What to do where `state` cannot be used. */
export function stateRemedy(state: string): string {
  return `make ${state} a folder that you can read and write, with all that is in it, or set XDG_STATE_HOME to such a folder`;
}

/**
 * What `read` finds at `name` in the state folder; it is called for what is not there, too. Fails with
 * `CaiError('CONFIG')` where that cannot be read.
 */
export function readState<T>(state: string, name: string, read: (path: string) => T): T {
  const path = join(state, name);
  try {
    return read(path);
  } catch (reason) {
    if (errorCodeOf(reason) === undefined || reason instanceof CaiError) throw reason;
    throw new CaiError('CONFIG', `${path} cannot be read: ${messageOf(reason)}: ${stateRemedy(state)}`);
  }
}

/** What `write` returns, which changes `place` in the state folder. Where it fails, that cannot be written. */
export function writeState<T>(state: string, place: string, write: () => T, code: FailureCode = 'CONFIG'): T {
  try {
    return write();
  } catch (reason) {
    if (reason instanceof CaiError) throw reason;
    throw new CaiError(code, `${place} cannot be written: ${messageOf(reason)}: ${stateRemedy(state)}`);
  }
}

/**
 * Fails with the system's error if the state folder, or something directly in it, cannot be read or written, or
 * if it is not there and cannot be made. It is not made, and what is tried leaves nothing behind.
 */
export function tryState(state: string): void {
  const place = ancestry(state).find((folder) => existsSync(folder))!;
  const trial = mkdtempSync(join(place, '.cai-'));
  try {
    writeFileSync(join(trial, 'file'), '');
  } finally {
    rmSync(trial, { recursive: true });
  }
  if (place !== state) return;
  for (const name of readdirSync(state)) accessSync(join(state, name), constants.R_OK | constants.W_OK);
}

/** What the files of a workspace's records are called; `undefined`: of all that runs without one. */
export function recordName(root: string | undefined): string {
  // Loaded when it is wanted, as it takes 3 ms.
  return root === undefined
    ? 'no-workspace'
    : builtin('node:crypto').createHash('sha256').update(root).digest('hex');
}
