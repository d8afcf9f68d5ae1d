import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/config';
import type { Engine } from '../../src/container/engine/engine';
import { findEngine } from '../../src/container/engine/find-engine';
import { Host } from '../../src/system/host';
import { newFolder } from '../support/temp-folder';

/**
 * Where engines differ: what the tests expect of each, and what cannot hold on podman. All else is the same.
 * Measured with podman 4.3.1 of Debian 12.
 */

/** Whether the engine is podman's service of Docker's API. `run.mjs` asks the engine. */
export const isPodman = process.env.CAI_TEST_ENGINE === 'podman';

/** Whether it is a cluster. `test/kubernetes/run.mjs` says so. */
export const isKubernetes = process.env.CAI_TEST_ENGINE === 'kubernetes';

/** What the configuration of a user says of the cluster for tests. */
export const engineConfig = (namespace = 'default'): string => `
[engine]
kind = "kubernetes"
namespace = ${JSON.stringify(namespace)}
`;

/** What it says of files: the nodes have the folders of this machine. */
export const filesConfig = `
[kubernetes]
storage = "64MiB"

[[kubernetes.volumes]]
folder = "/tmp"
from = "node:/tmp"
`;

/** The engine that is tested. */
export async function engineForTests(): Promise<Engine> {
  if (!isKubernetes) return await findEngine(new Host(process.env)).connect();
  const folder = newFolder();
  mkdirSync(join(folder, 'containai'));
  writeFileSync(join(folder, 'containai/config.toml'), engineConfig() + filesConfig);
  const host = new Host({ ...process.env, XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder });
  return await findEngine(host, loadConfig(host)).connect();
}

/** What it tells of itself. */
export const expectedAbout = isKubernetes
  ? {
      sharesKernel: false,
      seccomp: 'default',
      seccompNotice: undefined,
      can: {
        memory: true,
        pids: false,
        cpus: true,
        systemCalls: true,
        restart: false,
        build: false,
      },
    }
  : {
      sharesKernel: true,
      storage: expect.any(String) as string,
      seccomp: expect.stringMatching(/^(?:sha256:|\/)/) as string,
      seccompNotice: undefined,
      can: {
        memory: true,
        pids: true,
        cpus: true,
        systemCalls: true,
        restart: true,
        build: true,
      },
    };

/** What cannot hold on podman, and why. */
const exceptions = {
  'no user namespaces':
    'its seccomp profile lets everybody make one; the rights that somebody has in it end at its edge',
  'ports without a network': 'it publishes no port of a container without a network',
  'control groups told otherwise': "it tells them by another name, which Docker's API does not have",
  'changes of a container': 'there is no "docker update", so that nobody can change a limit behind our back',
  'the same image again': 'it notes labels in any order, so that an unchanged build may make another image',
  'the end of a network that others use':
    'it removes no container whose network services use before these are removed',
  'the end of the engine': 'its containers do not end with its service, so that a command simply goes on',
} as const;

/** `test`, but the exception, if there is one, is skipped where it applies, with the reason in its name. */
export function testUnless(exception: keyof typeof exceptions | undefined) {
  if (!isPodman || exception === undefined) return test;
  return (name: string, action: () => Promise<void>, timeoutMs?: number): void =>
    test.skip(`${name} (podman: ${exceptions[exception]})`, action, timeoutMs);
}

/** What attacks need that pods do not have, or that cannot be shown on the cluster for tests, and why. */
const missingOnPods = {
  'a limit of processes': 'nodes limit processes, and pods have no limit of their own',
  'a socket as the way in':
    'the way in is a port of the pod\'s loopback address, which "an agent connects to the sshd of a neighbour" tries',
  'a container with a network':
    'the nodes drop all that pods send, so that no control can succeed; network-wall.test.ts opens the wall and tries it',
  'another user of this machine': 'pods have no part in it, and "npm run test:escape" tries it',
} as const;

/** Why something cannot be tried on this engine, or by this user; undefined: it can. */
export function missing(
  what: keyof typeof missingOnPods | 'another limit of this machine',
): string | undefined {
  if (what === 'another limit of this machine')
    return process.getuid?.() === 0 ? undefined : 'only root can set it';
  return isKubernetes ? `Kubernetes: ${missingOnPods[what]}` : undefined;
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
