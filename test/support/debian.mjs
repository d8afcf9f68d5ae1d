/** What tests need of Debian's packages. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Installs them as root on Debian, and tells on stderr what goes wrong; elsewhere does nothing. */
export function installPackages(packages) {
  if (process.getuid() !== 0 || !existsSync('/etc/debian_version')) return;
  process.stderr.write(`installing ${packages.join(', ')}\n`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...packages]]) {
    const { status, stdout, stderr } = spawnSync('apt-get', args, { env, encoding: 'utf8' });
    if (status !== 0) process.stderr.write(`${stdout}${stderr}`);
  }
}
