/** Attacks by an agent on the user's other containers, and by another user of the same machine. */
import { chmodSync, chownSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/config';
import { findEngine } from '../../src/container/engine/find-engine';
import { Host } from '../../src/system/host';
import { doorOf, whatHears } from '../engine/door';
import { Place } from '../engine/place';
import { Cai, folder, newWorkspace, ownFile, ownFolder, user } from '../engine/support';
import { attempt, attemptWith, reachedIf } from './attempt';
import { Canary } from './canary';
import { hostileConfig, Scene, sceneFor } from './hostile-agent';
import { asOther, idsOfOther } from './other-user';

const token = 'TOKEN-OF-THE-USER';

const cai = new Cai(`${hostileConfig()}[env]\nimport = ["USERS_TOKEN"]\n`);
cai.env.USERS_TOKEN = token;
const scene = sceneFor({ cai });
/** Another workspace of the same user, with a container that has nothing to do with the hostile agent. */
let neighbour: Place;

beforeAll(async () => {
  neighbour = await new Place(cai).opened();
  ownFile(join(neighbour.workspace, 'secret'), 'SECRET OF THE NEIGHBOUR\n');
});

describe('an agent, of the container of another workspace,', () => {
  attempt('an agent reads the workspace of a neighbour', async () => {
    const { stdout = '' } = await scene.tries(
      `cat ${neighbour.workspace}/secret; find / -name secret -size -1k`,
    );
    return reachedIf(stdout !== '', stdout);
  });

  attempt('an agent connects to the sshd of a neighbour', async () => {
    const { address } = await neighbour.container();
    const { stdout = '', stderr = '' } = await scene.tries(`python3 - <<'EOF'
import socket
from concurrent.futures import ThreadPoolExecutor
def answer(port):
  with socket.socket() as s:
    s.settimeout(2)
    return s.connect_ex(('${address}', port))
ports = [*range(1, 1024), 2222, 8022]
with ThreadPoolExecutor(100) as all: answers = dict(zip(ports, all.map(answer, ports)))
print(len(answers), [port for port, error in answers.items() if error == 0])
EOF`);
    if (!stdout.startsWith('1025 ')) throw new Error(`nothing was tried: ${stdout}${stderr}`);
    return reachedIf(!stdout.startsWith('1025 []'), stdout);
  });

  attempt('an agent sees or ends a process of a neighbour', async () => {
    const victim = neighbour.start(['sh', '-c', 'echo begun; exec sleep 8765']);
    await victim.says('begun');
    const { stdout = '' } = await scene.tries('pkill -f "sleep 876[5]"; ps -eo args | grep "^sleep 876[5]"');
    const isOver = victim.child.exitCode !== null;
    victim.child.kill('SIGKILL');
    return reachedIf(stdout !== '' || isOver, `its process: ${stdout || 'ended'}`);
  });

  attempt('an agent shares memory or message queues with a neighbour', async () => {
    const make = "import ctypes; libc = ctypes.CDLL(None); print(libc.shmget(0x1234, 4096, 0o1666), libc.msgget(0x1234, 0o1666), libc.semget(0x1234, 1, 0o1666)); open('/dev/shm/left', 'w').write('x')"; // prettier-ignore
    const made = await neighbour.prints(['python3', '-c', make]);
    if (made.includes('-1')) throw new Error(`the neighbour has none: ${made}`);
    const look = make.replaceAll('0o1666', '0o666').replace(/; open.*/, '');
    const found = await scene.sh(`python3 -c '${look}'; ls /dev/shm`);
    return reachedIf(found.trim() !== '-1 -1 -1', `shared memory, queue, semaphore: ${found}`);
  });

  attempt('an agent connects to a socket of a neighbour that has a name but no file', async () => {
    const serve = "import socket; s = socket.socket(socket.AF_UNIX); s.bind('\\0evil'); s.listen(); print('begun', flush=True); s.accept()"; // prettier-ignore
    const server = neighbour.start(['python3', '-c', serve]);
    await server.says('begun');
    const { status } = await scene.tries(
      `python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('\\0evil')"`,
    );
    server.child.kill('SIGKILL');
    return reachedIf(status === 0, 'the socket @evil');
  });

  attempt('an agent changes what a neighbour’s agent keeps', async () => {
    const cai = new Cai(hostileConfig());
    const [one, two] = [await new Place(cai).opened(), new Place(cai)];
    await one.prints(['sh', '-c', 'for each in .claude .config .data; do mkdir -p ~/$each && echo evil > ~/$each/left; done']); // prettier-ignore
    const { stdout } = await two.run(['sh', '-c', 'cat ~/.claude/left ~/.config/left ~/.data/left']);
    return reachedIf(stdout.length > 0, stdout.toString());
  });

  attempt(
    'an agent chooses a path by which its data is given to the agent of another workspace',
    async () => {
      const other = await new Place(cai).opened();
      const host = new Host(cai.env);
      const engine = await findEngine(host, loadConfig(host)).connect();
      // Not all engines find by the value of this label, which is a path.
      const volumesOf = async (workspace: string) =>
        (await engine.listVolumes({ 'containai.managed': 'true' })).filter(
          ({ labels }) => labels['containai.workspace'] === workspace,
        );
      const [volume] = await volumesOf(other.workspace);
      await cai.run(['rm', '--force', '--workspace', other.workspace]);
      await engine.removeVolume(volume!.name);
      // As if both paths had the same hash.
      const labels = { ...volume!.labels, 'containai.workspace': neighbour.workspace };
      // A cluster keeps the name of a volume until it is really gone.
      do await engine.createVolume(volume!.name, labels);
      while (!(await volumesOf(neighbour.workspace)).some(({ name }) => name === volume!.name));
      const { status, stderr } = await other.run(['true']);
      const isRefused = status === 15 && stderr.includes('has the label containai.workspace');
      return reachedIf(!isRefused, `status ${status}: ${stderr}`);
    },
  );
});

describe('another user of the machine', () => {
  /** A folder of that user in which everybody may write. */
  function folderOfOther(name: string): string {
    const path = join(folder, name);
    mkdirSync(path);
    const { uid, gid } = idsOfOther();
    chownSync(path, uid, gid);
    chmodSync(path, 0o777);
    return path;
  }

  attemptWith('another user of this machine')(
    'another user reads keys, tokens, records or logs of cai',
    async () => {
      const { stdout } = await asOther(`cd ${scene.cai.home} && find state run data cache -type f -readable`);
      if (!existsSync(join(scene.cai.home, 'state/containai/ssh')))
        throw new Error('there is nothing to read');
      return reachedIf(stdout !== '', stdout);
    },
  );

  attemptWith('another user of this machine')(
    'another user reads a variable of the user in the list of processes',
    async () => {
      const running = neighbour.start(['sh', '-c', 'test -n "$USERS_TOKEN" && echo begun; sleep 100']);
      await running.says('begun');
      const { stdout } = await asOther(`cat /proc/*/cmdline /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -F ${token.slice(0, -1)}`); // prettier-ignore
      running.child.kill('SIGKILL');
      // The shell that looks has it in its own.
      const found = stdout.split('\n').filter((line) => line.includes(token));
      return reachedIf(found.length > 0, found.join('\n'));
    },
  );

  attemptWith('a socket as the way in')('another user connects to the way into a container', async () => {
    const door = await doorOf(neighbour);
    if (!(await whatHears(user, door)).startsWith('SSH-2.0')) throw new Error('nobody answers');
    const heard = await whatHears(idsOfOther(), door);
    return reachedIf(heard !== 'EACCES', heard);
  });

  attemptWith('another user of this machine')(
    'another user runs a command by the token of a terminal',
    async () => {
      const tokens = `${scene.cai.home}/run/containai/terminals`;
      let outcome: Awaited<ReturnType<typeof asOther>> | undefined;
      scene.editor.serve('terminal/create', async (params) => {
        const { command, args } = params as { command: string; args: string[] };
        const env = Object.entries(scene.cai.env).map(([name, value]) => `${name}='${value}'`);
        outcome = await asOther(`ls ${tokens}; env ${env.join(' ')} ${[command, ...args].join(' ')}`);
        throw new Error('not now');
      });
      await scene.ask('terminal/create', { command: 'hostname' });
      if (outcome === undefined) throw new Error('the editor was asked for no terminal');
      return reachedIf(outcome.status === 0 || outcome.stdout !== '', JSON.stringify(outcome));
    },
  );

  attemptWith('another user of this machine')(
    'another user reads tokens in a folder of his own that the user’s session names',
    async () => {
      const shared = folderOfOther('run-of-other');
      const trap = `mkdir -p ${shared}/containai/terminals && chmod -R 777 ${shared}`;
      await asOther(trap);
      const env = { ...scene.cai.env };
      try {
        scene.cai.env.XDG_RUNTIME_DIR = shared;
        const trapped = await Scene.open({ cai: scene.cai });
        let found = '';
        trapped.editor.serve('terminal/create', async () => {
          found = (await asOther(`find ${shared} -type f -exec cat {} +`)).stdout;
          throw new Error('not now');
        });
        await trapped.ask('terminal/create', { command: 'hostname' });
        await trapped.close();
        return reachedIf(found !== '', found);
      } finally {
        Object.assign(scene.cai.env, env);
      }
    },
  );

  attemptWith('another user of this machine')(
    'another user widens the workspace by a configuration in a folder above',
    async () => {
      const above = folderOfOther('above-1');
      const mine = join(above, 'mine');
      ownFolder(mine);
      await asOther(
        `mkdir ${above}/.containai && echo 'container.pids = 100' > ${above}/.containai/config.toml && echo SECRET > ${above}/others`,
      );
      const { stdout } = await new Place(scene.cai, mine).run(['sh', '-c', `cat ${above}/others; echo here`]);
      return reachedIf(stdout.includes('SECRET'), stdout.toString());
    },
  );

  attemptWith('another user of this machine')(
    'another user widens the workspace, or has a program run, by a git folder above',
    async () => {
      const above = folderOfOther('above-2');
      const mine = join(above, 'mine');
      ownFolder(mine);
      const canary = new Canary(scene.cai);
      await asOther(
        `cd ${above} && git init --quiet . && echo SECRET > others && printf '#!/bin/sh\\n${canary.sh}\\n' > program && chmod 755 program && git config core.fsmonitor ${above}/program`,
      );
      const { stdout } = await new Place(scene.cai, mine).run(['sh', '-c', `cat ${above}/others; echo here`]);
      return canary.sung ?? reachedIf(stdout.includes('SECRET'), stdout.toString());
    },
  );

  attemptWith('another user of this machine')(
    'another user swaps a workspace in a folder of his for a link to a folder of the user',
    async () => {
      const above = folderOfOther('above-3');
      const mine = join(above, 'mine');
      ownFolder(mine);
      ownFile(join(scene.cai.home, 'private/secret'), 'SECRET OF THE USER\n');
      const place = await new Place(scene.cai, mine).opened();
      await scene.cai.run(['rm', '--force', '--workspace', mine]);
      const { status } = await asOther(`cd ${above} && mv mine was && ln -s ${scene.cai.home}/private mine`);
      if (status !== 0) throw new Error('it could not be swapped');
      const { stdout } = await place.run(['cat', `${mine}/secret`]);
      return reachedIf(stdout.includes('SECRET'), stdout.toString());
    },
  );

  attemptWith('another user of this machine')(
    'another user’s repository has a program run when the user works in it',
    async () => {
      const theirs = folderOfOther('theirs');
      const canary = new Canary(scene.cai);
      await asOther(
        `cd ${theirs} && git init --quiet . && printf '#!/bin/sh\\n${canary.sh}\\n' > program && chmod 755 program && git config core.fsmonitor ${theirs}/program && git config core.hooksPath ${theirs}`,
      );
      await scene.cai.run(['exec', '--workspace', theirs, '--', 'true']);
      await scene.cai.run(['doctor', '--workspace', theirs]);
      return canary.sung;
    },
  );
});

describe('this file', () => {
  test('has another user, who can neither be the first one nor root', async () => {
    expect(idsOfOther().uid).not.toBe(0);
    const { stdout } = await asOther(
      `id -u; test -r ${newWorkspace()}/.git/HEAD && echo reads; touch ${scene.cai.home}/x`,
    );
    expect(stdout).toBe(`${idsOfOther().uid}\nreads\n`);
    expect(existsSync(join(scene.cai.home, 'x'))).toBe(false);
  });
});
