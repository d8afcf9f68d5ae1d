/** The options of security that an engine tells of a container, in words that are the same on each. */
import { engineProfile, profileName } from './seccomp';

/** As ContainerInspect has them. */
interface Told {
  readonly SecurityOpt?: readonly string[] | null;
  readonly MaskedPaths?: readonly string[] | null;
}

/**
 * Sorted, without the one for system calls: `no-new-privileges` in that form, `systempaths=unconfined` for open
 * ones in /proc, others as asked for.
 */
export function securityOf({ SecurityOpt, MaskedPaths }: Told): string[] {
  const options = (SecurityOpt ?? [])
    .filter((option) => !isSeccomp.test(option))
    .map((option) => (/^no-new-privileges[:=]true$/.test(option) ? 'no-new-privileges' : option));
  // An engine that tells nothing of them (null, on podman) masks its standard ones.
  return (MaskedPaths?.length === 0 ? [...options, 'systempaths=unconfined'] : options).sort();
}

/** The profile of system calls, as `profileName` has it. Of several the last is in force. */
export function seccompOf({ SecurityOpt }: Told): string {
  const option = (SecurityOpt ?? []).filter((each) => isSeccomp.test(each)).at(-1);
  return option === undefined ? engineProfile : profileName(option.replace(isSeccomp, ''));
}

const isSeccomp = /^seccomp[:=]/;
