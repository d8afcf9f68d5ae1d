import { agentRow, isAnnounced, restrictionOf } from '../../../src/rpc/protocol/method-rows';
import { agentMethods } from '../../../src/rpc/protocol/methods';

/** What agents of today send to editors without a row of ours. */
const known = [
  ...['_claude/sdkMessage', '_kiro.dev/commands/available', '_kiro.dev/metadata'],
  ...['_kiro.dev/mcp/oauth_request', '_kiro.dev/compaction/status', '_kiro.dev/session/update'],
  ...['cursor/ask_question', 'cursor/create_plan', 'cursor/update_todos', 'cursor/generate_image'],
  ...['cursor/task', '_goose/unstable/session/update', 'x.ai/exit_plan_mode'],
  ...['_auth/status_update', 'session/input'],
];

describe('restrictionOf', () => {
  test.each([
    ...['fs/delete_file', 'FS/read_text_file', 'Fs/write_text_file', 'fs.read', 'Terminal/Create'],
    ...[
      'TERMINAL/CREATE',
      'terminal/resize',
      'terminal/',
      '\uff46\uff53/read_text_file',
      'f\u017f/read_text_file',
    ],
    ...['proxy/successor', 'Proxy/successor'],
  ])('%s is in an area of ACP, where the editor cannot offer more', (method) => {
    expect(restrictionOf(method)).toBe('never');
  });

  test.each([
    ...['_terminal/create', '__Terminal/Create', '_fs/read_text_file', '_proxy/exec', '_zed.dev/fs/read'],
    ...['zed.dev/readTextFile', 'x/FSRead', 'workspace/executeCommand', 'workspace/runCommand'],
    ...['workspace/applyPatch.path', 'window/showDocument', 'vscode.open_url', 'ide/openLink'],
    ...['X/DELETE-FOLDER', '_x/spawn', '_x/pty'],
  ])('%s acts, and is for an editor that has announced it', (method) => {
    expect(restrictionOf(method)).toBe('announced');
  });

  test.each([...known, '', '/', '_', '_x/profile', '_x/terminated', '_x/subagent_spawned', '_\u6587\u4ef6'])(
    '%s passes',
    (method) => expect(restrictionOf(method)).toBeUndefined(),
  );
});

describe('agentRow', () => {
  test('is that of the table wherever there is one', () => {
    for (const [method, row] of Object.entries(agentMethods)) expect(agentRow(method)).toBe(row);
  });

  test.each([
    ['fs/delete_file', 'refuse'],
    ['_fs/delete_file', 'announced'],
    ['_x/y', 'editor'],
    ['_containai/turn_ended', 'refuse'],
    ['_ContainAI/x', 'refuse'],
    ['_containai', 'editor'],
    ['toString', 'editor'],
  ])('has %s go the way "%s"', (method, route) => expect(agentRow(method).route).toBe(route));
});

describe('isAnnounced', () => {
  test.each<[string, object]>([
    ['_zed.dev/fs/read', { 'zed.dev': { fs: true } }],
    ['_zed.dev/fs/read', { '_zed.dev': true }],
    ['_zed.dev/fs/read', { 'zed.dev/fs/read': {} }],
    ['cursor/open_file', { cursor: 1 }],
    ['_terminal/create', { '_terminal/create': true }],
    ['_terminal/create', { 'terminal/create': true }],
    ['_exec', { exec: true }],
  ])('%s is, by %j', (method, _meta) => expect(isAnnounced(method, { _meta })).toBe(true));

  test.each<[string, unknown]>([
    ['_zed.dev/fs/read', undefined],
    ['_zed.dev/fs/read', null],
    ['_zed.dev/fs/read', 'zed.dev'],
    ['_zed.dev/fs/read', { 'zed.dev': false }],
    ['_zed.dev/fs/read', { 'zed.dev': null }],
    ['_zed.dev/fs/read', { zed: true, fs: true, 'zed.dev/fs': true }],
    ['_terminal/create', { terminal: true, _terminal: true, terminal_output: true, 'terminal-auth': true }],
    ['_toString/file', {}],
    ['/exec', { '': true }],
  ])('%s is not, by %j', (method, _meta) => expect(isAnnounced(method, { _meta })).toBe(false));
});
