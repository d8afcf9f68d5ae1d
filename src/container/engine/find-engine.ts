/** Which engine is meant: the one door to all kinds of them. */
import type { Config } from '../../config/config';
import type { Host } from '../../system/host';
import { Registry } from '../registry/registry';
import { originOf, resolveEngine } from './docker/context';
import { DockerEngine } from './docker/docker-engine';
import type { Engine } from './engine';
import { findCluster, nameOf } from './kubernetes/api/kubeconfig';

/** What of the user's configuration says which engine is meant. */
type EngineSettings = Pick<Config, 'engine' | 'kubernetes' | 'network'>;

/** An engine that nobody has asked yet. */
export interface NamedEngine {
  /** Where it is and who says so, for people. */
  readonly shown: string;
  /** Finds out whether it is there. Rejects with `NO_ENGINE`. */
  connect(): Promise<Engine>;
}

/**
 * The engine of this environment, as the user's configuration has it; `context` is of Docker or of Kubernetes, and named on
 * the command line. Fails with `CaiError('NO_ENGINE')` where no engine can be.
 */
export function findEngine(host: Host, settings?: EngineSettings, context?: string): NamedEngine {
  switch (settings?.engine.kind) {
    case 'kubernetes':
      return kubernetes(host, settings, context);
    case 'docker':
    case undefined:
      return docker(host, settings, context);
  }
}

function docker(host: Host, settings: EngineSettings | undefined, context: string | undefined): NamedEngine {
  const address = resolveEngine(host, context, settings?.engine.context);
  return {
    shown: `${address.endpoint} (${originOf(address)})`,
    connect: () => DockerEngine.connect(address, host, settings?.engine.shares),
  };
}

function kubernetes(host: Host, settings: EngineSettings, context: string | undefined): NamedEngine {
  const { kubeconfig, namespace, context: configured } = settings.engine;
  const cluster = findCluster(host, { kubeconfig, namespace, context: context ?? configured });
  const registry = new Registry(host, settings.network);
  return {
    shown: nameOf(cluster),
    connect: async () => {
      const { KubernetesEngine } = await import('./kubernetes/kubernetes-engine');
      return KubernetesEngine.connect(cluster, settings.kubernetes, host.folders.state, registry);
    },
  };
}
