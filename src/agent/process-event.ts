import type { CaiError } from '../errors';
import type { OverlongLine } from '../rpc/long-line';
import type { Line } from '../rpc/splice';
import type { AgentStatus } from '../rpc/status';

/** What a process tells whoever has started it. */
export type ProcessEvent =
  /** A line of its stdout, in order; none comes while the process is paused. */
  | { readonly kind: 'line'; readonly line: Buffer | OverlongLine }
  /**
   * What its stdout has next, as consecutive buffers from the start of a line; only with `offersLines`. The listener may
   * take several whole lines at once, and says by `take` how many bytes these are; else the next line comes as `line`.
   */
  | { readonly kind: 'lines'; readonly pieces: readonly Buffer[]; readonly take: (bytes: number) => void }
  /** What the command says on descriptor 3; never from a command without status. */
  | { readonly kind: 'status'; readonly status: AgentStatus }
  /** The command asks whether it may connect to a place, as `StatusLink` says. `answer` has to be called. */
  | {
      readonly kind: 'asks';
      readonly place: string;
      readonly answer: (isAllowed: boolean | undefined) => void;
    }
  /** A line was written to its stdin, with its line end. */
  | { readonly kind: 'sent'; readonly line: Line }
  /** It has read all that `send` has written, after it had not for a while. */
  | { readonly kind: 'drained' }
  /** What it writes to stderr, as it comes. */
  | { readonly kind: 'stderr'; readonly text: string }
  /** It says nothing more though it has not ended, and is being ended for that. Not always told. */
  | { readonly kind: 'mute' }
  /** Once, after its last line. `reason` says how it ended; the tail of its stderr is in its `data.details`. */
  | { readonly kind: 'end'; readonly reason: CaiError };
