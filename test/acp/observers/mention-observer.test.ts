import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MentionObserver } from '../../../src/acp/observers/mention-observer';
import type { Child } from '../../../src/acp/child/child';
import { wantedIn } from '../../../src/rpc/json';
import { scanCall } from '../../../src/rpc/message';
import { prompt as promptFields } from '../../../src/rpc/protocol/fields';
import { createPathMap } from '../../../src/system/paths/path-map';
import { newFolder } from '../../support/temp-folder';
import { newTable, openSession } from '../../support/sessions';

const link = (path: string) => ({ type: 'resource_link', name: 'x', uri: pathToFileURL(path).href });

interface Place {
  readonly root: string;
  /** The folder that the editor names for it. */
  readonly named?: string;
  readonly mounts?: readonly string[];
}

/** What the user is told of a prompt with that content in a workspace. */
async function told({ root, named = root, mounts = [] }: Place, ...prompt: object[]): Promise<string> {
  const lines: string[] = [];
  const child = { root, deliver: (line: Buffer) => lines.push(line.toString()) } as unknown as Child;
  const map = createPathMap({ hostRoots: [root, named], agentRoots: [root] });
  const session = openSession(newTable(), child, 'e', 'a', { map });
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
  observer.onCall(session, scanCall(Buffer.from(line), wantedIn(promptFields)));
  for (let looked = 0; looked < looks.length;) {
    looked = looks.length;
    await Promise.allSettled(looks);
    await new Promise(setImmediate);
  }
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
    const note = await told(
      { root },
      { type: 'text', text: 'x' },
      link(inside),
      link(outside),
      link(outside),
    );

    expect(note).toContain('The agent cannot find a file that you mentioned.');
    expect(note.split('out \ufffdside')).toHaveLength(2);
    expect(note).not.toContain(inside);
    expect(note).toContain(`the folder \`${root}\``);
  });

  test.each([
    ['lies in the workspace', link(inside)],
    ['lies in the workspace by a link', link(join(elsewhere, 'link/inside'))],
    ['lies in a mount', link(join(elsewhere, 'mounted/file'))],
    ['is not on this machine', link('/no/such/file')],
    [
      'is given with its content',
      { type: 'resource', resource: { uri: pathToFileURL(outside).href, text: 'x' } },
    ],
    ['is no file', { type: 'resource_link', name: 'x', uri: 'https://example.com/x' }],
    ['is no URI', { type: 'resource_link', name: 'x', uri: 'file://%' }],
    ['is no text', { type: 'resource_link', name: 'x', uri: 7 }],
  ])('says nothing of what %s', async (_, content) => {
    expect(await told({ root, mounts: [join(elsewhere, 'mounted')] }, content)).toBe('');
  });

  test('of a session in a worktree, names what is only in the folder that the editor names', async () => {
    const named = newFolder();
    for (const file of ['inside', 'not committed']) writeFileSync(join(named, file), '');

    const note = await told({ root, named }, link(join(named, 'inside')), link(join(named, 'not committed')));

    expect(note).toContain(`not \`${named}/not committed\`.`);
    expect(note).not.toContain(`${named}/inside`);
  });
});
