import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CaiError } from '../../errors';

/** Looked for once: who removes the package while it runs cannot have another folder taken for it. */
let packageFolder: string | undefined;

/**
 * The absolute path of a file that comes with the package, given below the package's folder: `bin/cai`. Fails with
 * `NO_PACKAGE` if that folder is gone.
 */
export function packageFile(path: string): string {
  packageFolder ??= findPackage();
  return join(packageFolder, path);
}

/** A bundle and a source file lie at different depths. */
function findPackage(): string {
  for (let folder = __dirname; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (folder === dirname(folder))
      throw new CaiError(
        'NO_PACKAGE',
        `the files of cai above ${__dirname} are gone: install it, and start it again`,
      );
  }
}
