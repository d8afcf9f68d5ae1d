import { mkdirSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Core } from '../../src/acp/relay/core';
import { FileRequests } from '../../src/acp/file-requests';
import { agentMethods } from '../../src/rpc/protocol/methods';
import { planOf } from '../../src/rpc/json/wanted-places';
import { scan } from '../../src/rpc/message';
import { openLog } from '../../src/system/log';
import type { WorkspaceChild } from '../../src/acp/child/workspace-child';
import { newTable, openSession } from '../support/sessions';
import { createPathMap } from '../../src/system/paths/path-map';
import { newFolder } from '../support/temp-folder';

/** All that happens, in order. */
let events: string[];
let root: string;

beforeEach(() => {
  events = [];
  root = realpathSync(newFolder());
  mkdirSync(join(root, 'folder'));
  writeFileSync(join(root, 'file'), 'text');
});

/** The agent asks for a file; resolves when it is read again. */
async function ask(name: string): Promise<void> {
  const sessions = newTable();
  const core = {
    log: openLog({ CAI_LOG_LEVEL: 'silent' }),
    refuse: (_: unknown, __: unknown, error: { code: number }) => events.push(`refused ${error.code}`),
    sessions,
  };
  const requests = new FileRequests(core as unknown as Core, 100);
  const row = agentMethods['fs/read_text_file']!;
  const params = { sessionId: 's', path: join(root, name) };
  const line = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'fs/read_text_file', params });
  const plans = { params: () => planOf(row.params), result: () => undefined, error: undefined };
  const { dev, ino } = statSync(root, { bigint: true });
  const roots = [{ spelled: root, real: root, identity: `${dev}:${ino}` }];
  const map = createPathMap({ hostRoots: [root], agentRoots: [root] });
  await new Promise<void>((resume) => {
    const child = { root, pause: () => events.push('paused'), resume } as unknown as WorkspaceChild;
    const session = openSession(sessions, child, 'e', 's', { roots, map });
    requests.serve({ child, message: scan(Buffer.from(line), plans), row, session }, (_, edits) =>
      events.push(`asked for ${edits.map(({ text }) => text).join()}`),
    );
  });
}

test('the agent is not read until its request was passed on', async () => {
  await ask('file');

  expect(events).toEqual(['paused', `asked for "${join(root, 'file')}"`]);
});

test('a file that may not be had is not asked for, and the agent is read on', async () => {
  await ask('folder');

  expect(events).toEqual(['paused', 'refused -32602']);
});

test('a file that does not fit into a line of the editor is not asked for', async () => {
  writeFileSync(join(root, 'file'), 'x'.repeat(101));

  await ask('file');

  expect(events).toEqual(['paused', 'refused -32602']);
});
