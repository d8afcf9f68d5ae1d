/**
 * What is not closed: `docs/security.md` says so of each of these. A test that fails here tells that something is
 * closed now, and that the page has to be changed.
 */
import { once } from 'node:events';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { release } from 'node:os';
import { join } from 'node:path';
import { Editor } from '../engine/editor';
import { provideImages } from '../engine/model';
import { buildTimeoutMs, Place } from '../engine/place';
import { Cai, newWorkspace, ownFile } from '../engine/support';
import { Canary } from './canary';
import { agent, hostileConfig, Scene } from './hostile-agent';

const token = 'TOKEN-OF-THE-USER';

let cai: Cai;
let scene: Scene;
let neighbour: Place;

beforeAll(async () => {
  await provideImages(agent);
  cai = new Cai(`${hostileConfig()}[env]\nimport = ["USERS_TOKEN"]\n`);
  cai.env.USERS_TOKEN = token;
  scene = await Scene.open({ cai });
  neighbour = await new Place(cai).opened();
}, buildTimeoutMs);

afterAll(async () => {
  await scene.close();
});

/** A thing that is open, as a sentence; `isSo` shows it. */
function open(sentence: string, isSo: () => Promise<boolean>): void {
  test(sentence, async () => {
    expect(await isSo()).toBe(true);
  });
}

/** What an agent reads at a port of an address, which is a shell word. */
async function readFrom(address: string, port: number): Promise<string> {
  const script =
    'import socket, sys; print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).recv(100))';
  return (await scene.tries(`python3 -c '${script}' ${address} ${port}`)).stdout ?? '';
}

/** What the user does in a folder, or a prompt of the shell that shows the branch. */
async function gitStatus(folder: string): Promise<void> {
  const git = cai.startProgram('git', ['-C', folder, 'status']);
  git.child.stdin.end();
  await git.succeeds();
}

const gatewayScript = "import re; print('.'.join(str(b) for b in reversed(bytes.fromhex([l.split()[2] for l in open('/proc/net/route') if l.split()[1] == '00000000'][0]))))"; // prettier-ignore

open('A container has a way to the internet.', async () =>
  (await scene.sh('cat /proc/net/route')).split('\n').some((line) => line.split('\t')[1] === '00000000'),
);

open('A container reaches services of your machine that listen on all addresses.', async () => {
  const server = createServer((socket) => socket.end('SERVICE')).listen(0, '0.0.0.0');
  await once(server, 'listening');
  const gateway = (await scene.sh(`python3 - <<'EOF'\n${gatewayScript}\nEOF`)).trim();
  const said = await readFrom(gateway, (server.address() as AddressInfo).port);
  server.close();
  return said.includes('SERVICE');
});

open('A container reaches services of another container that listen on all addresses.', async () => {
  const serve = "import socket; s = socket.create_server(('0.0.0.0', 9983)); print('begun', flush=True)\nwhile True: s.accept()[0].sendall(b'SERVICE')"; // prettier-ignore
  const server = neighbour.start(['python3', '-c', serve]);
  await server.says('begun');
  const said = await readFrom(await neighbour.inspect('{{.NetworkSettings.IPAddress}}'), 9983);
  server.child.kill('SIGKILL');
  return said.includes('SERVICE');
});

open('Other users and containers can connect to the SSH port of a container, without getting in.', async () =>
  (await readFrom(await neighbour.inspect('{{.NetworkSettings.IPAddress}}'), 2222)).includes('SSH-2.0'),
);

open(
  'What one workspace’s agent leaves in its data volume, settings and hooks of the agent included, is there for the next.',
  async () => {
    await scene.sh('mkdir -p ~/.claude && echo evil > ~/.claude/left');
    return (await neighbour.run(['cat', '/home/agent/.claude/left'])).stdout.includes('evil');
  },
);

open('A variable that you import by [env] can be read by every process in the container.', async () => {
  const reader = neighbour.start(['sh', '-c', 'echo begun; exec sleep 100']);
  await reader.says('begun');
  const { stdout } = await neighbour.run(['sh', '-c', 'cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n"']);
  reader.child.kill('SIGKILL');
  return stdout.includes(token);
});

open('Sessions of one workspace share a container: there is no wall between them.', async () => {
  const victim = neighbour.start(['sh', '-c', 'echo begun; exec sleep 4321']);
  await victim.says('begun');
  await neighbour.run(['pkill', '-f', 'sleep 432[1]']);
  return (await victim.ends()).status !== 0;
});

open('An agent writes source, build scripts and packages that you run later.', async () => {
  await scene.sh('echo \'{"scripts":{"test":"evil"}}\' > package.json');
  return readFileSync(join(scene.workspace, 'package.json'), 'utf8').includes('evil');
});

open(
  'Files that your programs would run can be made where there were none: .vscode in a project without one, .git/commondir.',
  async () => {
    const canary = new Canary(cai);
    await scene.sh(
      `cp -r .git evil && git config -f evil/config core.fsmonitor '${canary.sh}; false' && echo ../evil > .git/commondir`,
    );
    await gitStatus(scene.workspace);
    await scene.sh('rm -r evil .git/commondir');
    return canary.sung !== undefined;
  },
);

open('A repository that an agent makes below the workspace has a configuration of its own.', async () => {
  const canary = new Canary(cai);
  await scene.sh(`git init -q below && git -C below config core.fsmonitor '${canary.sh}; false'`);
  await gitStatus(join(scene.workspace, 'below'));
  return canary.sung !== undefined;
});

open('A protected file that you replace while an agent runs is protected no longer.', async () => {
  const config = join(scene.workspace, '.git/config');
  ownFile(`${config}.lock`, readFileSync(config));
  renameSync(`${config}.lock`, config);
  return (await scene.tries('echo >> .git/config')).status === 0;
});

open(
  'All containers share the kernel of the machine that the engine runs on.',
  async () => (await scene.sh('uname -r')).trim() === release(),
);

open(
  'What a command prints reaches your terminal as it is, with every control sequence.',
  async () => (await neighbour.prints(['printf', '\\033]0;title\\007'])) === '\u001b]0;title\u0007',
);

open('With acp.fs = "editor", a write that comes after 5 s is not protected.', async () => {
  const workspace = newWorkspace();
  const [file, secret] = [join(workspace, 'file'), join(cai.home, 'private/late')];
  ownFile(secret, 'SECRET');
  const editor = Editor.start(cai, agent, { cwd: workspace });
  let write = (): void => undefined;
  editor.serve(
    'fs/write_text_file',
    async ({ path, content }) =>
      await new Promise((resolve) => {
        write = () => {
          writeFileSync(path as string, content as string);
          resolve(null);
        };
      }),
  );
  await editor.initialize({ fs: { writeTextFile: true } });
  const session = await editor.newSession(workspace);
  const asked = { ask: 'fs/write_text_file', params: { path: file, content: 'evil' } };
  await editor.prompt(session, JSON.stringify([asked, { sh: `ln -s ${secret} ${file}` }]));
  write();
  editor.proxy.child.stdin.end();
  await editor.proxy.ends();
  return readFileSync(secret, 'utf8') === 'evil';
});

open('With CAI_ACP_DIRECT_SPAWN=1 an agent is a process of yours like any other.', async () => {
  const secret = join(cai.home, 'private/secret');
  ownFile(secret, 'SECRET');
  const editor = await Editor.open(cai, agent, { env: { CAI_ACP_DIRECT_SPAWN: '1' } });
  const session = await editor.newSession(scene.workspace);
  await editor.prompt(session, JSON.stringify([{ sh: `cat ${secret}` }]));
  editor.proxy.child.stdin.end();
  await editor.proxy.ends();
  return editor.said(session).includes('SECRET');
});
