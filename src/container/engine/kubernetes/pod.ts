/** What is used of a Pod. Source: Kubernetes API, core/v1, from 1.20 on. */

/** One volume of a pod: exactly one of the kinds is set. */
export interface PodVolume {
  readonly name: string;
  readonly emptyDir?: { readonly sizeLimit?: string };
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly secret?: { readonly secretName: string; readonly defaultMode?: number };
}

/** Where a volume, or a part of it, is in a container. */
export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly subPath?: string;
  readonly readOnly?: boolean;
}

/** What a container may do beyond nothing. */
export interface SecurityContext {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  readonly seccompProfile?: { readonly type: string; readonly localhostProfile?: string };
}

/** A variable of a container. */
export interface EnvironmentVariable {
  /** Its name. */
  readonly name: string;
  /** Its value, if that is known. */
  readonly value?: string;
  /** What it gets once the pod has a node. */
  readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } };
}

/** A container of a pod. */
export interface PodContainer {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly workingDir?: string;
  readonly env?: readonly EnvironmentVariable[];
  readonly resources?: Readonly<Partial<Record<'requests' | 'limits', Readonly<Record<string, string>>>>>;
  readonly securityContext?: SecurityContext;
  readonly volumeMounts?: readonly VolumeMount[];
  readonly terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError';
}

/** As which a container is told. */
export interface ContainerStatus {
  readonly name: string;
  readonly imageID?: string;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: { readonly startedAt?: string };
    readonly terminated?: {
      readonly exitCode: number;
      readonly reason?: string;
      readonly message?: string;
      readonly startedAt?: string;
      readonly finishedAt?: string;
    };
  };
}

/** A pod, as far as it is used. */
export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly hostname?: string;
    readonly hostNetwork?: boolean;
    readonly hostPID?: boolean;
    readonly hostIPC?: boolean;
    readonly shareProcessNamespace?: boolean;
    readonly nodeName?: string;
    readonly securityContext?: SecurityContext & { readonly supplementalGroups?: readonly number[] };
    readonly volumes?: readonly PodVolume[];
    readonly initContainers?: readonly PodContainer[];
    readonly containers: readonly PodContainer[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

/** Name of the container in which everything runs. */
export const mainContainer = 'agent';
