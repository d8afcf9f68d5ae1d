/**
 * Which process has frozen which container: one file for each, so that two never freeze the same one at once, and
 * that whoever finds a container frozen knows whether somebody is still there to thaw it.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRunning, ownIdentity } from '../system/process-identity';

/** A process that has frozen a container, is about to, or has just thawed it. */
export interface FreezeHolder {
  /** Id of the container. */
  readonly container: string;
  /** Whether the process still runs. */
  readonly isAlive: boolean;
  /** What the process has noted. */
  readonly note: string;
  /** Path of its file. */
  readonly path: string;
}

/** A container that is ours to freeze. */
export interface FreezeLock {
  /** Id of the container. */
  readonly container: string;
  /** Whether processes had it before that have died: it may have been left frozen. */
  readonly isLeft: boolean;
  /** Gives it back. `isThawed`: it is not frozen any more, whoever had frozen it; else the next one has to see to that. */
  release(isThawed: boolean): void;
}

/** How long to wait before another look, in milliseconds: a file is served in some tens of them. */
const [leastPollMs, mostPollMs] = [3, 9];

/** The files, in one folder. */
export class FreezeLocks {
  /** `folder` is made when it is needed. */
  constructor(private readonly folder: string) {}

  /** All holders. */
  holders(): FreezeHolder[] {
    return this.#names().flatMap((name) => {
      const [, container, identity] = /^([0-9a-f]+)\.(.*)\.lock$/.exec(name) ?? [];
      const isAlive = identity === undefined ? undefined : isRunning(identity);
      if (container === undefined || isAlive === undefined) return [];
      const path = join(this.folder, name);
      return [{ container, isAlive, path, note: isAlive ? noteIn(path) : '' }];
    });
  }

  /**
   * Takes a container once no living process has it; `undefined` if that is not so until `deadline`, of
   * `performance.now()`. `note` is for whoever looks at the holders.
   */
  async take(container: string, note: string, deadline: number): Promise<FreezeLock | undefined> {
    const path = join(this.folder, `${container}.${ownIdentity()}.lock`);
    for (;;) {
      if (!this.#isHeld(container, path) && this.#create(path, note)) {
        // Two that make their files at once see each other, and both step back.
        if (!this.#isHeld(container, path)) {
          const dead = this.holders().filter((each) => each.container === container && !each.isAlive);
          const release = (isThawed: boolean): void => {
            // Ours last: who takes it after us finds it as it is.
            for (const each of isThawed ? dead : []) rmSync(each.path, { force: true });
            rmSync(path, { force: true });
          };
          return { container, isLeft: dead.length > 0, release };
        }
        rmSync(path, { force: true });
      }
      if (performance.now() >= deadline) return undefined;
      await aMoment();
    }
  }

  #isHeld(container: string, own: string): boolean {
    return this.holders().some((each) => each.container === container && each.isAlive && each.path !== own);
  }

  /** False if this process has it already. */
  #create(path: string, note: string): boolean {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    try {
      writeFileSync(path, note, { flag: 'wx', mode: 0o600 });
      return true;
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw reason;
    }
  }

  #names(): string[] {
    try {
      return readdirSync(this.folder);
    } catch {
      // Nobody has frozen anything yet.
      return [];
    }
  }
}

/** Resolves after a short time, at random: those that wait for each other do not meet again. */
export async function aMoment(): Promise<void> {
  await sleep(leastPollMs + Math.random() * (mostPollMs - leastPollMs));
}

function noteIn(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
