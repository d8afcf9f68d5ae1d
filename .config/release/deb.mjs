/*
 * Makes a Debian package of a single file, by `dpkg-deb`, with what shells complete, the manual page and the licences. Who
 * maintains it is taken from Debian's own variables, `DEBFULLNAME` and `DEBEMAIL`.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** What Debian calls the architectures of Node. */
const architectures = { x64: 'amd64', arm64: 'arm64' };

/** Where Debian's shells look for completions. */
const completions = {
  bash: 'usr/share/bash-completion/completions/cai',
  zsh: 'usr/share/zsh/vendor-completions/_cai',
  fish: 'usr/share/fish/vendor_completions.d/cai.fish',
};

/** What `lintian` says of every program that brings its own Node and its licences. */
const overrides = ['embedded-library', 'extra-license-file', 'hardening-no-pie', 'unstripped-binary-or-object'];
const { DEBFULLNAME: name = 'The developers of cai', DEBEMAIL: address = 'cai@localhost.localdomain' } =
  process.env;
const maintainer = `${name} <${address}>`;

/** Writes `file`. `single`: the single file for `arch`; `stage`: the folder of the npm package. */
export function makeDeb({ file, single, arch, stage, version }) {
  const root = mkdtempSync(join(tmpdir(), 'cai-deb-'));
  chmodSync(root, 0o755);
  const put = (path, content, mode = 0o644) => {
    mkdirSync(dirname(join(root, path)), { recursive: true, mode: 0o755 });
    writeFileSync(join(root, path), content, { mode });
  };
  const putText = (path, ...lines) => put(path, `${lines.join('\n')}\n`);
  const cai = (...args) => execFileSync(process.execPath, [join(stage, 'bin/cai'), ...args]);
  try {
    mkdirSync(join(root, 'usr/bin'), { recursive: true });
    cpSync(single, join(root, 'usr/bin/cai'));
    for (const [shell, path] of Object.entries(completions)) put(path, cai('completion', shell));
    put('usr/share/man/man1/cai.1.gz', gzipSync(readFileSync(join(stage, 'man/cai.1')), { level: 9 }));
    const documents = 'usr/share/doc/containai';
    const changes = `containai (${version}) stable; urgency=medium\n\n  * See the change log of this version.\n\n -- ${maintainer}  ${new Date().toUTCString().replace('GMT', '+0000')}\n`;
    put(`${documents}/changelog.gz`, gzipSync(changes, { level: 9 }));
    put(`${documents}/LICENCES.gz`, gzipSync(readFileSync(join(stage, 'dist/LICENCES.txt')), { level: 9 }));
    putText(
      `${documents}/copyright`,
      'Copyright 2026 the developers of cai. License: Apache-2.0, whose text is in',
      '/usr/share/common-licenses/Apache-2.0. The licences of what it contains are in',
      'LICENCES.gz in this folder.',
    );
    putText('usr/share/lintian/overrides/containai', ...overrides.map((tag) => `containai: ${tag}`));
    putText(
      'DEBIAN/control',
      'Package: containai',
      `Version: ${version}`,
      `Architecture: ${architectures[arch]}`,
      `Maintainer: ${maintainer}`,
      'Depends: git, libc6 (>= 2.28), libstdc++6',
      'Recommends: docker.io | podman | docker-ce',
      'Section: devel',
      'Priority: optional',
      'Description: run ACP coding agents in containers',
      ' An editor that speaks the Agent Client Protocol starts "cai --acp AGENT"; each',
      ' workspace then gets a container of its own, in which the agent runs.',
    );
    execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '--build', root, file], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  } finally {
    rmSync(root, { recursive: true });
  }
}
