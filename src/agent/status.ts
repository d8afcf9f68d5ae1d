/** What a command says of itself before the agent runs in it: a JSON object a line, on descriptor 3. */

/** One line of it. */
export type AgentStatus =
  /** The agent runs; nothing follows. */
  | { readonly kind: 'started' }
  /** Something that the user should know. */
  | { readonly kind: 'notice'; readonly text: string }
  /** Something that can take minutes, as building an image: the agent is not to be waited for meanwhile. */
  | { readonly kind: 'delay'; readonly text: string };

/** A line for it, with its newline. */
export function statusLine(status: AgentStatus): string {
  return `${JSON.stringify(status)}\n`;
}

/** `undefined` for a line that is none. */
export function parseStatus(line: string): AgentStatus | undefined {
  try {
    const value = JSON.parse(line) as Partial<Record<string, unknown>> | null;
    if (value?.kind === 'started') return { kind: 'started' };
    const isTold = (value?.kind === 'notice' || value?.kind === 'delay') && typeof value.text === 'string';
    return isTold ? (value as AgentStatus) : undefined;
  } catch {
    return undefined;
  }
}
