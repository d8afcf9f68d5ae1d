/** Attacks on the user's files, through the editor and through what is mounted. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cai, newWorkspace, ownFile, ownFolder } from '../engine/support';
import { attempt, reachedIf } from './attempt';
import { hostileAgent, hostileConfig, Scene, sceneFor } from './hostile-agent';

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

/** What of the user's secret an agent that asks for this path gets. */
async function secretAt(path: string): Promise<string | undefined> {
  const content = await scene.read(path);
  return content?.includes('SECRET') === true ? `${path}: ${content}` : undefined;
}

describe('an agent asks the editor', () => {
  attempt('an agent that names a file of the user has it read', async () => await secretAt(secret));

  attempt('an agent that climbs out of its folder by ".." has a file of the user read', async () => {
    const up = scene.workspace.split('/').slice(1).map(() => '..').join('/'); // prettier-ignore
    return await secretAt(`${scene.workspace}/${up}${secret}`);
  });

  attempt('an agent that makes a link in its folder has a file of the user read', async () => {
    await scene.sh(`ln -s ${secret} link`);
    return await secretAt(join(scene.workspace, 'link'));
  });

  attempt('an agent that makes a link to a file that is not there has it written', async () => {
    const target = join(cai.home, '.bashrc');
    await scene.sh(`ln -s ${target} profile`);
    await scene.write(join(scene.workspace, 'profile'), payload);
    return reachedIf(existsSync(target), `${target} was written`);
  });

  attempt('an agent that swaps its working folder for a link has a file of the user written', async () => {
    const cwd = newFolder('packages/app');
    const target = join(cai.home, '.profile');
    await scene.newSession(cwd);
    await scene.sh(`cd ${scene.workspace} && mv packages/app packages/was && ln -s / packages/app`);
    await scene.write(join(cwd, target), payload);
    await scene.newSession();
    return reachedIf(existsSync(target), `${target} now says: ${existsSync(target) && readFileSync(target, 'utf8')}`); // prettier-ignore
  });

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

  attempt(
    'an agent that names a pipe, a socket or an endless file keeps the editor from answering',
    async () => {
      const folder = newFolder('special');
      const socket = `require("net").createServer().listen("socket",()=>process.exit())`;
      await scene.sh(
        `cd ${folder} && mkfifo pipe && truncate -s 8T endless && node -e '${socket}'; test -p pipe`,
      );
      const names = ['pipe', 'socket', 'endless', '../special'];
      const asked = names.flatMap((name) => [scene.ask('fs/read_text_file', { path: join(folder, name) })]);
      const outcomes = await Promise.all(asked);
      const served = names.filter((_, index) => outcomes[index]!.error?.code !== -32602);
      return reachedIf(served.length > 0, `the editor was asked for ${served.join(', ')}`);
    },
  );
});

attempt('an agent to which the user has not given the editor’s files has one read', async () => {
  const own = await Scene.open({ cai: new Cai(hostileAgent()) });
  const file = join(own.workspace, 'file');
  ownFile(file, 'text');
  const [read, written] = [await own.read(file), await own.write(file, payload)];
  await own.close();
  return reachedIf(read !== undefined || written.error === undefined, `${file}: ${read}`);
});

describe('an agent asks the editor to write what this machine would execute', () => {
  attempt('an agent that may not write a git hook has the editor write it', async () => {
    const own = new Cai(hostileConfig());
    const workspace = newWorkspace();
    const files = ['.git/hooks/pre-commit', '.git/config', '.vscode/tasks.json'].map((name) =>
      join(workspace, name),
    );
    for (const file of files) ownFile(file, 'as it was');
    const other = await Scene.open({ cai: own, workspace });
    for (const file of files) await other.write(file, payload);
    await other.write(join(workspace, '.git/hooks/post-checkout'), payload);
    await other.close();
    const written = files.filter((file) => readFileSync(file, 'utf8') !== 'as it was');
    const isNew = existsSync(join(workspace, '.git/hooks/post-checkout'));
    return reachedIf(written.length > 0 || isNew, `written: ${written.join(', ')}, a new hook: ${isNew}`);
  });
});

describe('an agent asks the editor to write in a mount that is read_only', () => {
  attempt('an agent that is given a read-only mount has a file in it written', async () => {
    const folder = join(cai.home, 'references');
    const file = join(folder, 'file');
    ownFile(file, 'as it was');
    const own = new Cai(`${hostileConfig()}[[mounts]]\npath = "${folder}"\nread_only = true\n`);
    const other = await Scene.open({ cai: own, additionalDirectories: [folder] });
    if ((await other.read(file)) !== 'as it was') throw new Error('the mount is not served at all');
    await other.write(file, payload);
    await other.write(join(folder, 'new'), payload);
    await other.close();
    const isWritten = readFileSync(file, 'utf8') !== 'as it was' || existsSync(join(folder, 'new'));
    return reachedIf(isWritten, `${folder} was written`);
  });
});
