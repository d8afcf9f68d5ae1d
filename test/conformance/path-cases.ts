/**
 * A message for every place of a path that the tables name: what is sent where a workspace stands at
 * `root`, in the ids of the side that knows its session as `session`.
 */
import type { Json } from '../support/inbox';

/** Makes params or results for a workspace at `root`, with a session of it. */
export type PathCase = (root: string, session: string) => Json[];

function uri(root: string, below: string): string {
  return `file://${encodeURI(root)}/${below}`;
}

/** One block of each type that has a URI. */
function contents(root: string): Json[] {
  return [
    { type: 'image', data: 'AAAA', mimeType: 'image/png', uri: uri(root, 'a%20picture.png') },
    { type: 'resource_link', name: 'a', uri: uri(root, 'src/a.ts') },
    { type: 'resource', resource: { uri: uri(root, 'src/a.ts#L1'), text: 'text' } },
  ];
}

function servers(root: string): Json[] {
  const server = { name: 'tool', command: `${root}/bin/tool`, args: ['--data', `${root}/data`] };
  const withEnv = { ...server, env: [{ name: 'TOOL_HOME', value: `${root}/home` }] };
  return [withEnv, { ...withEnv, type: 'stdio' }];
}

function setup(root: string): Json {
  return {
    cwd: `${root}/src`,
    additionalDirectories: [`${root}/lib`, `${root}/docs`],
    mcpServers: servers(root),
    systemPrompt: { mode: 'append', content: contents(root) },
    _meta: {
      additionalRoots: [`${root}/one`],
      claudeCode: { options: { additionalDirectories: [`${root}/two`] } },
    },
  };
}

const reopen: PathCase = (root, sessionId) => [{ sessionId, ...setup(root) }];
const prompt: PathCase = (root, sessionId) => [{ sessionId, prompt: contents(root) }];
const writing: PathCase = (root, sessionId) => [{ sessionId, path: `${root}/src/a.ts`, content: 'x' }];

function toolCall(root: string): Json {
  return {
    toolCallId: 'call',
    locations: [{ path: `${root}/src/a.ts`, line: 1 }, { path: root }],
    content: [
      ...contents(root).map((content) => ({ type: 'content', content })),
      { type: 'diff', path: `${root}/src/a.ts`, oldText: null, newText: '' },
      { type: 'terminal', terminalId: 'terminal' },
    ],
    _meta: { terminal_info: { terminal_id: 'terminal', cwd: `${root}/src` } },
  };
}

const sessions: PathCase = (root, sessionId) => [
  {
    sessions: [
      { sessionId, cwd: `${root}/src`, additionalDirectories: [`${root}/lib`, `${root}/docs`], title: null },
    ],
  },
];

function updates(root: string, sessionId: string): Json[] {
  const ofContent = (sessionUpdate: string): Json[] =>
    contents(root).map((content) => ({ sessionUpdate, content }));
  const all: Json[] = [
    ...ofContent('user_message_chunk'),
    ...ofContent('agent_message_chunk'),
    ...ofContent('agent_thought_chunk'),
    ...ofContent('session_message_chunk'),
    ...ofContent('compaction_summary_chunk'),
    { sessionUpdate: 'compaction_update', compactionId: 'c', summary: contents(root) },
    { sessionUpdate: 'tool_call', title: 'Edit', ...toolCall(root) },
    { sessionUpdate: 'tool_call_update', ...toolCall(root) },
    { sessionUpdate: 'plan_update', plan: { type: 'file', planId: 'p', uri: uri(root, 'plan.md') } },
    { sessionUpdate: 'session_message', messageId: 'm', content: contents(root) },
    {
      sessionUpdate: 'subagent_update',
      sessionId,
      cwd: `${root}/sub`,
      additionalDirectories: [`${root}/lib`],
    },
    {
      sessionUpdate: 'available_commands_update',
      availableCommands: [
        { name: 'skill', description: '', _meta: { jetbrains: { air: { skillPath: `${root}/SKILL.md` } } } },
      ],
    },
  ];
  return all.map((update) => ({ sessionId, update }));
}

/** By who sends the method, the method, and what of it travels. `_unknown` has no row of its own. */
export const pathCases: Readonly<Record<string, PathCase>> = {
  'editor session/new params': (root) => [setup(root)],
  'editor session/load params': reopen,
  'editor session/resume params': reopen,
  'editor session/fork params': reopen,
  'editor session/list params': (root) => [{ cwd: `${root}/src` }],
  'editor session/list result': sessions,
  'editor session/prompt params': prompt,
  'editor _session/steering params': prompt,
  'editor _session/batch_get result': sessions,
  'editor _session/list/subscribe params': (root) => [{ cwd: `${root}/src` }],
  'editor _unknown params': (root) => [{ cwd: `${root}/src`, path: '/home/agent/workspace/x' }],
  'agent session/update params': updates,
  'agent session/request_permission params': (root, sessionId) => [
    { sessionId, toolCall: toolCall(root), options: [] },
  ],
  'agent fs/read_text_file params': (root, sessionId) => [{ sessionId, path: `${root}/src/a.ts` }],
  'agent fs/write_text_file params': writing,
  'agent _session/list/changes params': sessions,
};
