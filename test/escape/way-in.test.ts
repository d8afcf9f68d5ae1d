/** Attacks on the way into a container, by what runs in it: where it leads, what it leaves open, who is kept out. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, constants, openSync, readSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { buildTimeoutMs, forEachOf, Place } from '../engine/place';
import { Cai, docker, ownFolder } from '../engine/support';
import { attempt, reachedIf } from './attempt';

const cai = new Cai();
/** Whatever way in the tests use. */
const bySocket = { env: { CAI_WAY_IN: undefined } };
const byEngine = { env: { CAI_WAY_IN: 'exec' } };

beforeAll(() => new Place(cai).opened(), buildTimeoutMs);

attempt(
  'who is root in a container has cai connect to a socket of the user’s machine by a link in the place of a folder',
  async () => {
    const folder = join(cai.home, 'sockets');
    ownFolder(folder);
    let isReached = false;
    const server = createServer((socket) => {
      isReached = true;
      socket.destroy();
    }).listen(join(folder, 'ssh'));
    await once(server, 'listening');
    chmodSync(join(folder, 'ssh'), 0o777);
    server.unref();
    const place = await new Place(cai).opened();
    const [id] = await place.containers();
    const link = `mv /run/cai/door /run/cai/was && ln -s ${folder} /run/cai/door`;
    await docker('exec', '--user', '0', id!, 'sh', '-c', link);
    const { status } = await place.run(['true'], bySocket);
    const reached = reachedIf(isReached, folder);
    if (reached === undefined && status !== 0)
      throw new Error('the container was not entered by the engine either');
    return reached;
  },
);

attempt(
  'an agent leaves something running in what the engine has started to enter its container',
  async () => {
    if (process.arch !== 'x64') {
      process.stdout.write('not tried: its code is for x86_64\n');
      return undefined;
    }
    const place = await new Place(cai).opened();
    const taker = place.start(['python3', '-c', takesEntered], bySocket);
    await taker.says('begun');
    await place.run(['true'], byEngine);
    taker.child.stdin.end();
    const { stdout } = await taker.ends();
    const [, tried, pid] = /begun\n(\d+)\n(\d*)/.exec(stdout.toString()) ?? [];
    if (Number(tried) === 0) throw new Error('there was nothing to take');
    if (pid === '') return undefined;
    const gone = `for i in $(seq 100); do [ -e /proc/${pid} ] || exit 0; sleep 0.1; done; exit 1`;
    return reachedIf((await place.run(['sh', '-c', gone], bySocket)).status !== 0, `process ${pid} runs on`);
  },
);

attempt(
  'an agent that listens in the place of the container keeps cai waiting, or keeps it out after "cai rm"',
  async () => {
    const kept = await forEachOf(['silent', 'endless', 'slow', 'full'], async (how) => {
      const place = await new Place(cai).opened();
      const listener = place.start(['python3', '-c', listens, how], bySocket);
      await listener.says('begun');
      // It gives up after half a minute.
      const { status, stderr } = await place.start(['true'], bySocket).ends(60_000);
      if (status === 0) throw new Error(`${how}: the container was entered`);
      if (!stderr.includes('remove it with "cai rm"')) return `${how}: ${stderr}`;
      await cai.run(['rm', '--force', '--workspace', place.workspace]);
      return (await place.prints(['echo', 'in'], bySocket)) === 'in' ? '' : how;
    });
    return reachedIf(kept.join('') !== '', kept.join(' '));
  },
);

attempt(
  'an agent that puts something else in the place of the pipes of a command reaches a program of the user’s machine by them, or keeps cai waiting',
  async () => {
    const reached = await forEachOf(['link', 'silent', 'file'], async (how) => {
      const place = await new Place(cai).opened();
      const listened = join(place.workspace, 'listened');
      execFileSync('mkfifo', ['--mode=666', listened]);
      // Open both ways, so that nobody who opens it waits.
      const listener = openSync(listened, constants.O_RDWR | constants.O_NONBLOCK);
      const swapper = place.start(['python3', '-c', swapsPipes, how, listened], bySocket);
      await swapper.says('begun');
      for (let run = 0; run < 5; run++) {
        const command = place.start(['cat'], bySocket);
        command.child.stdin.end('for the command alone');
        // It may fail, and must end.
        await command.ends(30_000);
      }
      const heard = heardBy(listener);
      closeSync(listener);
      swapper.child.stdin.end();
      const { stdout } = await swapper.ends();
      if (stdout.toString().includes('begun\n0\n')) throw new Error(`${how}: nothing was swapped`);
      return heard && `${how}: ${heard}`;
    });
    return reachedIf(reached.join('') !== '', reached.join(' '));
  },
);

/** What somebody has written to a pipe. */
function heardBy(pipe: number): string {
  try {
    const piece = Buffer.alloc(4096);
    return piece.toString('utf8', 0, readSync(pipe, piece));
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === 'EAGAIN') return '';
    throw reason;
  }
}

/**
 * Tries to trace what has no parent in the container until stdin ends. Makes the first that it can run in a circle.
 * Prints how many it has tried, and the id of that one. Source: ptrace(2), user_regs_struct of x86_64.
 */
const takesEntered = `
import ctypes, os, select, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
attach, getRegisters, detach = 16, 12, 17
def parent(pid):
    try: return open('/proc/%s/stat' % pid).read().rsplit(') ', 1)[1].split()[1]
    except OSError: return None
tried, taken = set(), ''
print('begun', flush=True)
while taken == '' and not select.select([sys.stdin], [], [], 0)[0]:
    for pid in [each for each in os.listdir('/proc') if each.isdigit() and each != '1' and parent(each) == '0']:
        tried.add(pid)
        if libc.ptrace(attach, int(pid), 0, 0) != 0: continue
        os.waitpid(int(pid), 0)
        registers = (ctypes.c_ulonglong * 27)()
        libc.ptrace(getRegisters, int(pid), 0, ctypes.addressof(registers))
        with open('/proc/%s/mem' % pid, 'r+b', 0) as memory:
            for place in (registers[16] - 2, registers[16]):
                memory.seek(place)
                memory.write(bytes([0xeb, 0xfe]))
        libc.ptrace(detach, int(pid), 0, 0)
        taken = pid
        break
print('%d\\n%s' % (len(tried), taken), flush=True)
sys.stdin.read()
`;

/** Puts a socket of its own in the place of the container's, and says nothing, too much or too little there. */
const listens = `
import os, socket, sys, threading, time
how = sys.argv[1]
def answer(connection):
    try:
        while how == 'endless': connection.sendall(b'x' * 70 + b'\\n')
        while how == 'slow':
            connection.sendall(b'x')
            time.sleep(0.2)
        time.sleep(1000)
    except OSError: pass
os.unlink('/run/cai/door/ssh')
server = socket.socket(socket.AF_UNIX)
server.bind('/run/cai/door/ssh')
server.listen(0 if how == 'full' else 100)
print('begun', flush=True)
while how == 'full': time.sleep(1)
while True: threading.Thread(target=answer, args=[server.accept()[0]], daemon=True).start()
`;

/**
 * Puts a link to a pipe of the workspace, a pipe that nobody reads, or a file in the place of each pipe that comes into
 * being where the container's way in is, until stdin ends. Prints how many it has swapped.
 */
const swapsPipes = `
import os, select, sys
how, listened = sys.argv[1:]
os.chdir('/run/cai/door')
done, count = set(), 0
print('begun', flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    for name in os.listdir('.'):
        if name in done or not name.endswith(('.in', '.out')): continue
        done.add(name)
        try:
            os.unlink(name)
            if how == 'link': os.symlink(listened, name)
            elif how == 'silent': os.mkfifo(name)
            else: open(name, 'w').close()
            count += 1
        except OSError: pass
print(count, flush=True)
`;
