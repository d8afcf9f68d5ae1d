/*
 * `node pack.mjs FOLDER [ARCHITECTURE...]`: puts into the folder what people install: the npm package, with all libraries
 * in its bundles and without dependencies or scripts; `install.sh`, which contains that package; the entry of the ACP
 * registry; and for each architecture (x64, arm64) a single file for Linux, which contains Node, too, and a Debian package
 * of it.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { makeDeb } from './deb.mjs';
import { manualOf } from './manual.mjs';
import { makeSingle } from './single.mjs';

const root = join(import.meta.dirname, '../..');
const [folder, ...architectures] = process.argv.slice(2);
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
  for (const each of architectures) {
    const single = join(release, `cai-linux-${each}`);
    await makeSingle(stage, single, each);
    makeDeb({ file: join(release, `cai-linux-${each}.deb`), single, arch: each, stage, version });
  }
} finally {
  rmSync(stage, { recursive: true });
}

const archive = readFileSync(join(release, `${name}-${version}.tgz`)).toString('base64');
const text = archive.replaceAll(/.{76}/g, '$&\n');
const installer = readFileSync(join(import.meta.dirname, 'install.sh'), 'utf8');
writeFileSync(join(release, 'install.sh'), `${installer}install <<'PACKAGE'\n${text}\nPACKAGE\n`, {
  mode: 0o755,
});

/** The folder that a pull request to the ACP registry adds: https://github.com/agentclientprotocol/registry */
const entry = join(release, 'acp-registry', name);
mkdirSync(entry, { recursive: true });
cpSync(join(import.meta.dirname, 'icon.svg'), join(entry, 'icon.svg'));
const npx = { package: `${name}@${version}`, args: ['--acp', 'claude'] };
const agent = { id: name, name: 'ContainAI (Claude)', version, description, license, distribution: { npx } };
writeFileSync(join(entry, 'agent.json'), `${JSON.stringify(agent, null, 2)}\n`);
