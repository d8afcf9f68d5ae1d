/** Which system calls a container may make: our profile, `seccomp.json`, and how each engine takes it. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import type { Host } from '../../system/host';
import { packageFile } from '../../system/package-file';
import { replaceFile } from '../../system/replace-file';
import type { EngineAbout } from './engine-info';

/** What an engine is given that has its own profile in force, and what is then recorded. */
export const engineProfile = 'default';

/** Our profile as one line of JSON. The bundle of a command and this file are both two folders below the package's root. */
export function seccompProfile(): string {
  return JSON.stringify(JSON.parse(seccompFile()));
}

/** The file that it is in. */
export function seccompFile(): string {
  return readFileSync(packageFile('src/container/engine/seccomp.json'), 'utf8');
}

/** How a profile is recorded and compared: the hash of one in JSON, else the word or path that stands for it. */
export function profileName(profile: string): string {
  return profile.startsWith('{') ? `sha256:${hashOf(profile)}` : profile;
}

/**
 * What to ask an engine for: Docker takes the profile itself, podman's service of Docker's API the path of a
 * file on its own machine. `default` where neither can be had: then the engine's own profile is in force, and `lacking`
 * says why.
 */
export function profileFor(
  about: EngineAbout,
  host: Host,
): { readonly seccomp: string; readonly lacking?: string } {
  const isElsewhere = about.isPodman && about.kernel !== release();
  const lacking = !about.hasSeccomp
    ? 'the engine has no seccomp: agents can make files with the setuid bit, and use every system call'
    : 'podman on another machine takes no seccomp profile from here: its own is in force, with which agents can make files with the setuid bit, which another user of this machine could run as you';
  if (!about.hasSeccomp || isElsewhere) return { seccomp: engineProfile, lacking };
  const profile = seccompProfile();
  return { seccomp: about.isPodman ? fileWith(profile, host.folders.state) : profile };
}

/** Its name has the hash of what it holds, so that one that is there is right. */
function fileWith(profile: string, folder: string): string {
  const path = join(folder, `seccomp-${hashOf(profile).slice(0, 16)}.json`);
  if (!existsSync(path)) replaceFile(path, profile);
  return path;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
