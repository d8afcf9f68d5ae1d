import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Builds the image of `deploy/`, as the head of its Dockerfile says. */
export function buildServeImage(tag: string): void {
  const packed = mkdtempSync(join(tmpdir(), 'cai-pack-'));
  const options = ['--silent', '--ignore-scripts', '--pack-destination', packed];
  const name = execFileSync('npm', ['pack', ...options], {
    cwd: resolve(__dirname, '../..'),
    encoding: 'utf8',
  });
  const context = openSync(join(packed, name.trim()), 'r');
  const args = ['build', '--network', 'host', '--tag', tag, '--file', 'package/deploy/Dockerfile', '-'];
  execFileSync('docker', args, { stdio: [context, 'ignore', 'inherit'] });
  closeSync(context);
  rmSync(packed, { recursive: true });
}
