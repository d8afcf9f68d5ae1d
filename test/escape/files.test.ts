/** Attacks on the user's files, through the editor and through the folders that a session names. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Cai, ownFile, ownFolder } from '../engine/support';
import { attempt, reachedIf } from './attempt';
import { hostileConfig, sceneFor } from './hostile-agent';

/** What the user's own shell would run. */
const payload = 'echo owned\n';

const cai = new Cai(hostileConfig());
const secret = join(cai.home, 'private/secret');
ownFile(secret, 'SECRET OF THE USER\n');
const scene = sceneFor({ cai });

/** A new folder in the workspace. */
function newFolder(name: string): string {
  const path = join(scene.workspace, name);
  ownFolder(path);
  return path;
}

/** Whether a session is opened there; it is the scene's then. */
async function opens(cwd: string, further: readonly string[] = []): Promise<boolean> {
  return await scene.newSession(cwd, further).then(
    () => true,
    () => false,
  );
}

/** What of the user's secret an agent gets by this path, from the editor or inside. */
async function secretAt(path: string): Promise<string | undefined> {
  const { stdout = '' } = await scene.tries(`cat ${path}`);
  const content = `${(await scene.read(path)) ?? ''}${stdout}`;
  return content.includes('SECRET') ? `${path}: ${content}` : undefined;
}

attempt('an agent in a container has the editor read or write a file', async () => {
  const file = join(scene.workspace, 'file');
  ownFile(file, 'SECRET');
  await scene.sh(`ln -s ${secret} link`);
  const paths = [file, secret, join(scene.workspace, 'link')];
  const read: (string | undefined)[] = [];
  for (const path of paths) read.push(await scene.read(path));
  await scene.write(join(scene.workspace, 'new'), payload);
  const isWritten = existsSync(join(scene.workspace, 'new'));
  return reachedIf(
    isWritten || read.some((each) => each !== undefined),
    `${read.join()}, written: ${isWritten}`,
  );
});

describe('an agent that swaps a folder', () => {
  attempt('an agent that swaps an additional directory for a link has a file of the user read', async () => {
    const lib = newFolder('lib');
    await scene.newSession(scene.workspace, [lib]);
    await scene.sh(`cd ${scene.workspace} && mv lib lib-was && ln -s ${cai.home}/private lib`);
    const reached = await secretAt(join(lib, 'secret'));
    await scene.newSession();
    return reached;
  });

  attempt(
    'an agent that swaps a folder before it is an additional directory has a file of the user read',
    async () => {
      const [cwd, next] = [newFolder('work'), newFolder('next')];
      await scene.sh(`cd ${scene.workspace} && mv next next-was && ln -s ${cai.home}/private next`);
      if (!(await opens(cwd, [next]))) return undefined;
      const reached = await secretAt(join(next, 'secret'));
      await scene.newSession();
      return reached;
    },
  );

  attempt(
    'an agent that swaps a folder before it is the cwd of a session has a file of the user read',
    async () => {
      const cwd = newFolder('soon');
      await scene.sh(`cd ${scene.workspace} && mv soon soon-was && ln -s ${cai.home}/private soon`);
      if (!(await opens(cwd))) return undefined;
      const reached = await secretAt(join(cwd, 'secret'));
      await scene.newSession();
      return reached;
    },
  );

  attempt(
    'an agent that swaps an inner workspace has the agent of that one read a file of the user',
    async () => {
      const inner = newFolder('inner');
      await scene.sh(`cd ${inner} && git init -q .`);
      if (!(await opens(inner))) throw new Error('the inner workspace cannot be opened');
      await scene.newSession();
      await scene.sh(`cd ${scene.workspace} && mv inner inner-was && ln -s ${cai.home}/private inner`);
      if (!(await opens(inner))) return undefined;
      const reached = await secretAt(join(inner, 'secret'));
      await scene.newSession();
      return reached;
    },
  );
});
