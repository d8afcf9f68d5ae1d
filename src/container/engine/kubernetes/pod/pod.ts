/** What is used of a Pod, in Kubernetes' own words. Source: Kubernetes API, core/v1, from 1.20 on. */

/** One volume of a pod: exactly one of the kinds is set. */
export interface PodVolume {
  readonly name: string;
  /** A folder that ends with the pod. */
  readonly emptyDir?: object;
  /** A folder of the node. */
  readonly hostPath?: { readonly path: string; readonly type?: string };
  /** What a claim has got. */
  readonly persistentVolumeClaim?: { readonly claimName: string };
  /** A file for each key of a Secret. */
  readonly secret?: { readonly secretName: string; readonly defaultMode?: number };
}

/** Where a volume, or a part of it, is in a container. */
export interface VolumeMount {
  readonly name: string;
  /** Absolute. */
  readonly mountPath: string;
  /** The part; absent: all of it. */
  readonly subPath?: string;
  /** Whether nothing can be written there. */
  readonly readOnly?: boolean;
}

/** Whom processes run as, and what they may do beyond nothing. */
export interface SecurityContext {
  readonly runAsUser?: number;
  /** Number of the user's group. */
  readonly runAsGroup?: number;
  /** Whether a container that would run as root is refused. */
  readonly runAsNonRoot?: boolean;
  /** Whether it is the node's root in all but name. */
  readonly privileged?: boolean;
  /** Whether a process can get more rights than the one that started it. */
  readonly allowPrivilegeEscalation?: boolean;
  /** Without the prefix `CAP_`. */
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  /** Whether only what is mounted can be written. */
  readonly readOnlyRootFilesystem?: boolean;
  /** Which system calls are allowed. */
  readonly seccompProfile?: { readonly type: string; readonly localhostProfile?: string };
}

export interface EnvironmentVariable {
  readonly name: string;
  /** Its value, if that is known. */
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } };
}

export interface PodContainer {
  readonly name: string;
  /** Where its image is fetched. */
  readonly image: string;
  /** In place of what the image starts. */
  readonly command?: readonly string[];
  /** Where that starts. */
  readonly workingDir?: string;
  /** Besides what the image has. */
  readonly env?: readonly EnvironmentVariable[];
  /** What a node must have free, and what may be used, by resource. */
  readonly resources?: Readonly<Partial<Record<'requests' | 'limits', Readonly<Record<string, string>>>>>;
  /** Wins over that of the pod. */
  readonly securityContext?: SecurityContext;
  /** What it finds where. */
  readonly volumeMounts?: readonly VolumeMount[];
  /** Whether its last lines tell why it failed. */
  readonly terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError';
}

/** How a container has ended. */
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
