import type { ProcessEvent } from '../../agent/process-event';
import type { AgentStatus } from '../../rpc/status';

export type AgentOutput = Extract<ProcessEvent, { readonly kind: 'line' | 'lines' | 'asks' }>;

export type ChildEvent =
  /** A process has been started: the first one, or another in its place. */
  | { readonly kind: 'start' }
  | { readonly kind: 'status'; readonly status: AgentStatus }
  /** The child is being ended, and does nothing more for its sessions. May be told several times. */
  | { readonly kind: 'stopping' }
  /** Once, after the last line, when everything open has failed. */
  | { readonly kind: 'end' };

/** What a child has for the proxy. The end comes once, after all that the child had open has failed. */
export type AgentEvent = AgentOutput | Extract<ChildEvent, { readonly kind: 'end' }>;
