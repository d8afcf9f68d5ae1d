/*
 * Makes a single file of the package in a folder: Node's own program, with the package in it and `single.cjs` to start it.
 * Node comes from npm, in the version that runs this, because another one may not read what this one prepares.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postject from 'postject';

/** Source: https://nodejs.org/docs/latest-v20.x/api/single-executable-applications.html */
const sentinelFuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/** Writes `file`, for Linux on the architecture `arch`. */
export async function makeSingle(packageFolder, file, arch) {
  const work = mkdtempSync(join(tmpdir(), 'cai-single-'));
  const inWork = { cwd: work, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
  try {
    const from = `node-linux-${arch}@${process.versions.node}`;
    const archive = execFileSync('npm', ['pack', '--silent', from], inWork).trim();
    execFileSync('tar', ['-xzf', archive, 'package/bin/node', 'package/LICENSE'], inWork);
    const assets = { NODE_LICENCE: join(work, 'package/LICENSE') };
    for (const path of readdirSync(packageFolder, { recursive: true })) {
      if (statSync(join(packageFolder, path)).isFile()) assets[path] = join(packageFolder, path);
    }
    const hash = createHash('sha256');
    for (const path of Object.keys(assets).sort()) hash.update(path).update(readFileSync(assets[path]));
    const files = Object.entries(assets).map(([path, source]) => [path, statSync(source).mode & 0o777]);
    assets.index = join(work, 'index');
    writeFileSync(assets.index, JSON.stringify({ id: hash.digest('hex').slice(0, 16), files }));
    const config = { main: join(import.meta.dirname, 'single.cjs'), output: 'blob', assets };
    writeFileSync(
      join(work, 'config.json'),
      JSON.stringify({ ...config, disableExperimentalSEAWarning: true }),
    );
    execFileSync(process.execPath, ['--experimental-sea-config', 'config.json'], inWork);
    copyFileSync(join(work, 'package/bin/node'), file);
    await postject.inject(file, 'NODE_SEA_BLOB', readFileSync(join(work, 'blob')), { sentinelFuse });
  } finally {
    rmSync(work, { recursive: true });
  }
}
