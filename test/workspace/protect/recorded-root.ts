/** A root of a session and where its records lie, both anew before each test of the file that imports this. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Host } from '../../../src/system/host';
import { newFolder } from '../../support/temp-folder';

/** The folder of the user's records. */
export let state: string;
/** The root; nothing is in it. */
export let root: string;

beforeEach(() => {
  state = new Host({ HOME: newFolder() }).folders.state;
  root = newFolder();
});

/** Writes a file, with the folders above it, at a path below the root. */
export function write(path: string, text = path): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
