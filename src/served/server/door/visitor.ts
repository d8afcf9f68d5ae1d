/** Whoever has come in to `cai serve`. */
export interface Visitor {
  readonly name: string;
  /** That of `[[serve.groups]]` by which they come in; undefined: by their own name. */
  readonly group?: string;
  /** The agents that they may use; undefined: all that are served. */
  readonly agents?: readonly string[];
  /** Real paths of the folders in which their workspaces lie; undefined: all of this machine. */
  readonly workspaces?: readonly string[];
}

/** What a request that is not let in is answered with. */
export interface Refusal {
  readonly status: number;
  /** A sentence for people, which holds nothing of the request but the host that it names. */
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Tells a refusal from what is let in. */
export function isRefusal(answer: object): answer is Refusal {
  return 'status' in answer;
}
