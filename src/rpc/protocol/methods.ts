/**
 * The methods of ACP v1, stable and unstable, and the extensions in use, as data: who sends what, where
 * it goes, what must be advertised for it, and which fields are looked at. A method that has no row is
 * routed by what its params name and passed on, never rejected.
 */
import * as fields from './fields';
import type { FieldTree } from './fields';

/** Where a request or notification of the editor goes. */
export type EditorRoute =
  /** Answered by the proxy from a child's answer: `initialize`. */
  | 'initialize'
  /** To every child; one answer. `repeat` rows are sent again to children that start later. */
  | 'all'
  /** To the first child. If no child runs, one is started. */
  | 'primary'
  /** Opens a session in the workspace of `cwd`. */
  | 'new'
  /** Opens a session that exists, in the workspace of `cwd`. */
  | 'open'
  /** To the child of the session that `sessionId` names. */
  | 'session'
  /** As `session`; the result names a new session of that child. */
  | 'fork'
  /** As `session`, and the session ends with it. */
  | 'close'
  /** As `close`, also for a remembered session, whose agent is started. */
  | 'delete'
  /** As `close`, but answered by the proxy: no agent knows the method. */
  | 'end'
  /** Gathered from the children, page by page. */
  | 'list'
  /** `$/cancel_request`: to whoever has the request. */
  | 'cancel'
  /** MCP-over-ACP: to the child that has the MCP request open. */
  | 'mcp'
  /** By what the params name: a session, sessions, a folder, else the only or last used child. */
  | 'any';

/** Where a request or notification of an agent goes. */
export type AgentRoute =
  | 'editor'
  /** To the editor, if it offers this and the path lies inside the session's roots. */
  | 'file'
  /** To the editor, if it offers this. What runs there is `cai`, which runs the agent's command in its container. */
  | 'terminal'
  /** To the editor, in a mode that it offers; else -32602. */
  | 'elicitation'
  | 'elicitationComplete'
  /** To the editor; later messages about it find their way back: MCP-over-ACP. */
  | 'mcp'
  /** To the editor, from the first child only and only when it says something new. */
  | 'status'
  /** `$/cancel_request`: to the editor, under the id that the request has there. */
  | 'cancel'
  /** To the editor, if it has announced the extension; otherwise it is asked in words of ACP. */
  | 'cursor'
  /** To the editor, if it has announced the extension. */
  | 'announced'
  /** Would act on the host, or is ours: answered -32601. */
  | 'refuse';

/** One method, as one side sends it. */
export interface Method<Route> {
  readonly route: Route;
  /** The schema that has it; `extension`: none. */
  readonly origin: 'stable' | 'unstable' | 'extension';
  /**
   * What the receiver must have advertised, as a dotted path below `agentCapabilities` (editor's methods)
   * or `clientCapabilities` (agents' methods). Without it the sender gets -32601.
   */
  readonly capability?: string;
  readonly params: FieldTree;
  /** The places in the result of a request; an error has `errorObject` instead. */
  readonly result: FieldTree;
  /** It exists only as a notification: as a request it is refused, and has no effect. */
  readonly isNotification?: true;
  /** It is about what the agent has stored of a session, which need not be open. */
  readonly isAboutStored?: true;
  /** For `all`: sent again to children that start later, in the order of arrival; `clear` empties that list. */
  readonly repeat?: 'keep' | 'clear';
}

const none: FieldTree = {};

function stable<Route>(route: Route, params: FieldTree, more: Partial<Method<Route>> = {}): Method<Route> {
  return { route, origin: 'stable', params, result: none, ...more };
}

function unstable<Route>(route: Route, params: FieldTree, more: Partial<Method<Route>> = {}): Method<Route> {
  return stable(route, params, { origin: 'unstable', ...more });
}

function extension<Route>(route: Route, params: FieldTree, more: Partial<Method<Route>> = {}): Method<Route> {
  return stable(route, params, { origin: 'extension', ...more });
}

function stored(capability: string): Method<EditorRoute> {
  return unstable('session', fields.inSession, { capability, isAboutStored: true });
}

const isNotification = true;

export const editorMethods: Readonly<Record<string, Method<EditorRoute>>> = {
  initialize: stable('initialize', fields.initializeParams, { result: fields.initializeResult }),
  authenticate: stable('all', none, { repeat: 'keep' }),
  logout: stable('all', none, { capability: 'auth.logout', repeat: 'clear' }),
  'auth/status': unstable('primary', none, { capability: 'auth.status' }),
  'providers/list': unstable('primary', none, { capability: 'providers' }),
  'providers/set': unstable('all', none, { capability: 'providers', repeat: 'keep' }),
  'providers/disable': unstable('all', none, { capability: 'providers', repeat: 'keep' }),
  'session/new': stable('new', fields.sessionSetup, { result: fields.inSession }),
  'session/load': stable('open', fields.sessionReopen, {
    capability: 'loadSession',
    result: fields.inSession,
  }),
  'session/resume': stable('open', fields.sessionReopen, {
    capability: 'sessionCapabilities.resume',
    result: fields.inSession,
  }),
  'session/fork': unstable('fork', fields.sessionReopen, {
    capability: 'sessionCapabilities.fork',
    result: fields.inSession,
  }),
  'session/list': stable('list', fields.listParams, {
    capability: 'sessionCapabilities.list',
    result: fields.listResult,
  }),
  'session/delete': stable('delete', fields.inSession, { capability: 'sessionCapabilities.delete' }),
  'session/close': stable('close', fields.inSession, { capability: 'sessionCapabilities.close' }),
  'session/archive': stored('sessionCapabilities.archive'),
  'session/unarchive': stored('sessionCapabilities.archive'),
  'session/set_title': stored('sessionCapabilities.title'),
  'session/status': unstable('session', fields.inSession, { capability: 'sessionCapabilities.status' }),
  'session/set_mode': stable('session', fields.inSession),
  'session/set_config_option': stable('session', fields.inSession),
  'session/prompt': stable('session', fields.prompt),
  'session/cancel': stable('session', fields.inSession),
  'mcp/message': unstable('mcp', fields.mcpMessage),
  '$/cancel_request': stable('cancel', { requestId: 'requestId' }, { isNotification }),

  // No schema has these. `session/end` is for clients written before ACP had `session/close`.
  'session/end': extension('end', fields.inSession),
  'session/set_model': extension('session', fields.inSession),
  '_session/steering': extension('session', fields.prompt),
  '_session/batch_get': extension('any', fields.inSessions, { result: fields.sessionRows }),
  '_session/list/subscribe': extension('any', { cwd: 'cwd' }),
  // It names a subscription and no folder; agents take one that is not theirs for done.
  '_session/list/unsubscribe': extension('all', none),
  'authentication/status': extension('primary', none),
  'authentication/logout': extension('all', none, { repeat: 'clear' }),
};

export const agentMethods: Readonly<Record<string, Method<AgentRoute>>> = {
  'session/update': stable('editor', fields.update),
  'session/request_permission': stable('editor', fields.permission),
  'fs/read_text_file': stable('file', fields.file, { capability: 'fs.readTextFile' }),
  'fs/write_text_file': stable('file', fields.file, { capability: 'fs.writeTextFile' }),
  'terminal/create': stable('terminal', fields.terminalCreate, {
    capability: 'terminal',
    result: fields.terminalCreated,
  }),
  'terminal/output': stable('terminal', fields.inTerminal, { capability: 'terminal' }),
  'terminal/release': stable('terminal', fields.inTerminal, { capability: 'terminal' }),
  'terminal/wait_for_exit': stable('terminal', fields.inTerminal, { capability: 'terminal' }),
  'terminal/kill': stable('terminal', fields.inTerminal, { capability: 'terminal' }),
  'elicitation/create': stable('elicitation', fields.elicitation, { result: fields.elicitationResult }),
  'elicitation/complete': stable(
    'elicitationComplete',
    { elicitationId: 'elicitationId' },
    { isNotification },
  ),
  'mcp/message': unstable('mcp', fields.mcpMessage),
  'auth/status_update': unstable('status', none, { isNotification }),
  '$/cancel_request': stable('cancel', { requestId: 'requestId' }, { isNotification }),

  '_auth/status_update': extension('status', none, { isNotification }),
  '_session/list/changes': extension('editor', fields.listChanges),
  'cursor/ask_question': extension('cursor', fields.inSession),
  'cursor/create_plan': extension('cursor', fields.inSession),
  'cursor/update_todos': extension('cursor', fields.inSession),
};

/** The row of a method that the editor sent and no row describes. */
export const unknownEditorMethod = extension<EditorRoute>('any', fields.unknownFromEditor, {
  result: fields.inSession,
});

/** The row of a method that an agent sent and no row describes. */
export const unknownAgentMethod = extension<AgentRoute>('editor', fields.inSession);

/** The row of an agent's method that acts, by its name, on files or commands; see `method-rows.ts`. */
export const actingAgentMethod = extension<AgentRoute>('announced', fields.inSession);

/** The row of an agent's method that no editor gets, whatever it has announced. */
export const refusedAgentMethod = extension<AgentRoute>('refuse', none);
