/** How the tests learn that something of an attacker ran on the host as the user. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Cai } from '../engine/support';

/** A file that appears only where a script of the attacker runs on the host: nothing of a container reaches its folder. */
export class Canary {
  /** Where it would appear. */
  readonly path: string;

  /** In the user's home folder. */
  constructor(cai: Cai, name = 'canary') {
    this.path = join(cai.home, name);
  }

  /** A line for a shell that makes it appear. */
  get sh(): string {
    return `touch ${this.path}`;
  }

  /** What to report if it has appeared; it is gone afterwards. */
  get sung(): string | undefined {
    if (!existsSync(this.path)) return undefined;
    rmSync(this.path);
    return `a program of the attacker ran on the host and made ${this.path}`;
  }
}
