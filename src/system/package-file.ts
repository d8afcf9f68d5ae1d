import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The absolute path of a file that comes with the package, given below the package's folder: `bin/cai`. */
export function packageFile(path: string): string {
  let folder = __dirname;
  // A bundle and a source file lie at different depths.
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return join(folder, path);
}
