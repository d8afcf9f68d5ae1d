/** What people are told when the API server cannot be reached or refuses something. */
import { CaiError, messageOf, type FailureCode } from '../../../../errors';
import { printableLine } from '../../../../system/quoted';
import { objectIn } from '../../../../system/unless';
import { Silent } from '../../silence';
import { nameAnother, nameOf, type Cluster } from './kubeconfig';
import { isTlsError } from '../../../../system/tls-errors';

/** Of a long text that is no Status, so much is told, in characters. */
const maxSaid = 300;
/** Of a sentence, in characters: that of a rule can name many things. */
const maxSentence = 8_192;

/** An answer of the API server that is no success. Source: Kubernetes API conventions, "Response Status Kind". */
export class ApiRefusal extends Error {
  readonly status: number;
  /** Whether it is an API server that has answered. */
  readonly isStatus: boolean;
  /** What is missing or refused: `pods`. */
  readonly kind: string | undefined;
  /** After so many seconds it may be asked again, says the server. */
  readonly retryAfterSeconds: number | undefined;

  /** `body`: of the answer, or the object of an event of a watch. `retryAfter`: of the header. */
  constructor(status: number, body: string | object, retryAfter?: string) {
    const said = typeof body === 'string' ? statusIn(body) : (body as Status);
    const words = typeof said?.message === 'string' ? said.message.slice(0, maxSentence) : undefined;
    const text =
      words ?? (typeof body === 'string' ? printableLine(body.slice(0, maxSentence)).slice(0, maxSaid) : '');
    super(text === '' ? `HTTP status ${status}` : printableLine(text));
    this.status = status;
    this.isStatus = said !== undefined;
    this.kind = said?.details?.kind;
    this.retryAfterSeconds =
      retryAfter !== undefined && /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined;
  }
}

interface Status {
  readonly status?: string;
  readonly message?: string;
  readonly details?: { readonly kind?: string };
}

function statusIn(body: string): Status | undefined {
  const said = objectIn(body);
  // Source: Kubernetes, apiserver/pkg/server/filters/timeout.go, which leaves the kind out.
  return said?.kind === 'Status' || said?.status === 'Failure' ? said : undefined;
}

/** The failure of a request that the API server has passed on to the node of a pod, which leaves it without an answer. */
export class NodeSilent extends Error {
  constructor(seconds: number) {
    super(`no answer for ${seconds} s`);
  }
}

export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** The node could not connect to a port of a pod, or the connection has broken off. */
export class ForwardFailure extends Error {
  /** A later attempt may succeed: the program in the pod has not begun to listen, or the node's runtime is being restarted. */
  readonly isPassing: boolean;

  /** `said`: by the node, or why the connection has ended. */
  constructor({ namespace, pod, port }: PodPort, said: string) {
    super(`port ${port} of the pod ${namespace}/${pod}: ${printableLine(said)}`);
    // Source: gRPC, status codes: "Unavailable" is the one to try again after.
    this.isPassing = /connection refused|code = Unavailable/i.test(said);
  }
}

/** A program that was started in a pod did not begin, or has failed. */
export class ProgramFailure extends Error {
  /** There is no such program. */
  readonly isMissing: boolean;

  /** `said`: by the node. */
  constructor(said: string) {
    super(`the program for that has failed in the pod: ${printableLine(said)}`);
    this.isMissing = /no such file or directory/i.test(said);
  }
}

/** The HTTP status with which the API server refused; `undefined`: it did not come to that. */
export function refusalOf(reason: unknown): number | undefined {
  return reason instanceof ApiRefusal ? reason.status : undefined;
}

/** For refusals that are fine, by status. Others stay failures. */
export function unless(...fine: number[]): (reason: unknown) => undefined {
  return (reason) => {
    const status = refusalOf(reason);
    if (status === undefined || !fine.includes(status)) throw reason;
  };
}

/**
 * The failure of a request as a `CaiError`, which it may be already. `what` was tried, as in "cannot ...": `make the
 * pod x`; `code` is for a refusal that concerns that alone: a missing pod, right or namespace has its own code.
 */
export function kubernetesError(
  reason: unknown,
  { cluster, what, code }: { cluster: Cluster; what: string; code: FailureCode },
): CaiError {
  if (reason instanceof CaiError) return reason;
  const [ofWhat, text] = told(reason, cluster, what, code);
  return new CaiError(ofWhat, text, undefined, { cause: reason });
}

function told(
  reason: unknown,
  cluster: Cluster,
  what: string,
  code: FailureCode,
): readonly [FailureCode, string] {
  if (reason instanceof Silent) {
    const remedy = `see whether "kubectl get pods" works, or ${nameAnother}`;
    return ['NOT_READY', `${reason.told(nameOf(cluster), what)}: ${remedy}`];
  }
  if (reason instanceof NodeSilent) return ['NOT_READY', nodeAway(cluster, what, reason.message)];
  if (reason instanceof ApiRefusal) return refusal(reason, cluster, what, code);
  if (reason instanceof ForwardFailure || reason instanceof ProgramFailure)
    return [code, `cannot ${what}: ${reason.message}`];
  return ['NO_ENGINE', unreachable(reason, cluster, what)];
}

function refusal(
  { status, isStatus, kind, message }: ApiRefusal,
  cluster: Cluster,
  what: string,
  code: FailureCode,
): readonly [FailureCode, string] {
  const cannot = `cannot ${what}: ${message}`;
  if (status === 401) return ['NO_ENGINE', `${nameOf(cluster)} does not know you: ${signIn(cluster)}`];
  const right = status === 403 ? rightIn(message) : undefined;
  if (right !== undefined) return ['NO_ENGINE', `${nameOf(cluster)} does not let you ${what}: ${right}`];
  // Source: Kubernetes, apimachinery/pkg/util/proxy/upgradeaware.go.
  const [, dialing] = /^error dialing backend: (.*)$/.exec(message) ?? [];
  if (dialing !== undefined) return [code, nodeAway(cluster, what, dialing)];
  const [, remedy, ofRule = code] =
    (status === 403 ? rules.find(([sentence]) => sentence.test(message)) : undefined) ?? [];
  if (remedy !== undefined) return [ofRule, `${cannot}: ${remedy}`];
  if (!isStatus)
    return [
      'NO_ENGINE',
      `what answers at ${nameOf(cluster)} is no API server (HTTP status ${status}): ${nameAnother}`,
    ];
  if (status >= 500) {
    const look = `see "${kubectl(cluster, 'get --raw /readyz?verbose')}"`;
    // What it has waited for in vain once, such as its store, would take as long again.
    return [
      status === 504 ? 'NOT_READY' : code,
      `${cannot}: the cluster is not able to do that now: ${look}`,
    ];
  }
  if (status === 404 && kind === 'namespaces')
    return ['NO_ENGINE', `${cannot}: make that namespace, or name another in your config.toml`];
  if (status === 404 && kind === 'pods') return ['CONTAINER_NOT_FOUND', cannot];
  return [code, cannot];
}

/**
 * What to do where a rule of the namespace refuses something, by its sentence. Source: Kubernetes,
 * plugin/pkg/admission/{resourcequota,limitranger,security/podsecuritypolicy}, pod-security-admission/admission.
 */
const rules: readonly (readonly [sentence: RegExp, remedy: string, code?: FailureCode])[] = [
  [
    /exceeded quota/,
    'remove containers that you do not need ("cai ps --all", "cai rm"; with --volumes also the data of agents), or have the administrator raise that ResourceQuota',
    'QUOTA',
  ],
  [
    /failed quota: .*must specify/,
    'set container.memory and container.cpus in your config.toml, or have the administrator add a LimitRange with defaults, as deploy/ has one',
  ],
  [
    /(?:maximum|minimum) \S+ usage per|max limit to request ratio/,
    'set container.memory, container.cpus or the size of volumes in your config.toml to what that LimitRange allows, or have the administrator change it',
  ],
  [
    /RuntimeClass .* not found/,
    'name one of "kubectl get runtimeclasses" as kubernetes.runtime_class in your config.toml, or none',
  ],
  [
    /violates PodSecurity|pod security policy/,
    'name folders by volume claims instead of mounting folders of a node, or have the administrator give the namespace a level that allows it',
  ],
];

/**
 * What is missing, and what to do, by the sentence of an authorizer; `undefined`: something else forbids it, as a quota.
 * Source: Kubernetes, apiserver/pkg/endpoints/handlers/responsewriters/errors.go, the same since 1.6.
 */
function rightIn(message: string): string | undefined {
  const form =
    /cannot (\w+) (?:resource "([^"]+)" in API group "([^"]*)"|path "([^"]+)")(?: in the namespace "([^"]+)")?/;
  const [, verb, resource, group = '', path, namespace] = form.exec(message) ?? [];
  if (verb === undefined) return undefined;
  const on = path ?? `${resource ?? ''}${group === '' ? '' : ` of "${group}"`}`;
  const where = namespace === undefined ? 'in the whole cluster' : `in the namespace "${namespace}"`;
  return `you lack the right "${verb}" on ${on} ${where}: ask whoever runs the cluster for a role with it, such as that in deploy/`;
}

function nodeAway(cluster: Cluster, what: string, said: string): string {
  return `cannot ${what}: ${nodeAwayText('its node', said, cluster)}; when the cluster has given that node up, the next command makes the container on another one`;
}

/** `node` is what it is called; `said`: by the API server, or by us. */
export function nodeAwayText(node: string, said: string, cluster: Pick<Cluster, 'context'>): string {
  return `${node} does not answer the cluster (${said}): see "${kubectl(cluster, 'get nodes')}"`;
}

/** As people type it for that cluster. */
export function kubectl({ context }: Pick<Cluster, 'context'>, command: string): string {
  return `kubectl${context === undefined ? '' : ` --context ${context}`} ${command}`;
}

function signIn({ context }: Cluster): string {
  if (context === undefined)
    return 'the token of the service account of this pod is refused: see whether that still exists';
  return `the credentials of that context are refused or have expired: sign in again until "kubectl --context ${context} get pods" works`;
}

/** The connection failed, or ended before the answer did. */
function unreachable(reason: unknown, cluster: Cluster, what: string): string {
  const { code = '' } = reason as NodeJS.ErrnoException;
  const see = `see whether "${kubectl(cluster, 'version')}" works, or ${nameAnother}`;
  const brokeOff = `broke off while it was to ${what}: ${see}`;
  const noWay = `cannot be reached (${code}): ${see}`;
  const said: Readonly<Record<string, string>> = {
    ECONNREFUSED: `is not running, for nothing listens there: start it, or ${nameAnother}`,
    ENOTFOUND: `cannot be found, for its name has no address: ${see}`,
    EAI_AGAIN: `cannot be found, for names cannot be looked up now: ${see}`,
    ...{ ETIMEDOUT: noWay, EHOSTUNREACH: noWay, ENETUNREACH: noWay },
    ...{ ECONNRESET: brokeOff, EPIPE: brokeOff },
  };
  const otherwise = isTlsError(code)
    ? `and cai do not trust each other (${messageOf(reason)}): check the certificates of that context`
    : `could not ${what} (${messageOf(reason)}): ${see}`;
  return `${nameOf(cluster)} ${said[code] ?? otherwise}`;
}
