/** Which system calls a container may make: our profile, `seccomp.json`, and how each engine takes it. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFile } from '../../system/files/package-file';
import { replaceFile } from '../../system/files/replace-file';
import { engineProfile } from './container-info';

/** Our profile as one line of JSON. */
export function seccompProfile(): string {
  return JSON.stringify(JSON.parse(seccompFile()));
}

export function seccompFile(): string {
  return readFileSync(packageFile('src/container/engine/seccomp.json'), 'utf8');
}

/** How a profile is recorded and compared: the hash of one in JSON, else the word or path that stands for it. */
export function profileName(profile: string): string {
  return profile.startsWith('{') ? `sha256:${hashOf(profile)}` : profile;
}

/**
 * What to ask an engine for: Docker takes the profile itself, podman's service of Docker's API the path of a file on its
 * own machine, in `state`, which `givenProfile` writes. `engineProfile` where neither can be had: then the engine's own
 * profile is in force, and `lacking` says why.
 */
export function profileFor(
  engine: { readonly isPodman: boolean; readonly hasSeccomp: boolean; readonly sharesKernel: boolean },
  state: string,
): { readonly seccomp: string; readonly lacking?: string } {
  const { isPodman, hasSeccomp, sharesKernel } = engine;
  const lacking = !hasSeccomp
    ? 'the engine has no seccomp: agents can make files with the setuid bit, and use every system call'
    : 'podman on another machine takes no seccomp profile from here: its own is in force, with which agents can make files with the setuid bit, which another user of this machine could run as you';
  if (!hasSeccomp || (isPodman && !sharesKernel)) return { seccomp: engineProfile, lacking };
  const profile = seccompProfile();
  return { seccomp: isPodman ? fileOf(profile, state) : profile };
}

/**
 * What to give the engine for a profile as it is recorded: the profile itself for its hash; a file is written if it is
 * missing.
 */
export function givenProfile(recorded: string): string {
  const profile = seccompProfile();
  if (recorded === profileName(profile)) return profile;
  if (recorded.startsWith('/') && !existsSync(recorded)) replaceFile(recorded, profile);
  return recorded;
}

/** Its name has the hash of what it holds, so that one that is there is right. */
function fileOf(profile: string, folder: string): string {
  return join(folder, `seccomp-${hashOf(profile).slice(0, 16)}.json`);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
