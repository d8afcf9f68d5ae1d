/**
 * What somebody looked at and decided to leave out of `src/rpc/protocol/methods.ts` and `src/rpc/protocol/fields.ts`, and
 * what those have beyond the schemas. `test/rpc/protocol/schema.test.ts` fails for an entry that nothing needs.
 *
 * A place is the tail of `<method>/<params|result>/<pointer>`, in whole segments: `toolCallId` is any place
 * of that name. Pointers are those of `FieldTree`, with `?tag=value` for a variant, `?tag=` for the variant
 * that lacks the tag, and `{}` for each member of a map.
 */

/** Places that one reason holds for. */
export interface Decision {
  /** Why. */
  readonly reason: string;
  /** Tails of pointers. */
  readonly places: readonly string[];
}

/** Methods of the schemas that have no row, each with the reason. */
export const methodsWithoutRow: Readonly<Record<string, string>> = {
  'proxy/initialize': 'spoken inside chains of proxies; to the editor we are an agent',
  'proxy/successor': 'as proxy/initialize',
};

/** Strings, and JSON of any type, that pass as they are. */
export const leftAlone: readonly Decision[] = [
  {
    reason: 'text for people: rewriting a path in prose would be guessing',
    places: [
      ...['title', 'name', 'description', 'text', 'message', 'label', 'email', 'organization', 'hint'],
      ...['entries/*/content', '?type=markdown/content', '?sessionUpdate=compaction_update/error'],
    ],
  },
  {
    reason: 'a word of the protocol or of a standard, a date, a version',
    places: [
      ...['apiType', 'supported/*', 'archived', 'category', 'currency', 'mimeType', 'severity'],
      ...['state', '?state=idle/stopReason', 'status', 'systemPrompt/mode'],
      ...['exitStatus/signal', 'wait_for_exit/result/signal'],
      ...['lastModified', 'updatedAt', 'clientInfo/version', 'agentInfo/version'],
    ],
  },
  { reason: 'what a command in a container has said', places: ['terminal/output/result/output'] },
  {
    reason: 'the contents of files, plain or base64',
    places: [
      ...['?type=image/data', '?type=audio/data', 'blob', 'oldText', 'newText'],
      ...['fs/write_text_file/params/content', 'fs/read_text_file/result/content'],
    ],
  },
  {
    reason: 'an id that means something in its session only, and a session has one agent',
    places: [
      ...['toolCallId', '?type=terminal/terminalId', 'planId', 'compactionId'],
      ...['messageId', 'senderMessageId', 'recipientMessageId'],
      ...['params/options/*/optionId', '?outcome=selected/optionId'],
      ...['modeId', 'currentModeId', 'availableModes/*/id'],
      ...['configId', 'set_config_option/params/?type=/value', 'configOptions/*/id', 'currentValue'],
      ...['?type=select/options/*/value', '?type=select/options/*/options/*/value', 'options/*/group'],
    ],
  },
  { reason: 'the same in every child, because all run the same agent', places: ['methodId', 'providerId'] },
  {
    reason: 'a URL or header of a server that is reached over the network, or a page for the browser',
    places: [...['headers/*/value', 'providers/set/params/headers/{}'], 'baseUrl'],
  },
  {
    reason: 'named by the editor, unique on its connection; messages name it again',
    places: ['?type=acp/serverId'],
  },
  {
    reason: 'a form of the agent and what the user filled in',
    places: [
      ...['required/*', 'properties/{}/type', 'items/type', 'pattern', 'default', 'default/*', 'enum/*'],
      ...['oneOf/*/const', 'anyOf/*/const', '?action=accept/content/{}', '?action=accept/content/{}/*'],
    ],
  },
  {
    reason: 'opaque: JSON of another protocol, of a tool or of an error',
    places: [
      ...['rawInput', 'rawOutput', 'error/data'],
      ...['mcp/message/params/method', 'mcp/message/params/params', 'mcp/message/result/result'],
    ],
  },
];

/** Places of the tables that no schema has. */
export const extensions: readonly Decision[] = [
  {
    reason: 'claude-agent-acp: further roots of a session, and the session it goes on from',
    places: [
      ...['_meta/additionalRoots/*', '_meta/claudeCode/options/additionalDirectories/*'],
      '_meta/claudeCode/options/resume',
    ],
  },
  {
    reason: 'claude-agent-acp: the session again, as in the result of session/new',
    places: ['session/load/result/sessionId', 'session/resume/result/sessionId'],
  },
  {
    reason: 'claude-agent-acp and codex-acp towards JetBrains AIR',
    places: [
      ...['_meta/jetbrains/air/forkedFrom', '_meta/jetbrains/air/skillPath'],
      ...[
        '?sessionUpdate=subagent_spawned/subagentSessionId',
        '?sessionUpdate=subagent_state_update/subagentSessionId',
      ],
    ],
  },
  { reason: 'ours: what cai itself says', places: ['params/_meta/containai'] },
  { reason: 'codex-acp: where a displayed command runs', places: ['_meta/terminal_info/cwd'] },
  {
    reason: 'Zed: sign-in by a command that the editor runs',
    places: [
      'clientCapabilities/_meta/terminal-auth',
      'initialize/result/_meta/terminal-auth',
      'error/data/authMethods',
      'error/data/_meta/terminal-auth',
      'error/data/terminal-auth',
      'error/_meta/terminal-auth',
    ],
  },
  {
    reason: 'one of the words of the protocol, which are not walked; only looked at',
    places: ['?sessionUpdate=tool_call/status', '?sessionUpdate=tool_call_update/status'],
  },
  {
    reason: 'v2 names the transport; editors that speak both may do so in v1',
    places: ['?type=stdio/command', '?type=stdio/args/*', '?type=stdio/env/*/value'],
  },
  {
    reason: 'v1 leaves error data open; with -32002 agents name the session there, as v2 describes',
    places: ['error/data/sessionId'],
  },
];
