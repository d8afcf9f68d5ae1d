/*
 * `node pack.mjs FOLDER [TARGET...] [--url URL]`: puts into the folder what people install: the npm package, with all
 * libraries in its bundles and without dependencies or scripts; `install.sh`, which contains that package; the formula of
 * Homebrew, which loads the package from the folder URL, by default the one where it is now; the entry of the ACP registry;
 * and for each target (`linux` or `macos`, `-`, `x64` or `arm64`) a single file, which contains Node, too, and on Linux a
 * Debian package of it.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { makeDeb } from './deb.mjs';
import { formulaOf } from './formula.mjs';
import { manualOf } from './manual.mjs';
import { makeSingles } from './single.mjs';

const root = join(import.meta.dirname, '../..');
const { positionals, values: options } = parseArgs({ allowPositionals: true, options: { url: { type: 'string' } } });
const [folder, ...targets] = positionals;
const release = resolve(folder);
const source = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { name, version, description, license, bin, exports, engines } = source;

/** Caches are of this machine's Node; what is said about the devcontainer CLI is for its own users. */
const isLeftOut = /\.cache$|devcontainers-cli\/(CHANGELOG|README|ThirdPartyNotices)/;

const stage = mkdtempSync(join(tmpdir(), 'cai-pack-'));
try {
  for (const each of [...source.files, 'LICENSE', 'README.md']) {
    const filter = (path) => !isLeftOut.test(path);
    cpSync(join(root, each), join(stage, each), { recursive: true, filter });
  }
  mkdirSync(join(stage, 'man'));
  writeFileSync(join(stage, 'man/cai.1'), manualOf(join(root, 'bin/cai'), version));
  // npx starts the program that has the name of the package.
  const bins = { containai: bin.cai, ...bin };
  const packed = { name, version, description, license, bin: bins, man: ['man/cai.1'], exports, engines };
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(packed, null, 2)}\n`);
  mkdirSync(release, { recursive: true });
  execFileSync('npm', ['pack', '--silent', '--pack-destination', release], {
    cwd: stage,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await makeSingles(stage, release, targets);
  for (const target of targets.filter((each) => each.startsWith('linux-'))) {
    const single = join(release, `cai-${target}`);
    makeDeb({ file: `${single}.deb`, single, arch: target.slice('linux-'.length), stage, version });
  }
} finally {
  rmSync(stage, { recursive: true });
}

const archive = `${name}-${version}.tgz`;
const tarball = join(release, archive);
const text = readFileSync(tarball).toString('base64').replaceAll(/.{76}/g, '$&\n');
const installer = readFileSync(join(import.meta.dirname, 'install.sh'), 'utf8');
writeFileSync(join(release, 'install.sh'), `${installer}install <<'PACKAGE'\n${text}\nPACKAGE\n`, {
  mode: 0o755,
});

const { url: from = pathToFileURL(release).href } = options;
const url = new URL(archive, `${from.replace(/\/$/, '')}/`).href;
writeFileSync(join(release, `${name}.rb`), formulaOf({ tarball, url, description }));

/** The folder that a pull request to the ACP registry adds: https://github.com/agentclientprotocol/registry */
const entry = join(release, 'acp-registry', name);
mkdirSync(entry, { recursive: true });
cpSync(join(import.meta.dirname, 'icon.svg'), join(entry, 'icon.svg'));
const npx = { package: `${name}@${version}`, args: ['--acp', 'claude'] };
const agent = { id: name, name: 'ContainAI (Claude)', version, description, license, distribution: { npx } };
writeFileSync(join(entry, 'agent.json'), `${JSON.stringify(agent, null, 2)}\n`);
