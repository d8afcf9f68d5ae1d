/** Where `cai try --mock` runs: its own folders, so that it needs no configuration and leaves nothing behind. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownProgram } from '../../agent/cai-program';
import { Host } from '../../system/host';

/** Runs an action as on a machine that has the mock agent alone, without containers. */
export async function onMockHost(
  { env }: Host,
  action: (agent: string, host: Host) => Promise<number>,
): Promise<number> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cai-try-')));
  try {
    const [config, cwd] = [join(folder, 'config/containai'), join(folder, 'project')];
    for (const each of [config, cwd]) mkdirSync(each, { recursive: true });
    const command = JSON.stringify(ownProgram(['mock-agent']));
    writeFileSync(join(config, 'config.toml'), `[agents.mock]\ncommand = ${command}\n`);
    const folders = { XDG_CONFIG_HOME: join(folder, 'config'), XDG_STATE_HOME: join(folder, 'state') };
    const modes = { CAI_ACP_DIRECT_SPAWN: '1', CAI_ACP_TEST_MODE: '0' };
    return await action('mock', new Host({ ...env, ...folders, ...modes }, cwd));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
