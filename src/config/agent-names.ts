/** The agents that need no configuration; `src/agent/catalog.ts` has their commands. */
export const agentNames: readonly string[] = [
  'claude',
  'gemini',
  'codex',
  'opencode',
  'qwen',
  'copilot',
  'cursor',
];
