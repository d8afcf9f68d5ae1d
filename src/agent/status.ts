/** What a command says of itself before the agent runs in it: a JSON object a line, on descriptor 3. */

/** One line of it. */
export type AgentStatus =
  /** The agent runs; nothing follows. Id and name of the image that it runs in, where they are told. */
  | { readonly kind: 'started'; readonly image?: string; readonly imageName?: string }
  /** The agent does not run, or no longer; the code of the failure. Why is said on stderr. */
  | { readonly kind: 'failed'; readonly code: string }
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
    if (value?.kind === 'started') return { kind: 'started', ...textsOf(value, 'image', 'imageName') };
    if (value?.kind === 'failed' && typeof value.code === 'string')
      return { kind: 'failed', code: value.code };
    const isTold = (value?.kind === 'notice' || value?.kind === 'delay') && typeof value.text === 'string';
    return isTold ? (value as AgentStatus) : undefined;
  } catch {
    return undefined;
  }
}

function textsOf(
  value: Partial<Record<string, unknown>>,
  ...names: readonly string[]
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (typeof value[name] === 'string' ? [[name, value[name]] as const] : [])),
  );
}
