/** What is used of a Pod, in Kubernetes' own words. Source: Kubernetes API, core/v1, from 1.20 on. */

/** One volume of a pod: exactly one of the kinds is set. */
export interface PodVolume {
  readonly name: string;
  readonly emptyDir?: object;
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly secret?: { readonly secretName: string; readonly defaultMode?: number };
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly subPath?: string;
  readonly readOnly?: boolean;
}

export interface SecurityContext {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  /** Without the prefix `CAP_`. */
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  readonly readOnlyRootFilesystem?: boolean;
  readonly seccompProfile?: { readonly type: string; readonly localhostProfile?: string };
}

export interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } };
}

export interface PodContainer {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly workingDir?: string;
  readonly env?: readonly EnvironmentVariable[];
  readonly resources?: Readonly<Partial<Record<'requests' | 'limits', Readonly<Record<string, string>>>>>;
  /** Wins over that of the pod. */
  readonly securityContext?: SecurityContext;
  readonly volumeMounts?: readonly VolumeMount[];
  readonly terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError';
}

interface Terminated {
  readonly exitCode: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
}

export interface ContainerStatus {
  readonly name: string;
  /** One of them is set; none: it is waiting. */
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: { readonly startedAt?: string };
    readonly terminated?: Terminated;
  };
}

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
    /** Set by the scheduler. */
    readonly nodeName?: string;
    readonly hostname?: string;
    readonly activeDeadlineSeconds?: number;
    readonly hostNetwork?: boolean;
    readonly hostPID?: boolean;
    readonly hostIPC?: boolean;
    readonly shareProcessNamespace?: boolean;
    readonly securityContext?: SecurityContext & { readonly supplementalGroups?: readonly number[] };
    readonly volumes?: readonly PodVolume[];
    readonly containers: readonly PodContainer[];
    readonly initContainers?: readonly (Pick<PodContainer, 'name' | 'image'> & {
      readonly restartPolicy?: string;
    })[];
    readonly ephemeralContainers?: readonly Pick<PodContainer, 'name' | 'image'>[];
  };
  readonly status?: {
    readonly phase?: string;
    /** Set by the node when it begins with the pod, before it fetches images. */
    readonly startTime?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status?: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

/** Name of the container in which everything runs. */
export const mainContainer = 'agent';

/** Name of the one that runs before it. */
export const firstContainer = 'files';
