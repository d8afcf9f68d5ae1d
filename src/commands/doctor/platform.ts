/** What `cai doctor` says of a platform other than Linux itself, as `docs/platforms.md` does. */
import { readFileSync } from 'node:fs';
import type { VirtualMachine } from '../../container/engine/engine-info';
import { quoted } from '../../system/quoted';
import { unlessFails } from '../../system/unless';
import { ok, warn, type Facts, type Finding } from './checks';

/** Where a person sets what their virtual machines share and have. */
const settings: Readonly<Record<VirtualMachine, string>> = {
  Colima: 'colima start --edit',
  'Docker Desktop': 'Settings, Resources',
  OrbStack: 'Settings, System',
};

/** Said only on WSL, and where the engine runs in a virtual machine of this one. `kernel`: as proc_version(5) has it. */
export function platform(
  { place, engine }: Pick<Facts, 'place' | 'engine'>,
  kernel = unlessFails(() => readFileSync('/proc/version', 'utf8')) ?? '',
): Finding | undefined {
  const root = place?.root ?? '';
  if (/microsoft/i.test(kernel)) {
    if (!/^\/mnt\/[a-z](\/|$)/.test(root))
      return ok('WSL: keep workspaces in the Linux file system, not below /mnt/c');
    return warn(
      `WSL: ${quoted(root)} is on a disk of Windows, so it is slow, and its files have other permissions`,
      'move it into the Linux file system, such as into your home folder',
    );
  }
  const machine = engine?.about.virtualMachine;
  if (machine === undefined) return undefined;
  const limits =
    'workspaces must lie in folders that its machine shares, whose memory is the limit for all containers';
  return ok(`${machine}: ${limits} (${settings[machine]})`);
}
