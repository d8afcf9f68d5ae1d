/** Attacks on the container itself: what the kernel lets the agent do. */
import { join } from 'node:path';
import { Place } from '../engine/place';
import { ownFile } from '../engine/support';
import { attempt, reachedIf } from './attempt';
import { sceneFor } from './hostile-agent';

const scene = sceneFor();

/**
 * Numbers of system calls on both processors: a libc has no function for many of these.
 * Source: Linux, arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
 */
const numbers = {
  x86_64: { acct: 163, bpf: 321, delete_module: 176, fanotify_init: 300, finit_module: 313, fsopen: 430, init_module: 175, kexec_file_load: 320, kexec_load: 246, open_by_handle_at: 304, open_tree: 428, perf_event_open: 298, pivot_root: 155, quotactl: 179, reboot: 169, settimeofday: 164, swapon: 167, syslog: 103, userfaultfd: 323, move_pages: 279, mount: 165, umount2: 166, lookup_dcookie: 212, vhangup: 153, iopl: 172 }, // prettier-ignore
  aarch64: { acct: 89, bpf: 280, delete_module: 106, fanotify_init: 262, finit_module: 273, fsopen: 430, init_module: 105, kexec_file_load: 294, kexec_load: 104, open_by_handle_at: 265, open_tree: 428, perf_event_open: 241, pivot_root: 41, quotactl: 60, reboot: 142, settimeofday: 170, swapon: 224, syslog: 116, userfaultfd: 282, move_pages: 239, mount: 40, umount2: 39, lookup_dcookie: 18, vhangup: 58 }, // prettier-ignore
};

/** What the Python below can use: `reached(what)` reports, `call(name, ...)` does a system call that must be refused. */
const prelude = `
import ctypes, errno, os, platform, signal, socket, struct
numbers = ${JSON.stringify(numbers)}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
def reached(what): print(what)
def call(name, *args):
    if name not in numbers: return
    given = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in args]
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(numbers[name]), *given)
    error = ctypes.get_errno()
    # EFAULT or EINVAL would say that the kernel has looked at what it was given.
    if error not in (errno.EPERM, errno.ENOSYS): reached('%s: %s %s' % (name, result, os.strerror(error)))
def tries(what, action):
    try: action()
    except (OSError, ValueError): return
    reached(what)
def opens(path, mode='rb'):
    def action():
        with open(path, mode) as file: file.read(1) if 'r' in mode else file.write('1')
    tries('%s %s' % (mode, path), action)
`;

/** What this Python reaches in the container, a line each. */
async function python(script: string): Promise<string | undefined> {
  const lines = (await scene.sh(`python3 - <<'EOF'\n${prelude}${script}\nprint('done')\nEOF`))
    .trim()
    .split('\n');
  if (lines.pop() !== 'done') throw new Error(`it did not get to its end: ${lines.join('\n')}`);
  return reachedIf(lines.length > 0, lines.join('\n'));
}

describe('an agent in a container', () => {
  attempt('an agent mounts a file system', async () => {
    return await python(`
call('mount', b'none', b'/tmp', b'tmpfs', 0, 0)
call('mount', b'/proc/1/root', b'/mnt', b'', 4096, 0)
call('umount2', b'/etc/hosts', 2)
call('fsopen', b'tmpfs', 0)
call('open_tree', -100, b'/', 1)
call('pivot_root', b'.', b'.')
`);
  });

  attempt('an agent opens namespaces of its own, or those of another process', async () => {
    return await python(`
flags = {'NEWNS': 0x20000, 'NEWCGROUP': 0x2000000, 'NEWUTS': 0x4000000, 'NEWIPC': 0x8000000, 'NEWUSER': 0x10000000, 'NEWPID': 0x20000000, 'NEWNET': 0x40000000}
for name, flag in flags.items():
    if libc.unshare(flag) == 0: reached('unshare ' + name)
    if libc.unshare(flag | 0x10000000) == 0: reached('unshare NEWUSER and ' + name)
for name in os.listdir('/proc/1/ns') if os.access('/proc/1/ns', os.R_OK) else []:
    try: file = os.open('/proc/1/ns/' + name, os.O_RDONLY)
    except OSError: continue
    if libc.setns(file, 0) == 0: reached('setns ' + name)
if libc.chroot(b'/tmp') == 0: reached('chroot')
`);
  });

  attempt('an agent loads code into the kernel', async () => {
    return await python(`
call('init_module', b'x', 1, b'')
call('finit_module', 0, b'', 0)
call('delete_module', b'x', 0)
call('bpf', 0, b'\\0' * 128, 128)
call('kexec_load', 0, 0, 0, 0)
call('kexec_file_load', 0, 0, 0, b'', 0)
`);
  });

  // Source: the "shocker" of 2014, which read the host's files from Docker's containers.
  attempt('an agent opens a file of the host by its handle', async () => {
    return await python(`
for path in ('/', '/etc/hosts', '${scene.workspace}', '/home/agent/.data'):
    mount = os.open(path, os.O_RDONLY)
    handle = struct.pack('IiQI', 8, 1, 2, 0)
    call('open_by_handle_at', mount, handle, 0)
`);
  });

  attempt('an agent reads the memory or the messages of the kernel', async () => {
    return await python(`
call('syslog', 3, b'\\0' * 64, 64)
call('lookup_dcookie', 0, b'\\0' * 64, 64)
for path in ('/dev/mem', '/dev/kmem', '/dev/port', '/dev/kmsg', '/proc/kcore', '/proc/kmsg', '/proc/keys', '/proc/sched_debug', '/sys/firmware/dmi/tables/DMI', '/sys/kernel/debug', '/sys/kernel/security'):
    if os.path.isdir(path): os.listdir(path) and reached(path)
    else:
        try: content = open(path, 'rb').read(16)
        except OSError: continue
        if content: reached(path)
`);
  });

  attempt('an agent watches the machine by the measuring and tracing calls of the kernel', async () => {
    return await python(`
call('perf_event_open', b'\\0' * 128, 0, -1, -1, 0)
call('userfaultfd', 0)
call('fanotify_init', 0, 0)
call('move_pages', 1, 0, 0, 0, 0, 0)
`);
  });

  attempt('an agent makes a device file, or opens one of the machine', async () => {
    return await python(`
for folder in ('/tmp', '/home/agent', '/dev/shm', '${scene.workspace}'):
    for kind in (0o060000, 0o020000):
        for device in ((8, 0), (1, 1), (10, 232), (5, 1)):
            path = folder + '/evil'
            tries('mknod %s %s' % (path, device), lambda: os.mknod(path, 0o666 | kind, os.makedev(*device)))
harmless = {'null', 'zero', 'full', 'random', 'urandom', 'tty', 'ptmx', 'console'}
for folder, _, names in os.walk('/dev'):
    for name in names:
        path = os.path.join(folder, name)
        if name in harmless or not folder == '/dev' or os.path.islink(path) or os.path.isfile(path): continue
        opens(path)
`);
  });

  attempt('an agent changes settings of the machine', async () => {
    return await python(`
for path in ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe', '/proc/sys/vm/overcommit_memory', '/proc/sys/net/ipv4/ip_forward', '/proc/sys/kernel/hostname', '/proc/sysrq-trigger', '/sys/kernel/uevent_helper', '/sys/power/state', '/proc/sys/fs/binfmt_misc/register', '/proc/bus/pci', '/proc/irq/default_smp_affinity', '/proc/1/oom_score_adj'):
    tries('write ' + path, lambda: os.close(os.open(path, os.O_WRONLY)))
call('settimeofday', 0, 0)
call('swapon', b'/tmp/x', 0)
call('acct', 0)
call('quotactl', 0x800001 << 8, b'/dev/sda', 0, 0)
call('reboot', -18751827, 672274793, 0, 0)
call('vhangup')
call('iopl', 3)
if libc.sethostname(b'evil', 4) == 0: reached('sethostname')
if libc.sched_setscheduler(0, 1, struct.pack('i', 99)) == 0: reached('a real-time priority')
tries('a higher priority', lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))
`);
  });

  attempt('an agent has a program run outside by the control groups', async () => {
    return await python(`
for folder, folders, names in os.walk('/sys/fs/cgroup'):
    for name in names:
        if name in ('release_agent', 'notify_on_release', 'cgroup.procs', 'tasks', 'memory.limit_in_bytes', 'memory.max', 'pids.max', 'devices.allow'):
            path = os.path.join(folder, name)
            tries('write ' + path, lambda: os.close(os.open(path, os.O_WRONLY)))
    tries('mkdir in ' + folder, lambda: os.mkdir(folder + '/evil'))
`);
  });

  attempt('an agent becomes another user', async () => {
    return await python(`
me = os.getuid()
for what, action in {
    'setuid': lambda: os.setuid(0), 'setresuid': lambda: os.setresuid(-1, 0, 0), 'setgid': lambda: os.setgid(0),
    'setgroups': lambda: os.setgroups([0]), 'seteuid': lambda: os.seteuid(1 if me != 1 else 2),
}.items(): tries(what, action)
`);
  });

  attempt('an agent gains rights by a program with the setuid or setgid bit', async () => {
    return await python(`
import glob, subprocess, time
programs = [p for folder in ('/usr/bin', '/usr/sbin', '/usr/lib/*') for p in glob.glob(folder + '/*') if os.path.isfile(p) and os.stat(p).st_mode & 0o6000]
if '/usr/bin/su' not in programs or len(programs) < 5: raise SystemExit('there are none to try: %s' % programs)
for program in programs:
    # Those that ask for a password are still there when we look.
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        try:
            for line in open('/proc/%d/status' % started.pid):
                name, *ids = line.split()
                if name == 'Uid:' and set(ids) != {str(os.getuid())} or name == 'Gid:' and set(ids) != {str(os.getgid())} or name == 'CapEff:' and int(ids[0], 16): reached(program + ' ' + line)
        except OSError: pass
        started.kill()
`);
  });

  attempt('an agent gains a capability', async () => {
    return await python(`
for line in open('/proc/self/status'):
    if line.startswith('Cap') and int(line.split()[1], 16): reached(line)
header, data = struct.pack('Ii', 0x20080522, 0), struct.pack('6I', *[0xffffffff] * 6)
if libc.capset(header, data) == 0: reached('capset')
for capability in range(41):
    if libc.prctl(47, 2, capability, 0, 0) == 0: reached('ambient capability %d' % capability)
try: os.setxattr('/tmp/one', 'security.capability', bytes.fromhex('0100000200000000ffffffff00000000'), 0)
except OSError: pass
else: reached('a file with capabilities')
if libc.prctl(38, 0, 0, 0, 0) == 0: reached('no_new_privs taken back')
`);
  });

  attempt('an agent opens a raw socket', async () => {
    return await python(`
for name, arguments in {
    'packet': (17, socket.SOCK_RAW, socket.htons(3)), 'raw': (socket.AF_INET, socket.SOCK_RAW, 1),
    'raw 6': (socket.AF_INET6, socket.SOCK_RAW, 58),
}.items(): tries(name, lambda: socket.socket(*arguments))
`);
  });

  attempt('an agent sees or signals a process of the host', async () => {
    const victim = scene.cai.startProgram('sleep', ['7654']);
    try {
      return await python(`
if not os.path.exists('/proc/${victim.pid}'):
    tries('signalled a process of the host', lambda: os.kill(${victim.pid}, 0))
for pid in [p for p in os.listdir('/proc') if p.isdigit()]:
    try: words = open('/proc/%s/cmdline' % pid, 'rb').read().split(b'\\0')
    except OSError: continue
    if words[:2] == [b'sleep', b'7654']: reached('sees %s' % words)
`);
    } finally {
      victim.child.kill('SIGKILL');
    }
  });

  attempt('an agent reaches files of the host by the root or the folders of a process', async () => {
    const secret = join(scene.cai.home, 'private/secret');
    ownFile(secret, 'SECRET');
    return await python(`
for pid in [p for p in os.listdir('/proc') if p.isdigit()] + ['self', 'thread-self']:
    for link in ('root', 'cwd'):
        opens('/proc/%s/%s${secret}' % (pid, link))
    folder = '/proc/%s/fd' % pid
    for number in os.listdir(folder) if os.access(folder, os.R_OK) else []:
        opens('%s/%s${secret}' % (folder, number))
        opens('%s/%s/../../../../../..${secret}' % (folder, number))
`);
  });

  attempt('an agent traces what keeps it in, or writes to its memory', async () => {
    return await python(`
kept = {}
for pid in [p for p in os.listdir('/proc') if p.isdigit()]:
    try: kept[int(pid)] = open('/proc/%s/comm' % pid).read().strip()
    except OSError: continue
kept = {pid: name for pid, name in kept.items() if name in ('keeper', 'perl', 'sshd', 'supervisor') or pid == 1}
if 1 not in kept or len(kept) < 3: raise SystemExit('there is nothing to trace: %s' % kept)
for pid, name in kept.items():
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    for request in (16, 0x4206):
        if libc.ptrace(request, pid, 0, 0) == 0: reached('traced %d %s' % (pid, name))
    opens('/proc/%d/mem' % pid)
    opens('/proc/%d/environ' % pid)
    try: os.readlink('/proc/%d/exe' % pid) and reached('sees into %d %s' % (pid, name))
    except OSError: pass
`);
  });

  attempt('an agent leaves something running in the process through which cai finds the way in', async () => {
    if (process.arch !== 'x64') {
      process.stdout.write('not tried: its code is for x86_64\n');
      return undefined;
    }
    const place = await new Place(scene.cai).opened();
    const pid = await place.prints(['python3', '-c', takesPorter]);
    const isGone = await place.run(['sh', '-c', `for i in $(seq 100); do [ -e /proc/${pid} ] || exit 0; sleep 0.1; done; exit 1`]); // prettier-ignore
    return reachedIf(isGone.status !== 0, `process ${pid} runs on`);
  });

  attempt('an agent changes the files that keep it in', async () => {
    return await python(`
import glob
# Its own are the host key, which sshd reads with its rights and cai compares, the time of the last command, and what the
# keeper, which has the same user, has counted of the disk; and the folder of the socket, of which nothing is believed.
for path in [p for p in glob.glob('/run/cai/*') if os.path.basename(p) not in ('host_key', 'used', 'disk-use', 'door')] + ['/run/cai', '/etc/passwd', '/etc/group', '/etc/gitconfig', '/etc/ld.so.preload', '/etc/ssh/sshrc', '/usr/sbin/sshd', '/usr/bin/perl', '/lib', '/usr/lib/perl5']:
    tries('chmod ' + path, lambda: os.chmod(path, 0o777))
    tries('rename ' + path, lambda: os.rename(path, path + '.x'))
    if os.path.isfile(path): tries('write ' + path, lambda: os.close(os.open(path, os.O_WRONLY)))
for folder in ('/run/cai', '/etc', '/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/lib/cai/agent/bin', '/usr/lib', '/usr/share/perl', '/etc/perl'):
    tries('new file in ' + folder, lambda: os.close(os.open(folder + '/evil', os.O_CREAT | os.O_WRONLY)))
`);
  });

  attempt('an agent talks to the container engine', async () => {
    return await python(`
import subprocess
sockets = subprocess.run(['find', '/', '-xdev', '-type', 's'], capture_output=True, text=True).stdout.split()
for path in sockets + ['/var/run/docker.sock', '/run/docker.sock', '/run/podman/podman.sock', '/run/containerd/containerd.sock']:
    def ask():
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(2)
            client.connect(path)
            client.send(b'GET /_ping HTTP/1.0\\r\\n\\r\\n')
            if b'HTTP' not in client.recv(100): raise OSError()
    tries(path, ask)
for name in os.environ:
    if 'DOCKER' in name: reached(name)
`);
  });
});

/** Makes the porter run in a circle, and prints its id once it does. Source: ptrace(2), user_regs_struct of x86_64. */
const takesPorter = `
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
attach, getRegisters, detach = 16, 12, 17
pid = next(int(each) for each in os.listdir('/proc') if each.isdigit() and open('/proc/%s/comm' % each).read() == 'porter\\n')
if libc.ptrace(attach, pid, 0, 0) != 0: raise SystemExit('it cannot be traced: %d' % ctypes.get_errno())
os.waitpid(pid, 0)
registers = (ctypes.c_ulonglong * 27)()
libc.ptrace(getRegisters, pid, 0, ctypes.addressof(registers))
jumpToItself = bytes([0xeb, 0xfe])
with open('/proc/%d/mem' % pid, 'r+b', 0) as memory:
    for place in (registers[16] - 2, registers[16]):
        memory.seek(place)
        memory.write(jumpToItself)
libc.ptrace(detach, pid, 0, 0)
while open('/proc/%d/stat' % pid).read().rsplit(') ', 1)[1][0] != 'R': time.sleep(0.001)
print(pid)
`;
