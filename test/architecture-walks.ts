/** What a reader opens to follow one thing through the sources; `test/architecture.test.ts` compares it with them. */
import type { Walk } from './architecture-rules';

/** Small functions without a flow, of which a reader needs no more than the name. */
const smallParts = {
  errors: 'the table of all failures',
  'system/': 'functions of this machine, each with one task',
};

const onTheWay = {
  ...smallParts,
  'rpc/json': 'the door to the next one',
  'rpc/json/': 'how JSON is walked, behind a door: the flow sees the places that come of it',
  'rpc/answer': 'writes lines of our own',
  'rpc/open-requests': 'a table of requests by their ids',
};

/** A prompt of the editor to its agent, then an update of the agent to the editor. */
const prompt: Walk = {
  files: [
    ...['acp/proxy', 'rpc/scanner', 'rpc/message'],
    ...['acp/calls/editor-calls', 'rpc/protocol/methods', 'acp/relay/core', 'acp/sessions/request-table'],
    'acp/sessions/session-table',
    ...['acp/sessions/session', 'acp/relay/rewrite', 'acp/sessions/session-ids', 'rpc/splice'],
    ...['acp/child/child', 'acp/child/child-requests', 'agent/process', 'rpc/line'],
    ...['acp/agent-requests', 'acp/sessions/session-update', 'rpc/writer'],
  ],
  aside: {
    ...onTheWay,
    'rpc/protocol/fields': 'data: places in params and results',
    'rpc/protocol/capabilities': 'whether the other side offers something',
    'rpc/protocol/refusals': 'sentences for refusals',
    'rpc/protocol/method-rows': 'finds the row of a method of an agent',
    'rpc/byte-budget': 'counts bytes of what waits',
    'rpc/line-pieces': 'holds the pieces of a line that spans chunks',
    'rpc/long-line': 'lines that are too long',
    'rpc/white-space': 'white space of messages: small functions',
    'rpc/status': 'what `cai exec` says of a container',
    'rpc/webassembly/': 'many chunks at once, behind a door: docs/decisions/0018-hot-path.md',
    'agent/agent-streams': 'which pipes the lines go by',
    'agent/process-end': 'the end of a process',
    'acp/calls/': 'other calls',
    'acp/child/agent-starts': 'when a process is started',
    'acp/child/child-failures': 'sentences for failures',
    'acp/cursor/': 'requests that only the agent "cursor" has',
    'acp/defects': 'lines that cannot be passed on',
    'acp/elicitations': 'questions of agents to the user',
    'acp/file-requests': 'files through the editor',
    'acp/mcp/': 'MCP servers',
    'acp/observers/': 'observers',
    'acp/child/children': 'starts agents; their lines pass it by',
    'acp/child/held-tasks': 'what waits for the start of an agent',
    'acp/child/open-turns': 'counts the prompts of each session',
    'acp/relay/answer-edits': 'answers alone: sign-ins, and long errors',
    'acp/sessions/agent-request-table': 'the requests of agents by their ids',
    'acp/sessions/editor-call': 'copies the line of a call that waits, and counts its bytes',
    'acp/sessions/observer': 'an observer',
    'acp/sessions/session-memory': 'an observer',
    'acp/sessions/session-records': 'sessions of earlier processes',
    'acp/sessions/session-settings': 'set again after a loss',
    'acp/shutdown': 'the end of the connection',
    'acp/sign-in/': 'what agents say about signing in',
    'acp/terminals': 'terminals through the editor',
  },
  most: { files: 19, lines: 3_214 },
};

/** `cai exec`, from its arguments to a command that runs in a container of Docker, which is made first if need be. */
const exec: Walk = {
  files: [
    ...['main', 'commands/commands', 'commands/run/exec', 'commands/support/command', 'commands/run/guard'],
    ...['commands/containers/target', 'commands/containers/voice', 'workspace/trust', 'workspace/root'],
    ...['config/effective-config', 'container/engine/find-engine', 'container/engine/engine'],
    ...['container/engine/docker/docker-engine', 'container/spec/settings', 'container/image/image-request'],
    ...['container/provide', 'container/decide', 'container/check', 'container/spec/labels'],
    ...['container/spec/changes', 'container/image/image-tag', 'container/image/image', 'container/make'],
    ...['container/spec/plan', 'container/spec/files', 'container/spec/mounts/mounts'],
    'container/spec/mounts/protection',
    ...['container/spec/user-settings', 'container/ssh/keys', 'container/ssh/ssh'],
    ...['container/ssh/ssh-target', 'container/environment', 'container/ssh/remote-command'],
    ...['container/ssh/remote-process', 'container/ssh/relay'],
    ...['commands/run/way-out', 'container/egress', 'commands/run/ssh-agent-socket', 'commands/run/set-up'],
    'container/ssh/agent-watch',
  ],
  aside: {
    ...smallParts,
    'commands/': 'other commands, and what the terminal is',
    'agent/': 'which agents there are',
    'rpc/status': 'only `--status-fd` has it',
    'config/': 'how a file of the configuration is read: the walk has the outcome',
    'network/index': 'the door to the proxy for containers, which has a walk of its own',
    'workspace/':
      'questions about a folder, each with one answer: what git has there, what is protected, a devcontainer',
    'container/endings': 'sentences for ends',
    'container/copy/copy': 'only clusters without shared folders',
    'container/registry/registry': 'only for clusters',
    'container/engine/kubernetes/': 'the other engine',
    'container/engine/docker/': "requests of Docker's API, behind the door `docker-engine`",
    'container/engine/container-info': 'types and their readers',
    'container/engine/container-processes': 'questions to a container',
    'container/engine/seccomp': 'data',
    'container/services': 'only where services are configured',
    'container/ssh/host-port': 'only where ports of this machine are configured',
    'container/spec/service': 'what such a service is to be',
    'container/image/devcontainer-image': 'how the image of such a service is built',
    'container/image/build': 'how an image is built, if there is none',
    'container/image/build-lock': 'one build at a time',
    'container/image/progress': 'shows how a build goes on',
    'container/patience': 'how long is waited for an engine',
    'container/served-limit': 'only on a server',
    'container/spec/container-user': 'the number of a user',
    'container/spec/inner-entry': 'makes a file, a folder or a link',
    'container/spec/names': 'the name of a container or a volume',
    'container/spec/node-headers': 'for native modules',
    'container/spec/rights': 'the numbers of its limits',
    'container/spec/mounts/own-folders': 'only where `container.own` names folders',
    'container/spec/mounts/shared-folders': 'only engines on other machines',
    'container/ssh/limit-warnings': 'sentences for warnings',
    'container/ssh/pace': 'pauses streams',
    'container/ssh/short-command': 'questions to a container',
    'container/ssh/window': 'how much the streams of a channel keep',
  },
  most: { files: 40, lines: 5_043 },
};

/** A frame from a client of `cai serve` to its process, and one back. */
const frame: Walk = {
  files: [
    ...['served/server/websocket', 'served/server/served-connection'],
    'served/server/client-stream',
    ...['served/server/traffic/traffic', 'served/server/traffic/elsewhere'],
    ...['served/server/traffic/live-session', 'served/server/traffic/transitions'],
    ...['rpc/scanner', 'rpc/message', 'rpc/splice', 'agent/process', 'rpc/line'],
  ],
  aside: {
    ...onTheWay,
    'rpc/line-pieces': 'holds the pieces of a line that spans chunks',
    'rpc/long-line': 'lines that are too long',
    'rpc/white-space': 'white space of messages: small functions',
    'rpc/status': 'what the process says of its agents',
    'agent/agent-streams': 'stdin and stdout of the process',
    'agent/process-end': 'the end of a process',
    'rpc/byte-budget': 'a sentence about a limit',
    'served/carried': 'types',
    'served/server/door/': 'who may come in',
    'served/server/http/body': 'what a limit is called',
    'served/server/kept-lines': 'keeps the latest lines, by their numbers, within a budget',
    'served/server/traffic/session-claims': 'which server has a session open',
    'served/server/traffic/shared-questions': 'questions of agents to all clients',
  },
  most: { files: 12, lines: 2_139 },
};

/** All, by what is followed. */
export const walks: Readonly<Record<string, Walk>> = {
  'a prompt with its update': prompt,
  '`cai exec`': exec,
  'a frame of `cai serve`': frame,
};
