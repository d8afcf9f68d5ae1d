/** A row as the page has it. */

/** One line of the recording; `line` counts from 1, and the first is 2. */
export interface Row {
  readonly line: number;
  /** Where it lies in the file. */
  readonly at: number;
  readonly bytes: number;
  readonly kind: 'request' | 'notification' | 'response' | 'defect' | 'event' | 'damaged';
  /** Milliseconds after the start. */
  readonly ms: number | undefined;
  readonly side: string | undefined;
  readonly child: number | undefined;
  readonly id: string | undefined;
  readonly method: string | undefined;
  /** Of a call that opens a session, this is known from its answer. */
  session: string | undefined;
  readonly update: string | undefined;
  readonly tool: string | undefined;
  readonly status: string | undefined;
  readonly text: string | undefined;
  readonly size: number | undefined;
  readonly redacted: number;
  readonly isError: boolean;
  /** The line of the request that it answers, or of the answer to it. */
  other: number | undefined;
  /** From request to answer, in milliseconds. */
  tookMs: number | undefined;
  readonly spent: Spent | undefined;
}

/** Tokens of a turn, or a part of the cost. */
export interface Spent {
  readonly workspace: string;
  readonly tokens?: { readonly input: number; readonly output: number; readonly total: number };
  readonly cost?: { readonly amount: number; readonly currency: string };
}
