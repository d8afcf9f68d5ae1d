import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MentionObserver } from '../../../src/acp/observers/mention-observer';
import type { WorkspaceChild } from '../../../src/acp/child/workspace-child';
import { planOf } from '../../../src/rpc/json';
import { scanCall } from '../../../src/rpc/message';
import { prompt as promptFields } from '../../../src/rpc/protocol/fields';
import { newFolder } from '../../support/temp-folder';
import { newTable, openSession } from '../../support/sessions';

const link = (path: string) => ({ type: 'resource_link', name: 'x', uri: pathToFileURL(path).href });

/** What the user is told of a prompt with that content in a workspace, of which `mounts` are mounted, too. */
async function told(root: string, prompt: readonly object[], ...mounts: string[]): Promise<string> {
  const lines: string[] = [];
  const child = { root, deliver: (line: Buffer) => lines.push(line.toString()) } as unknown as WorkspaceChild;
  const session = openSession(newTable(), child, 'e', 'a');
  const looks: Promise<string>[] = [];
  const look = (path: string) => {
    looks.push(realpath(path));
    return looks.at(-1)!;
  };
  const observer = new MentionObserver({ isEditorGone: false, editorCapabilities: {} }, () => mounts, look);
  const line = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'session/prompt',
    params: { sessionId: 'e', prompt },
  });
  observer.onCall(session, scanCall(Buffer.from(line), planOf(promptFields)));
  await Promise.allSettled(looks);
  await new Promise(setImmediate);
  return lines.join('');
}

describe('MentionObserver', () => {
  const [root, elsewhere] = [newFolder(), newFolder()];
  const [inside, outside] = [join(root, 'inside'), join(elsewhere, 'out `side')];
  for (const file of [inside, outside]) writeFileSync(file, '');
  mkdirSync(join(elsewhere, 'mounted'));
  writeFileSync(join(elsewhere, 'mounted/file'), '');
  symlinkSync(root, join(elsewhere, 'link'));

  test('names what is mentioned and not in the container, once', async () => {
    const note = await told(root, [{ type: 'text', text: 'x' }, link(inside), link(outside), link(outside)]);

    expect(note).toContain('The agent cannot find a file that you mentioned.');
    expect(note.split('out \ufffdside')).toHaveLength(2);
    expect(note).not.toContain(inside);
  });

  test.each([
    ['lies in the workspace', [link(inside)]],
    ['lies in the workspace by a link', [link(join(elsewhere, 'link/inside'))]],
    ['lies in a mount', [link(join(elsewhere, 'mounted/file'))]],
    ['is not on this machine', [link('/no/such/file')]],
    [
      'is given with its content',
      [{ type: 'resource', resource: { uri: pathToFileURL(outside).href, text: 'x' } }],
    ],
    ['is no file', [{ type: 'resource_link', name: 'x', uri: 'https://example.com/x' }]],
    ['is no URI', [{ type: 'resource_link', name: 'x', uri: 'file://%' }]],
    ['is no text', [{ type: 'resource_link', name: 'x', uri: 7 }]],
  ])('says nothing of what %s', async (_, prompt) => {
    expect(await told(root, prompt, join(elsewhere, 'mounted'))).toBe('');
  });
});
