import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from './support/temp-folder';

const unit = join(__dirname, '../deploy/cai-serve.service');

test('the unit is one that systemd takes', () => {
  const runtime = newFolder();
  chmodSync(runtime, 0o700);
  const env = { ...process.env, XDG_RUNTIME_DIR: runtime };
  const result = spawnSync('systemd-analyze', ['--user', 'verify', '--man=no', unit], { env });
  if (result.error !== undefined) {
    process.stderr.write(`the unit is not checked: ${result.error.message}\n`);
    return;
  }

  expect(result.stderr.toString()).toBe('');
  expect(result.status).toBe(0);
});

test('the unit starts the server', () => {
  expect(readFileSync(unit, 'utf8')).toMatch(/^ExecStart=\/usr\/bin\/env cai serve$/m);
});
