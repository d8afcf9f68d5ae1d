/** Attacks by a repository with its devcontainer.json, and by an agent that writes to it. */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { base, devcontainerFile, hasDevcontainers, inside, marked, newProject, newUser, removeImages, trust, whose } from '../engine/devcontainers'; // prettier-ignore
import { buildTimeoutMs } from '../engine/place';
import { docker, newWorkspace, ownFile, type Cai } from '../engine/support';
import { attempt, reachedIf } from './attempt';
import { Canary } from './canary';

let cai: Cai;

beforeAll(() => {
  cai = newUser();
});

afterAll(removeImages);

const describeIfBuilt = hasDevcontainers ? describe : describe.skip;

/** What is used where nothing is trusted that should not be. */
async function used(workspace: string): Promise<string | undefined> {
  const { text } = await inside(cai, workspace, whose);
  return reachedIf(text !== 'ours', text);
}

/** What the container of a workspace has that only its user could give it. */
async function excessOf(workspace: string): Promise<string | undefined> {
  const id = await docker('ps', '--quiet', '--filter', `label=containai.workspace=${workspace}`);
  const format =
    '{{.HostConfig.Privileged}} {{.HostConfig.CapAdd}} {{.HostConfig.NetworkMode}} {{range .Mounts}}{{.Destination}} {{end}}';
  const made = await docker('inspect', '--format', format, id);
  return reachedIf(!made.startsWith('false [] none ') || made.includes('/host'), made);
}

describeIfBuilt('a repository asks for more by its devcontainer.json', () => {
  const asked = {
    privileged: true,
    capAdd: ['SYS_ADMIN'],
    securityOpt: ['seccomp=unconfined'],
    runArgs: ['--network=host', '--volume=/:/host'],
    mounts: ['source=/etc,target=/host-etc,type=bind'],
  };

  attempt(
    'a devcontainer.json has a program run on the host',
    async () => {
      const canary = new Canary(cai);
      const workspace = newProject({ initializeCommand: canary.sh, postAttachCommand: canary.sh }, marked);
      await trust(cai, workspace);
      const { text, stderr } = await inside(cai, workspace, whose);
      if (text !== 'theirs' || !stderr.includes('"initializeCommand"')) throw new Error(stderr);
      return canary.sung;
    },
    buildTimeoutMs,
  );

  attempt(
    'a devcontainer.json gives its container rights, the network of the host or a mount',
    async () => {
      const workspace = newProject(asked, marked);
      await trust(cai, workspace);
      const { text, stderr } = await inside(cai, workspace, whose);
      if (text !== 'theirs' || !stderr.includes('"runArgs" and "mounts" are ignored'))
        throw new Error(stderr);
      return await excessOf(workspace);
    },
    buildTimeoutMs,
  );

  attempt(
    'a feature of a repository gives the container rights or a mount, or has a program run before any other',
    async () => {
      const feature = {
        ...{ id: 'own', version: '1.0.0', privileged: true, capAdd: asked.capAdd, init: true },
        mounts: [{ source: '/etc', target: '/host-etc', type: 'bind' }],
        entrypoint: '/own-entrypoint',
      };
      const install = `printf '#!/bin/sh\ntouch /tmp/entered\nexec "$@"\n' > /own-entrypoint; chmod 755 /own-entrypoint\n`;
      const workspace = newProject(
        { features: { './own': {} } },
        {
          ...marked,
          '.devcontainer/own/devcontainer-feature.json': feature,
          '.devcontainer/own/install.sh': install,
        },
      );
      const told = (await trust(cai, workspace)).stdout.toString();
      const { text, stderr } = await inside(cai, workspace, `ls /own-entrypoint /tmp/entered; ${whose}`);
      const named = '"./own": "privileged", "capAdd", "mounts" and "entrypoint" are ignored';
      if (text.replace('/tmp/entered\n', '') !== '/own-entrypoint\ntheirs' || !told.includes(named))
        throw new Error(`${text} ${told} ${stderr}`);
      return reachedIf(text.includes('entered'), text) ?? (await excessOf(workspace));
    },
    buildTimeoutMs,
  );

  attempt(
    'a devcontainer.json reads a variable of the host, or a file by an option of the builder',
    async () => {
      const settings = {
        build: {
          dockerfile: 'Dockerfile',
          args: { SECRET: '${localEnv:HOME}' },
          options: ['--build-arg', 'DOCKER_HOST', '--label=leak=yes'],
        },
        remoteEnv: { SECRET: '${localEnv:HOME}' },
      };
      const dockerfile = `FROM ${base}\nARG SECRET\nARG DOCKER_HOST\nRUN echo "[$SECRET$DOCKER_HOST]" > /leak\n`;
      const workspace = newProject(settings, { '.devcontainer/Dockerfile': dockerfile });
      await trust(cai, workspace);
      const { text } = await inside(cai, workspace, 'cat /leak; echo "[$SECRET]"');
      return reachedIf(text !== '[]\n[]', text);
    },
    buildTimeoutMs,
  );
});

describeIfBuilt('a repository or an agent has another environment used than the user agreed to', () => {
  attempt(
    'a devcontainer.json is used that nobody has agreed to',
    async () => await used(newProject({}, marked)),
    buildTimeoutMs,
  );

  attempt(
    'a file that a Dockerfile copies is used as an agent has changed it since the user agreed',
    async () => {
      const build = { dockerfile: 'Dockerfile', context: '..' };
      const dockerfile = `${marked['.devcontainer/Dockerfile']}COPY tool.txt /\n`;
      const workspace = newProject({ build }, { '.devcontainer/Dockerfile': dockerfile, 'tool.txt': 'a\n' });
      await trust(cai, workspace);
      if ((await used(workspace)) !== 'theirs') throw new Error('what the user agrees to is not used');
      await inside(cai, workspace, 'echo b > tool.txt');
      return await used(workspace);
    },
    buildTimeoutMs,
  );

  attempt(
    'an agent changes the devcontainer.json, or the Dockerfile beside it',
    async () => {
      const workspace = newProject({}, marked);
      await inside(cai, workspace, 'echo RUN true >> .devcontainer/Dockerfile || true');
      await inside(cai, workspace, `echo >> ${devcontainerFile} || true`);
      const texts = ['.devcontainer/Dockerfile', devcontainerFile].map((file) =>
        readFileSync(join(workspace, file), 'utf8'),
      );
      return reachedIf(
        texts[0] !== marked['.devcontainer/Dockerfile'] || texts[1]!.endsWith('\n'),
        texts.join(),
      );
    },
    buildTimeoutMs,
  );

  attempt(
    'a devcontainer.json from outside of the workspace is used by a link',
    async () => {
      const elsewhere = newProject({}, marked);
      const workspace = newProject({}, marked);
      await trust(cai, workspace);
      rmSync(join(workspace, '.devcontainer'), { recursive: true });
      symlinkSync(join(elsewhere, '.devcontainer'), join(workspace, '.devcontainer'));
      const { status } = await cai.run(['trust', '--yes', workspace]);
      return (await used(workspace)) ?? reachedIf(status === 0, 'cai trust agreed to it');
    },
    buildTimeoutMs,
  );

  attempt(
    'a Compose file that is a pipe or a link hangs the question for trust, or has a file of the host read',
    async () => {
      const secret = join(cai.home, 'compose-secret');
      ownFile(secret, '{ services: { app: { image: a }, SECRET: { image: a, privileged: true } } }');
      const asked = [
        (path: string) => execFileSync('mkfifo', ['--mode=666', path]),
        (path: string) => symlinkSync(secret, path),
      ].map(async (make) => {
        const workspace = newProject({ dockerComposeFile: '../compose.yml', service: 'app' });
        make(join(workspace, 'compose.yml'));
        const { stdout, stderr } = await cai.run(['trust', '--yes', workspace]);
        if (!stderr.includes('compose.yml')) throw new Error(stderr);
        return stdout.toString() + stderr;
      });
      const told = (await Promise.all(asked)).join('');
      return reachedIf(told.includes('SECRET'), told);
    },
  );

  attempt(
    'a build copies a file of the host by a link in its context',
    async () => {
      const dockerfile = `FROM ${base}\nCOPY * /copied/\nRUN cat /copied/* > /leak\n`;
      const workspace = newWorkspace();
      ownFile(join(cai.home, 'secret'), 'SECRET OF THE USER\n');
      newProject({}, { '.devcontainer/Dockerfile': dockerfile }, workspace);
      symlinkSync(join(cai.home, 'secret'), join(workspace, '.devcontainer/link'));
      await trust(cai, workspace);
      const { text } = await inside(cai, workspace, 'cat /leak');
      if (!text.includes(devcontainerFile.split('/')[1]!) && !text.includes('Dockerfile'))
        throw new Error(text);
      return reachedIf(text.includes('SECRET'), text);
    },
    buildTimeoutMs,
  );
});
