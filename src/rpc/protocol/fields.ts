/**
 * Where in ACP messages the proxy looks: every session id, path, URI and cross-referenced id that it
 * must check or rewrite, as data. Everything that is not named here leaves the proxy byte for byte.
 *
 * Source: the JSON schemas of `@agentclientprotocol/sdk` (v1, stable and unstable); the extensions are
 * those that today's agents use without a schema. `test/rpc/protocol/schema.test.ts` compares both ways.
 */

/** What the string (for `requestId`: any scalar) at a place means, and so how it is rewritten. */
export type FieldKind =
  /** The session that a message is about: the editor's id towards the editor, the agent's towards the agent. */
  | 'session'
  /** The id of another session, rewritten likewise; an array of them. */
  | 'sessionRef'
  | 'sessionRefs'
  /** One session of a list, whose `listed` id and `cwd` belong together; all of them. */
  | 'row'
  | 'rows'
  | 'listed'
  /** The working directory of the session that the message is about: decides the workspace. */
  | 'cwd'
  /** A further root of that session; it must be servable or the request fails. */
  | 'root'
  /** A path. Rewritten only when it is absolute and inside a workspace; anything else passes. */
  | 'path'
  /** A URI. Rewritten only when it is a `file:` URI inside a workspace. */
  | 'uri'
  /** The envelope id of another request, as JSON text. */
  | 'requestId'
  /** The id of an elicitation, unique on the editor's connection. */
  | 'elicitationId'
  /** How an elicitation wants its answer; refused when the editor did not offer the mode. */
  | 'elicitationMode'
  /** An address that the editor is to open. */
  | 'url'
  /** What the user did with an elicitation. */
  | 'elicitationAction'
  /** One of the MCP servers that the editor names for a session: all of it, its name, its address. */
  | 'mcpEntry'
  | 'mcpName'
  | 'mcpUrl'
  /** The MCP server (of the editor) that an MCP-over-ACP message is for. */
  | 'mcpServer'
  /** The inner request id of an MCP-over-ACP message. */
  | 'mcpRequest'
  /** Which variant of `session/update` a message is. */
  | 'updateKind'
  /** Which tool call an update is about, and how far it is: looked at, never changed. */
  | 'toolCallId'
  | 'toolStatus'
  /** Of `ownMark`: false in what agents send. */
  | 'ownMark'
  /** A paging cursor, opaque. */
  | 'cursor'
  /** The protocol version, a number. */
  | 'version'
  /** One to run a sign-in in a terminal, told only where that runs in a container. */
  | 'signInCapability'
  /** The capability of the editor's terminals, told only where commands in them run in a container. */
  | 'terminalCapability'
  /** A capability of the editor's files, told only to agents without a container. */
  | 'fileCapability'
  /** The sign-in methods of an agent, an array. */
  | 'authMethods'
  /** A command that some editors would run on the host. */
  | 'hostCommand'
  /** What an error says to whoever uses the editor, shortened where it is very long. */
  | 'errorMessage'
  /** The `code` of an error, legal or not. */
  | 'errorCode'
  /** The id of a terminal that the editor gave. */
  | 'terminal'
  /** What an agent wants to run in a terminal, replaced by what we let run: a string, two arrays, a path inside. */
  | 'terminalCommand'
  | 'terminalArgs'
  | 'terminalEnv'
  | 'terminalCwd';

/** The places below one JSON value, in the form of `PlanSource`. */
export interface FieldTree {
  readonly [key: string]: FieldTree | FieldKind;
}

/** `ContentBlock`: base64 data and text are never touched. */
const content: FieldTree = {
  '?type': { image: { uri: 'uri' }, resource_link: { uri: 'uri' }, resource: { resource: { uri: 'uri' } } },
};

/** `ToolCall` and `ToolCallUpdate`. `rawInput` and `rawOutput` are the agent's own and pass untouched. */
const toolCall: FieldTree = {
  locations: { '*': { path: 'path' } },
  content: { '*': { '?type': { content: { content }, diff: { path: 'path' } } } },
  _meta: { terminal_info: { cwd: 'path' } },
};

/** As `toolCall`, where it tells how far a tool call is. */
const toolProgress: FieldTree = { ...toolCall, toolCallId: 'toolCallId', status: 'toolStatus' };

/** `McpServer`: only the stdio form, which has no `type` in v1, starts a program. */
const stdioServer: FieldTree = { command: 'path', args: { '*': 'path' }, env: { '*': { value: 'path' } } };
const remoteServer: FieldTree = { url: 'mcpUrl' };
const mcpServers: FieldTree = {
  '*': {
    '=': 'mcpEntry',
    name: 'mcpName',
    '?type': { '': stdioServer, stdio: stdioServer, http: remoteServer, sse: remoteServer },
  },
};

/** Params of the requests that open a session. */
export const sessionSetup: FieldTree = {
  cwd: 'cwd',
  additionalDirectories: { '*': 'root' },
  mcpServers,
  systemPrompt: { content: { '*': content } },
  _meta: {
    additionalRoots: { '*': 'root' },
    claudeCode: { options: { resume: 'sessionRef', additionalDirectories: { '*': 'root' } } },
  },
};

/** As `sessionSetup`, for a session that exists. */
export const sessionReopen: FieldTree = { ...sessionSetup, sessionId: 'session' };

/** Params that name a session and nothing else of interest. */
export const inSession: FieldTree = { sessionId: 'session' };

/** Params of `session/prompt` and what looks like it. */
export const prompt: FieldTree = { sessionId: 'session', prompt: { '*': content } };

export const listParams: FieldTree = { cwd: 'cwd', cursor: 'cursor' };

/** `SessionInfo`: a row of a session list. */
const sessionInfo: FieldTree = {
  '=': 'row',
  sessionId: 'listed',
  cwd: 'cwd',
  additionalDirectories: { '*': 'path' },
  _meta: { jetbrains: { air: { forkedFrom: 'sessionRef' } } },
};

/** Result of `_session/batch_get`: rows of a session list. */
export const sessionRows: FieldTree = { sessions: { '=': 'rows', '*': sessionInfo } };

export const listResult: FieldTree = { ...sessionRows, nextCursor: 'cursor' };

/** Params of `_session/list/changes`: rows that are new or differ, and ids of those that are gone. */
export const listChanges: FieldTree = { ...sessionRows, removed: { '*': 'sessionRef' } };

/** Params of the requests that name several sessions. */
export const inSessions: FieldTree = { sessionIds: { '=': 'sessionRefs', '*': 'sessionRef' } };

/** The params of messages in a thread: where `ownMark` is in ours. */
const inThread: FieldTree = { sessionId: 'session', _meta: { containai: 'ownMark' } };

/** Params of `session/update`, by variant; a variant that is not named has only its session rewritten. */
export const update: FieldTree = {
  ...inThread,
  update: {
    sessionUpdate: 'updateKind',
    '?sessionUpdate': {
      user_message_chunk: { content },
      agent_message_chunk: { content },
      agent_thought_chunk: { content },
      session_message_chunk: { content },
      compaction_summary_chunk: { content },
      compaction_update: { summary: { '*': content } },
      tool_call: toolProgress,
      tool_call_update: toolProgress,
      plan_update: { plan: { '?type': { file: { uri: 'uri' } } } },
      session_message: {
        senderSessionId: 'sessionRef',
        recipientSessionId: 'sessionRef',
        content: { '*': content },
      },
      subagent_update: {
        sessionId: 'sessionRef',
        cwd: 'path',
        additionalDirectories: { '*': 'path' },
        state: { error: { data: { sessionId: 'sessionRef' } } },
      },
      // An earlier form of subagents, which agents still speak with some editors.
      subagent_spawned: { subagentSessionId: 'sessionRef' },
      subagent_state_update: { subagentSessionId: 'sessionRef' },
      available_commands_update: {
        availableCommands: { '*': { _meta: { jetbrains: { air: { skillPath: 'path' } } } } },
      },
    },
  },
};

export const permission: FieldTree = { ...inThread, toolCall };

/** Params of `fs/read_text_file` and `fs/write_text_file`; the content is never looked at. */
export const file: FieldTree = { sessionId: 'session', path: 'path' };

export const terminalCreate: FieldTree = {
  sessionId: 'session',
  command: 'terminalCommand',
  args: 'terminalArgs',
  env: 'terminalEnv',
  cwd: 'terminalCwd',
};

export const terminalCreated: FieldTree = { terminalId: 'terminal' };

/** Params of the other methods of a terminal. */
export const inTerminal: FieldTree = { sessionId: 'session', ...terminalCreated };

/** Params of `elicitation/create`, in the scope of a session or of a request. The URL is left alone. */
export const elicitation: FieldTree = {
  sessionId: 'session',
  requestId: 'requestId',
  mode: 'elicitationMode',
  elicitationId: 'elicitationId',
  url: 'url',
};

/** Result of `elicitation/create`: whether the user agreed. */
export const elicitationResult: FieldTree = { action: 'elicitationAction' };

/** Params of `mcp/message`; the MCP message inside is opaque. */
export const mcpMessage: FieldTree = { serverId: 'mcpServer', requestId: 'mcpRequest' };

/** Params of `initialize`: what is switched off or set before a child sees it. */
export const initializeParams: FieldTree = {
  protocolVersion: 'version',
  clientCapabilities: {
    fs: { readTextFile: 'fileCapability', writeTextFile: 'fileCapability' },
    terminal: 'terminalCapability',
    auth: { terminal: 'signInCapability' },
    _meta: { 'terminal-auth': 'signInCapability' },
  },
};

/** Result of `initialize`: what is filtered before the editor sees it. */
export const initializeResult: FieldTree = {
  protocolVersion: 'version',
  authMethods: 'authMethods',
  _meta: { 'terminal-auth': 'hostCommand' },
};

/** What a result of `initialize` may say, and an error as well, for an editor that looks there. */
const runnable: FieldTree = { 'terminal-auth': 'hostCommand' };

/** `error` of any response: -32002 names the session it did not find, -32000 how to sign in. */
export const errorObject: FieldTree = {
  code: 'errorCode',
  message: 'errorMessage',
  data: { sessionId: 'sessionRef', authMethods: 'authMethods', _meta: runnable, ...runnable },
  _meta: runnable,
};

/** Params of an editor's method that no row describes: enough to route it. */
export const unknownFromEditor: FieldTree = { sessionId: 'session', ...inSessions, cwd: 'cwd' };
