import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cai, runCli } from './support/cli';

describe('cai', () => {
  test.each(['frobnicate', '--frobnicate', '-x', ''])('does not know the command "%s"', async (command) => {
    const { status, stdout, stderr } = await runCli([command, 'more']);

    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toBe(`cai: "${command}" is not a command: see "cai --help"\n`);
  });

  test('without a build names the command that builds it', async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cai-unbuilt-')));
    const program = join(folder, 'bin/cai');
    mkdirSync(join(folder, 'bin'));
    copyFileSync(cai, program);
    chmodSync(program, 0o755);

    const { status, stdout, stderr } = await runCli(['--acp', 'claude'], { program });
    rmSync(folder, { recursive: true });

    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toBe(`cai: not built yet: run "npm run build" in ${folder}\n`);
  });
});
