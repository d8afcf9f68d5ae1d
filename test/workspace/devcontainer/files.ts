/** Workspaces with files. */
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { newFolder } from '../../support/temp-folder';

/** A folder with these texts, by path. */
export function newRoot(files: Readonly<Record<string, string | object>>): string {
  const root = realpathSync(newFolder());
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return root;
}
