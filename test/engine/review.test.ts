/** What an agent makes that programs on the user's machine would execute: told in the thread. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Scene, agent, hostileConfig } from '../escape/hostile-agent';
import type { Json } from '../support/inbox';
import { provideImages } from './model';
import { buildTimeoutMs } from './place';
import { Cai, newWorkspace, ownFile } from './support';

let cai: Cai;

beforeAll(async () => {
  await provideImages(agent);
  cai = new Cai(hostileConfig());
}, buildTimeoutMs);

/** What the editor got in a turn in which the agent ran this, its answer last. Turns of models are not shorter. */
async function turn(scene: Scene, script: string): Promise<Json[]> {
  const before = scene.editor.messages.length;
  await scene.sh(`sleep 0.1; ${script}`);
  return scene.editor.messages.slice(before);
}

function textOf({ params }: Json): string {
  return (params as { update: { content: { text: string } } }).update.content.text;
}

test('what comes into being in a turn is told before the answer, once, also below the root', async () => {
  const workspace = newWorkspace();
  ownFile(join(workspace, 'packages/app/src/main.ts'), '');
  const cwd = join(workspace, 'packages/app');
  const scene = await Scene.open({ cai, workspace, cwd, clientCapabilities: {} });
  expect(await turn(scene, 'echo quiet')).toHaveLength(2);

  const [, told, answer, ...more] = await turn(
    scene,
    `cd ${workspace} && mkdir -p .vscode .husky .claude packages/app/.vscode packages/other/.vscode &&
     echo '{}' | tee .vscode/tasks.json .claude/settings.json packages/app/.vscode/tasks.json packages/other/.vscode/tasks.json &&
     cp /bin/true .husky/post-checkout`,
  );

  expect(more).toEqual([]);
  expect(answer).toMatchObject({ result: { stopReason: 'end_turn' } });
  expect(textOf(told!)).toContain(
    'Made or changed: `.claude/settings.json`, `.husky/post-checkout`, `.vscode/tasks.json`, `packages/app/.vscode/tasks.json`.',
  );
  expect(await turn(scene, 'echo quiet again')).toHaveLength(2);
  const [, changed] = await turn(scene, `echo changed > ${workspace}/.vscode/tasks.json`);
  expect(textOf(changed!)).toContain('Made or changed: `.vscode/tasks.json`.');
  await scene.close();

  const again = await Scene.open({ cai, workspace, clientCapabilities: {} });
  expect(await turn(again, 'echo nothing new')).toHaveLength(2);
  await again.close();
});

test('a mentioned file that the container lacks is told', async () => {
  const scene = await Scene.open({ cai, clientCapabilities: {} });
  const outside = join(cai.home, 'notes');
  ownFile(outside, '');
  const steps = { type: 'text', text: JSON.stringify([{ sh: 'true' }]) };
  const mention = { type: 'resource_link', name: 'notes', uri: pathToFileURL(outside).href };

  await scene.editor.request('session/prompt', { sessionId: scene.session, prompt: [steps, mention] });

  await scene.editor.hears(scene.session, `and not \`${outside}\``);
  await scene.close();
});

test('an editor that offers notices gets one; what was there before is not told', async () => {
  const workspace = newWorkspace();
  ownFile(join(workspace, '.vscode/settings.json'), '{}');
  execFileSync('mkfifo', [join(workspace, 'mise.toml')]);
  const clientCapabilities = { session: { notices: {} } };
  const scene = await Scene.open({ cai, workspace, clientCapabilities });

  const [, notice, ...more] = await turn(scene, `ln -s /etc/passwd ${workspace}/.envrc`);

  expect(more).toHaveLength(1);
  expect(notice).toMatchObject({
    method: 'session/update',
    params: {
      sessionId: scene.session,
      update: {
        sessionUpdate: 'notice',
        severity: 'warning',
        description: expect.stringContaining('`.envrc`') as string,
      },
    },
  });
  await scene.close();
});
