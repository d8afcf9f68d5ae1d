/** A namespace of the cluster for tests, for the containers of one test file; and what a user configures to work there. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Pod } from '../../src/container/engine/kubernetes/pod/pod';
import { program } from '../kubernetes/kubectl';
import { engineConfig, filesConfig } from './engines';

/** How long nodes that are busy may take to fetch an image of hundreds of megabytes, in seconds. */
const fetchSeconds = 600;

let made: string | undefined;

/** What `kubectl` prints, in the namespace of this test file. Throws if it fails. */
export function inNamespace(...args: readonly string[]): string {
  return kubectl(...inOwnNamespace(), ...args);
}

/** The arguments that make `kubectl` work in the namespace of this test file. */
export function inOwnNamespace(): readonly string[] {
  return ['--namespace', namespace()];
}

function kubectl(...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 2 ** 20 });
}

/** The namespace, made when it is first asked for. */
function namespace(): string {
  if (made === undefined) {
    made = `cai-test-${process.pid}-${process.env.JEST_WORKER_ID}-${Date.now()}`;
    kubectl('create', 'namespace', made);
    // No pod can be made before the cluster has done this, a moment later; then it is told that there is one.
    spawnSync(program, ['create', 'serviceaccount', 'default', '--namespace', made]);
  }
  return made;
}

/** Removes it with all that is in it; does not wait until that is done. */
export function removeNamespace(): void {
  if (made !== undefined) kubectl('delete', 'namespace', made, '--wait=false');
}

/**
 * `config` with the words by which `cai` finds the cluster, its images and, unless the user has a table `kubernetes`,
 * the user's files; as it is, if it names an engine.
 */
export function onCluster(config: string): string {
  if (config.includes('kind = "kubernetes"')) return config;
  const images = `registry = "${process.env.CAI_TEST_REGISTRY}/cai"`;
  const withImages = /^\[image\]$/m.test(config)
    ? config.replace(/^\[image\]$/m, `[image]\n${images}`)
    : `${config}\n[image]\n${images}\n`;
  const files = /^\[kubernetes\]$/m.test(config) ? '' : filesConfig;
  return `${withImages}${engineConfig(namespace())}${files}`;
}

/** What the administrator has given the user to find the cluster by. */
export const kubeconfig = (): string => readFileSync(process.env.KUBECONFIG!, 'utf8');

/**
 * Has every node fetch the image of an agent from the registry, as long as that takes: a command that needs it later does
 * not wait for it, on whichever node it runs.
 */
export function fetchImage(agent: string): void {
  const spec = (node: string) => ({
    nodeSelector: { 'kubernetes.io/hostname': node },
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'fetch',
        image: `${process.env.CAI_TEST_REGISTRY}/cai/containai:${agent}`,
        command: ['sleep', 'infinity'],
      },
    ],
  });
  const names = (process.env.CAI_TEST_K8S_NODES ?? '').split(' ').map((node) => {
    const metadata = { name: `fetch-${node}` };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: spec(node) };
    const args = ['create', '--filename', '-', '--output', 'name'];
    return execFileSync(program, [...inOwnNamespace(), ...args], {
      input: JSON.stringify(pod),
      encoding: 'utf8',
    }).trim();
  });
  inNamespace('wait', '--for=condition=Ready', `--timeout=${fetchSeconds}s`, ...names);
  inNamespace('delete', '--wait=false', ...names);
}

/** As far as tests look at it. Source: Kubernetes API, core/v1. */
export interface TestPod extends Pod {
  readonly spec: Pod['spec'] & { readonly nodeName: string };
  readonly status: { readonly podIP?: string; readonly phase: string; readonly startTime?: string };
}

/** The pods of a workspace (its real path). */
export function podsOf(workspace: string): readonly TestPod[] {
  const { items } = JSON.parse(inNamespace('get', 'pods', '--output', 'json')) as {
    readonly items: TestPod[];
  };
  return items.filter(({ metadata }) => {
    const labels = JSON.parse(metadata.annotations?.['containai.labels'] ?? '{}') as Record<string, string>;
    return labels['containai.workspace'] === workspace;
  });
}
