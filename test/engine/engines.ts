/**
 * Where engines differ: what the tests expect of each, and what cannot hold on podman. All else is the same.
 * Measured with podman 4.3.1 of Debian 12.
 */

/** Whether the engine is podman's service of Docker's API. `run.mjs` asks the engine. */
export const isPodman = process.env.CAI_TEST_ENGINE === 'podman';

/** What cannot hold on podman, and why. */
const exceptions = {
  'no user namespaces':
    'its seccomp profile lets everybody make one; the rights that somebody has in it end at its edge',
  'devices by the command line':
    'Docker\'s command line says "unknown server OS"; by the API, docker.test.ts looks for them',
  'control groups told otherwise': "it tells them by another name, which Docker's API does not have",
  'changes of a container': 'there is no "docker update", so that nobody can change a limit behind our back',
  'the same image again': 'it notes labels in any order, so that an unchanged build may make another image',
  'the end of the engine': 'its containers do not end with its service, so that a command simply goes on',
} as const;

/** `test`, but the exception, if there is one, is skipped where it applies, with the reason in its name. */
export function testUnless(exception: keyof typeof exceptions | undefined) {
  if (!isPodman || exception === undefined) return test;
  return (name: string, action: () => Promise<void>, timeoutMs?: number): void =>
    test.skip(`${name} (podman: ${exceptions[exception]})`, action, timeoutMs);
}

/** Name of an exception. */
export type Exception = keyof typeof exceptions;

/** Where an engine mounts files of its own in every container; Docker's init process not among them. */
export const ownMountPoints: readonly string[] = [
  '/',
  '/etc/hostname',
  '/etc/hosts',
  // podman makes no file about names where there is no network.
  isPodman ? '/run/.containerenv' : '/etc/resolv.conf',
];

/** What may stand in no history of an image besides secrets: podman tells the names of arguments that are not used. */
export const proxyNames = isPodman ? [] : ['PROXY', 'proxy'];

/** How the refusal begins of a container that has kept capabilities: only podman tells which. */
export const toldOfCapabilities = isPodman
  ? /^capabilities should be \[\], and is \["AUDIT_/
  : /^isConfined should be true, and is false/;
