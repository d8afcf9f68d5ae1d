import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

afterAll(() => made.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** The real path of a new empty folder, which is removed after the tests of the file. */
export function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cai-test-')));
  made.push(folder);
  return folder;
}
